/** Delays the machine's shutdown until the pods of the node have ended. */
import { Channel, type Clock, isCancelled, sleep, TaskGroup } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ShutdownMetrics } from '../metrics.js';
import { type ShutdownGroup, shutdownDelayMs } from './groups.js';
import { ensureInhibitDelay } from './inhibit-delay.js';
import { killGroups, type ShutdownPods } from './kill-groups.js';
import type { InhibitLock, Logind, LogindConnection } from './logind.js';
import { PrepareEvents } from './prepare-events.js';
import { type ShutdownTimes, unixSeconds } from './state.js';

/** What survives the shutdown on disk. */
export interface ShutdownStateStore {
  /** Undefined times where there is no state. */
  read(): Promise<ShutdownTimes>;
  write(times: ShutdownTimes): Promise<void>;
}

export interface ShutdownManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly metrics: ShutdownMetrics;
  readonly nodeName: string;
  readonly groups: readonly ShutdownGroup[];
  readonly logind: Logind;
  readonly pods: ShutdownPods;
  readonly state: ShutdownStateStore;
  /** Writes a file of the machine's configuration, with the directories to it. */
  readonly writeFile: (path: string, text: string) => Promise<void>;
  /** Reports the node at once; it is not ready any more. */
  readonly reportNode: (signal: AbortSignal) => Promise<void>;
}

/** How long after the loss of logind it is tried again. */
const restartMs = 1_000;

interface Session {
  readonly connection: LogindConnection;
  readonly events: PrepareEvents;
  /** Set when nothing more is heard, or the lock is gone. */
  lost: string | undefined;
  readonly wake: Channel<void>;
}

export class ShutdownManager {
  readonly #options: ShutdownManagerOptions;
  #isShuttingDown = false;
  #lock: InhibitLock | undefined;

