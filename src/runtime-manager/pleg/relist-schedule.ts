/** When the PLEG relists next: after its period, or sooner while there is a reason to. */
import type { Clock, Timer } from '../../async/index.js';

/**
 * asked: a caller wants it now; failure: a pod relist failed and is left to this one; strangers: something of
 * an unknown pod ended; starts: something of an unknown pod started; removals: something known was removed;
 * own removals: the agent itself removed it; overflow: there were too many events.
 */
export type FullRelistReason =
  | 'asked'
  | 'failure'
  | 'strangers'
  | 'starts'
  | 'removals'
  | 'own removals'
  | 'overflow';

export class RelistSchedule {
  readonly #clock: Clock;
  readonly #wake: () => void;
  readonly #reasons = new Map<FullRelistReason, { readonly sinceMs: number; readonly withinMs: number }>();
  #endedMs = Number.NEGATIVE_INFINITY;
  #periodMs = 0;
  #timer: Timer | undefined;
  #running = false;

  /** Calls `wake` when a relist falls due. The first is due at once. */
  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  get isDue(): boolean {
    return this.#clock.monotonic() >= this.#dueMs;
  }

  start(): void {
    this.#running = true;
    this.#arm();
  }

  stop(): void {
    this.#running = false;
    this.#arm();
  }

  /** A relist begins: it serves the earlier reasons; those that come up meanwhile stay. */
  began(): void {
    this.#reasons.clear();
  }

  /** The period counts from the end of a relist. */
  ended(periodMs: number): void {
    this.#endedMs = this.#clock.monotonic();
    this.#periodMs = periodMs;
    this.#arm();
  }

  /** Brings the next relist forward, to `withinMs` after the reason came up or the last relist ended. */
  want(reason: FullRelistReason, withinMs: number): void {
    if (this.#reasons.has(reason)) return;
    this.#reasons.set(reason, { sinceMs: this.#clock.monotonic(), withinMs });
    this.#arm();
  }

  /** Drops a reason that no longer needs a relist. */
  forgo(reason: FullRelistReason): void {
    if (this.#reasons.delete(reason)) this.#arm();
  }

  get #dueMs(): number {
    let dueMs = this.#endedMs + this.#periodMs;
    for (const { sinceMs, withinMs } of this.#reasons.values()) {
      dueMs = Math.min(dueMs, Math.max(sinceMs, this.#endedMs) + withinMs);
    }
    return dueMs;
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#running) return;
    const delayMs = this.#dueMs - this.#clock.monotonic();
    // A timer may fire a little early. Wait for the rest, or nothing would wake the PLEG again.
    if (delayMs > 0) this.#timer = this.#clock.setTimer(delayMs, () => this.#arm());
    else this.#wake();
  }
}
