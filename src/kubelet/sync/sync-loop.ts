/** The sync loop: takes one ready event at a time and hands it on; workers do the slow work. */
import {
  Alarm,
  Channel,
  type Clock,
  isCancelled,
  selectByName,
  sleep,
  TaskGroup,
} from '../../async/index.js';
import type { ConfigUpdate, PodConfig } from '../../pods/desired/index.js';
import type { ProbeKind, ProbeUpdate } from '../../probes/index.js';
import type { PodLifecycleEvent } from '../../runtime-manager/pleg/index.js';
import type { Timeline } from '../../timeline/index.js';
import { joinErrors, syncLoopHealth } from '../start-up/runtime-state.js';

/** How often pods with a deadline are looked at. */
const syncTickMs = 1_000;
/** How soon after a change there is a housekeeping. */
const housekeepingMs = 2_000;
/** How long it rests while nothing changes that anybody tells of. */
const restMs = 30_000;
const slowHousekeepingMs = 1_000;
const gateInitialMs = 100;
const gateMaxMs = 5_000;

export interface SyncLoopOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly config: Pick<PodConfig, 'updates' | 'allSourcesReady' | 'missingSources' | 'markHandled'>;
  readonly plegEvents: Channel<PodLifecycleEvent>;
  /** Rung when a pod in the work queue is due. */
  readonly due: Channel<void>;
  readonly resyncMs: number;
  /** Why nothing may be synced now; empty when the loop may run. */
  readonly blockers: () => readonly string[];
  /** A promise where the next update must wait; everything else goes on meanwhile. */
  readonly onConfig: (update: ConfigUpdate) => Promise<void> | undefined;
  /** All that is known by now, so that a pod of which several things are told is synced once. */
  readonly onPleg: (events: readonly PodLifecycleEvent[]) => void;
  readonly onSyncTick: () => void;
  /** Whether a pod must be stopped at some time, which nobody tells of when it comes. */
  readonly hasDeadlines: () => boolean;
  /** `settled` when another pass would find nothing to do unless something changes. */
  readonly onHousekeeping: (signal: AbortSignal) => Promise<'settled' | 'unsettled'>;
  /** Results of probes that changed. */
  readonly probes: Readonly<Record<ProbeKind, Channel<ProbeUpdate>>>;
  readonly onProbe: (kind: ProbeKind, update: ProbeUpdate) => void;
  readonly random?: () => number;
}

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #syncTick = new Channel<void>(1);
  readonly #housekeepingTick = new Channel<void>(1);
  readonly #nextSyncTick: Alarm;
  readonly #nextHousekeeping: Alarm;
  readonly #channels;
  /** Rung when an update that took its time is handled. */
  readonly #configDone = new Channel<void>(1);
  #tasks: TaskGroup | undefined;
  #isConfigBusy = false;
  #lastMs: number | undefined;
  #blockedBy = '';
  #missingSources = '';

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#nextSyncTick = new Alarm(options.clock, () => void this.#syncTick.trySend());
    this.#nextHousekeeping = new Alarm(options.clock, () => void this.#housekeepingTick.trySend());
    this.#channels = {
      config: options.config.updates,
      pleg: options.plegEvents,
      due: options.due,
      syncTick: this.#syncTick,
      housekeepingTick: this.#housekeepingTick,
      liveness: options.probes.liveness,
      readiness: options.probes.readiness,
      startup: options.probes.startup,
    };
  }

  /** The text of what is wrong with the loop, or undefined. */
  health(): string | undefined {
    return syncLoopHealth(this.#lastMs, this.#options.clock.monotonic(), this.#options.resyncMs);
  }

  /** Something changed that housekeeping compares: it does not rest any longer. */
  disturb(): void {
    if (this.#tasks !== undefined) this.#nextHousekeeping.within(housekeepingMs);
  }

  /** Runs until stopped or the configuration ends. */
  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup({ signal, onError: (task, error) => this.#problem(`${task} failed`, error) });
    this.#tasks = tasks;
    this.disturb();
    try {
      for (;;) {
        await this.#passGate(signal);
        this.#lastMs = this.#options.clock.monotonic();
        if (!(await this.#iterate(signal))) return;
        this.#lastMs = this.#options.clock.monotonic();
      }
    } finally {
      this.#tasks = undefined;
      this.#nextSyncTick.cancel();
      this.#nextHousekeeping.cancel();
      await tasks.stop();
    }
  }

  /** Waits while the runtime is not ready; what runs already goes on. */
  async #passGate(signal: AbortSignal): Promise<void> {
    let delayMs = gateInitialMs;
    for (;;) {
      const blockers = this.#options.blockers();
      const text = blockers.length === 0 ? '' : joinErrors(blockers);
      if (text !== this.#blockedBy) {
        this.#blockedBy = text;
        this.#options.timeline.record(
          text === ''
            ? { kind: 'notice', what: 'loop.gate', message: 'Pods are synchronized', data: { open: true } }
            : {
                kind: 'notice',
                what: 'loop.gate',
                message: 'Skipping pod synchronization',
                because: text,
                level: 'warn',
                data: { open: false },
              },
        );
      }
      if (text === '') return;
      await sleep(this.#options.clock, delayMs, signal);
      delayMs = Math.min(delayMs * 2, gateMaxMs);
    }
  }

  /** Handles one event; false when there will be no more. */
  async #iterate(signal: AbortSignal): Promise<boolean> {
    const { onSyncTick, due, random } = this.#options;
    const channels = this.#isConfigBusy ? { ...this.#channels, config: this.#configDone } : this.#channels;
    const chosen = await selectByName(channels, signal, random);
    switch (chosen) {
      case 'config':
        this.disturb();
        return this.#takeConfig();
      case 'pleg':
        this.disturb();
        this.#takePlegEvents();
        return true;
      case 'due':
        due.tryReceive();
        onSyncTick();
        return true;
      case 'syncTick':
        this.#syncTick.tryReceive();
        onSyncTick();
        this.#tickForDeadlines();
        return true;
      case 'housekeepingTick':
        this.#housekeepingTick.tryReceive();
        await this.#housekeep(signal);
        return true;
      case 'liveness':
      case 'readiness':
      case 'startup':
        this.#takeProbeUpdate(chosen);
        return true;
    }
  }

  #takeConfig(): boolean {
    const { config, onConfig } = this.#options;
    if (this.#isConfigBusy) {
      this.#configDone.tryReceive();
      this.#isConfigBusy = false;
      return true;
    }
    const received = config.updates.tryReceive();
    if (received?.done === true) return false;
    if (received === undefined) return true;
    const { source } = received.value;
    const busy = onConfig(received.value);
    if (busy === undefined) config.markHandled(source);
    else this.#awaitConfig(busy, source);
    this.#tickForDeadlines();
    return true;
  }

  #tickForDeadlines(): void {
    if (this.#options.hasDeadlines()) this.#nextSyncTick.within(syncTickMs);
  }

  #awaitConfig(busy: Promise<void>, source: ConfigUpdate['source']): void {
    this.#isConfigBusy = true;
    this.#tasks?.start('an update of pods', async () => {
      try {
        await busy;
        this.#options.config.markHandled(source);
      } finally {
        this.#configDone.trySend();
      }
    });
  }

  #takeProbeUpdate(kind: ProbeKind): void {
    const { probes, onProbe } = this.#options;
    const received = probes[kind].tryReceive();
    if (received !== undefined && !received.done) onProbe(kind, received.value);
  }

  #takePlegEvents(): void {
    const { plegEvents, onPleg } = this.#options;
    const events: PodLifecycleEvent[] = [];
    for (
      let received = plegEvents.tryReceive();
      received !== undefined && !received.done;
      received = plegEvents.tryReceive()
    ) {
      events.push(received.value);
    }
    if (events.length > 0) onPleg(events);
  }

  async #housekeep(signal: AbortSignal): Promise<void> {
    const { clock, config, onHousekeeping } = this.#options;
    if (!config.allSourcesReady) {
      this.#nextHousekeeping.within(housekeepingMs);
      this.#tellMissingSources();
      return;
    }
    const startMs = clock.monotonic();
    // From its begin on, so that what changes meanwhile is looked at soon.
    this.#nextHousekeeping.within(restMs);
    try {
      if ((await onHousekeeping(signal)) === 'unsettled') this.#nextHousekeeping.within(housekeepingMs);
    } catch (error) {
      this.#nextHousekeeping.within(housekeepingMs);
      if (isCancelled(error)) throw error;
      this.#problem('housekeeping failed, will be tried again', error);
    }
    const durationMs = clock.monotonic() - startMs;
    if (durationMs > slowHousekeepingMs) {
      this.#options.timeline.record({
        kind: 'notice',
        what: 'housekeeping.slow',
        message: 'Housekeeping took longer than expected',
        level: 'warn',
        durationMs,
      });
    }
  }

  /** Until every source has spoken nothing is cleaned up; whoever wonders why is told once per set of sources. */
  #tellMissingSources(): void {
    const missing = this.#options.config.missingSources.join(', ');
    if (missing === this.#missingSources) return;
    this.#missingSources = missing;
    this.#options.timeline.record({
      kind: 'notice',
      what: 'housekeeping.wait',
      message: `pods that are no longer configured are not stopped yet`,
      because: `these sources have not delivered any pods: ${missing}`,
      level: 'warn',
    });
  }

  #problem(message: string, error: unknown): void {
    this.#options.timeline.record({ kind: 'problem', what: 'loop', message, error });
  }
}