  constructor(options: ShutdownManagerOptions) {
    this.#options = options;
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /** Runs until the signal aborts. A failure of the first start is reported and ends it: logind may not be there. */
  async run(signal: AbortSignal): Promise<void> {
    const { timeline } = this.#options;
    const tasks = new TaskGroup({
      signal,
      onError: (task, error) =>
        timeline.record({ kind: 'problem', what: 'node.shutdown', message: `${task} failed`, error }),
    });
    try {
      let session = await this.#firstSession(signal);
      while (session !== undefined) {
        try {
          await this.#serve(session, tasks, signal);
        } finally {
          session.connection.close();
        }
        session = await this.#nextSession(signal);
      }
    } finally {
      await tasks.stop();
      await this.#release();
    }
  }

  async #firstSession(signal: AbortSignal): Promise<Session | undefined> {
    try {
      return await this.#open(signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#options.timeline.record({
        kind: 'problem',
        what: 'node.shutdown',
        message: 'Failed to start node shutdown manager; a shutdown of the machine does not wait for pods',
        error,
      });
      return undefined;
    }
  }

  /** Tries until it works; the first failure is reported, the others say the same. */
  async #nextSession(signal: AbortSignal): Promise<Session> {
    const { clock, timeline } = this.#options;
    for (let failures = 0; ; failures++) {
      await sleep(clock, restartMs, signal);
      try {
        return await this.#open(signal);
      } catch (error) {
        if (isCancelled(error)) throw error;
        if (failures > 0) continue;
        timeline.record({
          kind: 'problem',
          what: 'node.shutdown',
          message: 'the shutdown of the machine cannot be delayed now; it is tried every second',
          error,
        });
      }
    }
  }

  async #open(signal: AbortSignal): Promise<Session> {
    const { clock, timeline, logind, groups, writeFile } = this.#options;
    const wake = new Channel<void>(1);
    const events = new PrepareEvents(() => void wake.trySend());
    const connection = await logind.connect((isBegun) => events.add(isBegun), signal);
    const session: Session = { connection, events, lost: undefined, wake };
    try {
      await ensureInhibitDelay({ clock, logind: connection, writeFile }, shutdownDelayMs(groups), signal);
      await this.#take(session, signal);
      await this.#showLastTimes();
    } catch (error) {
      connection.close();
      throw error;
    }
    void connection.lost.then((why) => this.#lose(session, why));
    timeline.record({
      kind: 'transition',
      what: 'node.shutdown',
      message: `a shutdown of the machine waits for pods, at most ${shutdownDelayMs(groups) / 1000}s long`,
    });
    // logind gives no lock while a shutdown runs: the one that was begun is over, and its cancellation went unheard.
    if (this.#isShuttingDown && events.isEmpty) events.add(false);
    return session;
  }

  async #serve(session: Session, tasks: TaskGroup, signal: AbortSignal): Promise<void> {
    for (;;) {
      const isBegun = session.events.take();
      if (isBegun === true) await this.#begin(tasks, signal);
      else if (isBegun === false) await this.#cancel(session, signal);
      else if (session.lost !== undefined) break;
      else await session.wake.receive(signal);
    }
    this.#options.timeline.record({
      kind: 'problem',
      what: 'node.shutdown',
      message: 'the shutdown of the machine is not delayed until logind is back',
      because: session.lost,
    });
  }

  async #begin(tasks: TaskGroup, signal: AbortSignal): Promise<void> {
    const { clock, timeline, nodeName, groups, pods, reportNode } = this.#options;
    timeline.nodeEvent(nodeName, 'Normal', 'Shutdown', 'Shutdown manager detected shutdown event');
    this.#isShuttingDown = true;
    tasks.start('the report of a node that shuts down', reportNode);
    const startMs = clock.now();
    this.#show({ startMs, endMs: undefined });
    // A disk that hangs must not keep pods from their grace periods.
    const written = this.#store({ startMs, endMs: undefined });
    try {
      await killGroups({ clock, timeline, pods, tasks }, groups, signal);
    } finally {
      await written;
    }
    const endMs = clock.now();
    this.#show({ startMs, endMs });
    await this.#store({ startMs, endMs });
    await this.#release();
  }

  async #cancel(session: Session, signal: AbortSignal): Promise<void> {
    const { timeline, nodeName } = this.#options;
    timeline.nodeEvent(nodeName, 'Normal', 'Shutdown', 'Shutdown manager detected shutdown cancellation');
    this.#isShuttingDown = false;
    try {
      await this.#take(session, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      timeline.record({
        kind: 'problem',
        what: 'node.shutdown',
        message: 'the next shutdown of the machine will not be delayed',
        error,
      });
    }
  }

  /** Takes a lock, and only then gives back the one that was held before. */
  async #take(session: Session, signal: AbortSignal): Promise<void> {
    const lock = await session.connection.inhibit(signal);
    const before = this.#lock;
    this.#lock = lock;
    void lock.lost.then((why) => {
      if (this.#lock === lock) this.#lose(session, why);
    });
    await before?.release();
  }

  async #release(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.release();
  }

  #lose(session: Session, why: string): void {
    session.lost ??= why;
    session.wake.trySend();
  }

  async #showLastTimes(): Promise<void> {
    const { timeline, state } = this.#options;
    try {
      this.#show(await state.read());
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'node.shutdown',
        message: 'the times of the last shutdown cannot be read',
        error,
      });
    }
  }

  #show({ startMs, endMs }: ShutdownTimes): void {
    const { startTime, endTime } = this.#options.metrics;
    startTime.set(unixSeconds(startMs));
    endTime.set(unixSeconds(endMs));
  }

  async #store(times: ShutdownTimes): Promise<void> {
    try {
      await this.#options.state.write(times);
    } catch (error) {
      this.#options.timeline.record({
        kind: 'problem',
        what: 'node.shutdown',
        message: 'the times of this shutdown cannot be kept',
        error,
      });
    }
  }
}
