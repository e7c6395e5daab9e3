/** Records refused requests, without letting one client crowd out everything else. */
import type { Clock } from '../../async/index.js';
import type { EntryInit, Timeline } from '../../timeline/index.js';

const windowMs = 60_000;
/** Recorded per address and window; the others are only counted. */
const toldEach = 20;
const mostAddresses = 256;

interface RefusalWindow {
  readonly sinceMs: number;
  told: number;
  counted: number;
}

export class RefusalLog {
  readonly #clock: Clock;
  readonly #timeline: Timeline;
  /** In order of their start. */
  readonly #windows = new Map<string, RefusalWindow>();

  constructor(clock: Clock, timeline: Timeline) {
    this.#clock = clock;
    this.#timeline = timeline;
  }

  tell(remoteAddress: string, entry: EntryInit<'server.refuse'>): void {
    const nowMs = this.#clock.monotonic();
    for (const [address, window] of this.#windows) {
      if (nowMs - window.sinceMs < windowMs && this.#windows.size < mostAddresses) break;
      this.#end(address, window);
    }
    const window = this.#windows.get(remoteAddress) ?? { sinceMs: nowMs, told: 0, counted: 0 };
    this.#windows.set(remoteAddress, window);
    if (window.told < toldEach) {
      window.told++;
      this.#timeline.record(entry);
    } else window.counted++;
  }

  #end(remoteAddress: string, { counted }: RefusalWindow): void {
    this.#windows.delete(remoteAddress);
    if (counted === 0) return;
    this.#timeline.record({
      kind: 'decision',
      what: 'server.refuse',
      message: `${counted} more requests were refused`,
      because: `${remoteAddress} sent more than ${toldEach} of them in ${windowMs / 1000}s`,
      data: { remoteAddress, count: counted },
    });
  }
}
