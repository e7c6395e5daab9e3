/** Garbage collection of what pods leave in the runtime and in the log directories. */
import {
  aggregateText,
  Channel,
  errorText,
  isCancelled,
  sleep,
  throwIfCancelled,
} from '../../async/index.js';
import type { CriRuntime, ObservedPodStatus } from '../../cri/index.js';
import { forwardingTracer, type Tracer, traced } from '../../tracing/index.js';
import { type ContainerRemoval, deadToRemoveAfter } from './container-gc.js';
import { forecastGarbage, type GarbageForecast } from './garbage-forecast.js';
import {
  type CleanedFiles,
  cleanLogLinks,
  cleanPodLogs,
  goneLogDirectories,
  type PodLogCleaning,
} from './log-cleaning.js';
import { RuntimeCleaner, type RuntimeCleanerOptions } from './runtime-cleaner.js';

export interface CollectorOptions extends RuntimeCleanerOptions {
  readonly cri: RuntimeCleanerOptions['cri'] & Pick<CriRuntime, 'containerStatus'>;
  readonly nodeName: string;
  /** Default: passes are no spans. */
  readonly tracer?: Tracer;
  /** Whether pods are being started or stopped, which removals would slow down; default never. */
  readonly isBusy?: () => boolean;
  /** Whether pods are queued to start or stop; default never. */
  readonly podsWait?: () => boolean;
  /** Empty when pods have no log files. */
  readonly podLogsDir: string;
  readonly containerLogsDir: string | undefined;
  /** Default: this machine, as runtimes write logs to real files. */
  readonly host?: CleanedFiles;
}

const gcPeriodMs = 60_000;
/** How often to check whether all sources are ready, before the first pass. */
const sourceLookMs = 1_000;
/**
 * Waits after the sources are ready, so that the workers know every pod before anything counts as orphaned.
 */
const firstPassDelayMs = 5_000;
const queueCapacity = 50;
/** How long a single dead container waits at most. */
const queuePatienceMs = 20_000;
const busyLookMs = 1_000;

export class GarbageCollector {
  readonly #options: CollectorOptions;
  readonly #queue = new Channel<{ readonly removal: ContainerRemoval; readonly sinceMs: number }>(
    queueCapacity,
  );

  readonly #runtime: RuntimeCleaner;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#runtime = new RuntimeCleaner(options);
  }

  /** Collects soon after all sources are ready and then every minute, until stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline, nodeName, tracer = forwardingTracer() } = this.#options;
    await this.#firstPassDue(signal);
    for (;;) {
      try {
        await traced(tracer, { name: 'Containers/GarbageCollect' }, () => this.collect());
      } catch (error) {
        if (isCancelled(error)) throw error;
        throwIfCancelled(signal);
        timeline.nodeEvent(nodeName, 'Warning', 'ContainerGCFailed', errorText(error));
      }
      await sleep(clock, gcPeriodMs, signal);
      await this.#waitWhile(this.#options.isBusy, clock.monotonic() + gcPeriodMs, signal);
    }
  }

  /** Cleanup waits while live pods need the runtime. */
  async #waitWhile(
    isBusy: (() => boolean) | undefined,
    latestMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#options;
    while (isBusy?.() === true && clock.monotonic() < latestMs) await sleep(clock, busyLookMs, signal);
  }

  /** Missing sources delay the first pass by one period at most. */
  async #firstPassDue(signal: AbortSignal): Promise<void> {
    const { clock, allSourcesReady } = this.#options;
    const latestMs = clock.monotonic() + gcPeriodMs - firstPassDelayMs;
    while (!allSourcesReady() && clock.monotonic() < latestMs) await sleep(clock, sourceLookMs, signal);
    await sleep(clock, firstPassDelayMs, signal);
  }

  /** Removes the containers that `removeDead` queued, one after another. */
  async runQueue(signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = await this.#queue.receive(signal);
      if (next.done) return;
      const { removal, sinceMs } = next.value;
      await this.#waitWhile(this.#options.podsWait, sinceMs + queuePatienceMs, signal);
      await this.#runtime.remove(removal);
    }
  }

  /**
   * Queues the dead containers of a pod that need not be kept after one of its containers died, or all of
   * them.
   */
  removeDead(status: ObservedPodStatus, diedId: string | undefined, all = false): void {
    const { clock, policy, podStates, timeline } = this.#options;
    const removeAll = all || podStates.shouldContentBeRemoved(status.uid);
    const removals = deadToRemoveAfter(status.containers, diedId, policy.maxPerContainer, removeAll);
    for (const removal of removals) {
      if (this.#queue.trySend({ removal, sinceMs: clock.monotonic() })) continue;
      timeline.record({
        kind: 'problem',
        what: 'container.remove',
        message: `container ${removal.name} is not removed now`,
        because: 'too many removals are queued; the next garbage collection removes it',
        level: 'debug',
        data: { containerId: removal.id },
      });
    }
  }

  /** One pass over containers, sandboxes and logs; a failure of one does not skip the others. */
  async collect(): Promise<void> {
    await this.#pass((uid) => this.#options.podStates.shouldContentBeRemoved(uid));
  }

  /** As `collect`, but also for pods that have ended and are still desired: for when the disk is full. */
  async deleteUnused(): Promise<void> {
    const { podStates } = this.#options;
    await this.#pass((uid) => podStates.shouldContentBeRemoved(uid) || podStates.shouldRuntimeBeRemoved(uid));
  }

  /** What a pass would remove now, and what only with a full disk. Changes nothing. */
  async forecast(): Promise<GarbageForecast> {
    const { cri, clock, policy, podStates, allSourcesReady } = this.#options;
    const { items } = await cri.listPodSandbox({});
    const { containers } = await cri.listContainers({});
    const logDirectories: string[] = [];
    const cleaning = this.#logsOfGone();
    if (cleaning !== undefined) {
      for await (const directory of goneLogDirectories(cleaning)) logDirectories.push(directory);
    }
    return forecastGarbage({
      sandboxes: items,
      containers,
      logDirectories,
      policy,
      podStates,
      allSourcesReady: allSourcesReady(),
      nowMs: clock.now(),
    });
  }

  async #pass(isPodGone: (uid: string) => boolean): Promise<void> {
    const errors: unknown[] = [];
    for (const step of [
      () => this.#runtime.collect(isPodGone),
      () => this.#cleanPodLogs(),
      () => this.#cleanLogLinks(),
    ]) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new Error(aggregateText(errors.map(errorText)), { cause: errors[0] });
  }

  async #cleanPodLogs(): Promise<void> {
    const cleaning = this.#logsOfGone();
    if (cleaning !== undefined) await cleanPodLogs(cleaning);
  }

  /** Undefined while not all pods are known, and where they have no logs. */
  #logsOfGone(): PodLogCleaning | undefined {
    const { allSourcesReady, podLogsDir, podStates, timeline, host } = this.#options;
    if (podLogsDir === '' || !allSourcesReady()) return undefined;
    const isPodGone = (uid: string): boolean => podStates.shouldContentBeRemoved(uid);
    return { timeline, podLogsDir, isPodGone, ...(host && { host }) };
  }

  async #cleanLogLinks(): Promise<void> {
    const { containerLogsDir, cri, timeline, host } = this.#options;
    if (containerLogsDir === undefined) return;
    await cleanLogLinks({ timeline, containerLogsDir, cri, ...(host && { host }) });
  }
}
