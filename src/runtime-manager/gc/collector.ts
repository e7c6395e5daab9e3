/** Garbage collection of what pods leave in the runtime and in the log directories. */
import {
  aggregateText,
  Channel,
  type Clock,
  errorText,
  isCancelled,
  sleep,
  throwIfCancelled,
} from '../../async/index.js';
import {
  type Container,
  type CriRuntime,
  isNotFound,
  type ObservedPodStatus,
  type PodSandbox,
} from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ContainerRemover, OrphanKill, PodStates } from '../contracts.js';
import {
  type ContainerGcPolicy,
  type ContainerRemoval,
  containersToRemove,
  deadToRemoveAfter,
  sandboxesToRemove,
} from './container-gc.js';
import { forecastGarbage, type GarbageForecast } from './garbage-forecast.js';
import { cleanLogLinks, cleanPodLogs } from './log-cleaning.js';
import { deadContainers, oldEnough, seenSandboxes } from './seen-garbage.js';

export interface CollectorOptions {
  readonly cri: Pick<
    CriRuntime,
    'listContainers' | 'listPodSandbox' | 'stopPodSandbox' | 'removePodSandbox' | 'containerStatus'
  >;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly policy: ContainerGcPolicy;
  readonly podStates: PodStates;
  readonly remover: ContainerRemover;
  /** Stops a container whose pod may be unknown, with hooks and events as for any stop. */
  readonly kill: (container: OrphanKill) => Promise<void>;
  /** Called for pods whose containers were all removed, so that nothing of them stays. */
  readonly forgetPod?: (uid: string) => Promise<void>;
  readonly allSourcesReady: () => boolean;
  /** Whether pods are being started or stopped, which removals would slow down; default never. */
  readonly isBusy?: () => boolean;
  /** Whether pods are queued to start or stop; default never. */
  readonly podsWait?: () => boolean;
  /** Called before each sandbox is removed. */
  readonly onRemove?: (sandboxId: string) => void;
  /** Empty when pods have no log files. */
  readonly podLogsDir: string;
  readonly containerLogsDir: string | undefined;
}

const gcPeriodMs = 60_000;
/** How often to check whether all sources are ready, before the first pass. */
const sourceLookMs = 1_000;
/**
 * Waits after the sources are ready, so that the workers know every pod before anything counts as orphaned.
 */
const firstPassDelayMs = 5_000;
const unknownStateMessage = 'Container is in unknown state, try killing it before removal';
const queueCapacity = 50;
/** How long a single dead container waits at most. */
const queuePatienceMs = 20_000;
const busyLookMs = 1_000;

export class GarbageCollector {
  readonly #options: CollectorOptions;
  readonly #queue = new Channel<{ readonly removal: ContainerRemoval; readonly sinceMs: number }>(
    queueCapacity,
  );

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Collects soon after all sources are ready and then every minute, until stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline, nodeName } = this.#options;
    await this.#firstPassDue(signal);
    for (;;) {
      try {
        await this.collect();
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
      await this.#remove(removal);
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
    return forecastGarbage({
      sandboxes: items,
      containers,
      policy,
      podStates,
      allSourcesReady: allSourcesReady(),
      nowMs: clock.now(),
    });
  }

  async #pass(isPodGone: (uid: string) => boolean): Promise<void> {
    const errors: unknown[] = [];
    for (const step of [
      () => this.#collectRuntime(isPodGone),
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

  /**
   * Containers first, then the sandboxes that this empties. Sandboxes are listed first: an ended sandbox gets
   * no more containers, so the container list shows all it has.
   */
  async #collectRuntime(isPodGone: (uid: string) => boolean): Promise<void> {
    const { cri } = this.#options;
    const { items } = await cri.listPodSandbox({});
    const { containers } = await cri.listContainers({});
    const removed = await this.#collectContainers(containers, isPodGone);
    const left = containers.filter(({ id }) => !removed.has(id));
    await this.#collectSandboxes(items, new Set(left.map(({ podSandboxId }) => podSandboxId)), isPodGone);
  }

  /** Returns the ids of the removed containers. */
  async #collectContainers(
    containers: readonly Container[],
    isPodGone: (uid: string) => boolean,
  ): Promise<ReadonlySet<string>> {
    const { clock, policy, allSourcesReady, forgetPod, podStates } = this.#options;
    const dead = oldEnough(deadContainers(containers), policy, clock.now());
    const mayForget = allSourcesReady();
    const removals = containersToRemove({ dead, policy, allSourcesReady: mayForget, isPodGone });
    const removed = new Set<string>();
    for (const removal of removals) {
      if (removal.isUnknown && !(await this.#killUnknown(removal))) continue;
      if (await this.#remove(removal)) removed.add(removal.id);
    }
    if (mayForget && forgetPod !== undefined) {
      for (const uid of new Set(removals.map(({ podUid }) => podUid))) {
        if (podStates.shouldContentBeRemoved(uid)) await forgetPod(uid);
      }
    }
    return removed;
  }

  /** A container in an unknown state may still run, so it is stopped before it is removed. */
  async #killUnknown({ id, name, because }: ContainerRemoval): Promise<boolean> {
    const { timeline, kill } = this.#options;
    try {
      await kill({
        id,
        name,
        message: unknownStateMessage,
        because: `its state is unknown, and it has to be removed: ${because}`,
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return true;
      timeline.record({
        kind: 'problem',
        what: 'container.remove',
        message: `container ${name} is kept`,
        because: `${unknownStateMessage}; that failed`,
        level: 'warn',
        data: { containerId: id },
        error,
      });
      return false;
    }
  }

  /** Returns whether the container is gone. */
  async #remove({ id, name, because }: ContainerRemoval): Promise<boolean> {
    const { remover, timeline } = this.#options;
    try {
      await remover.remove({ id, name }, { keepLogs: false, because });
      return true;
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'container.remove',
        message: `removing dead container ${name} failed`,
        because,
        level: 'warn',
        error,
        data: { containerId: id },
      });
      return false;
    }
  }

  async #collectSandboxes(
    listed: readonly PodSandbox[],
    occupied: ReadonlySet<string>,
    isPodGone: (uid: string) => boolean,
  ): Promise<void> {
    const { cri, timeline, onRemove } = this.#options;
    const metadataOf = new Map(listed.map(({ id, metadata }) => [id, metadata]));
    for (const { id, because } of sandboxesToRemove(seenSandboxes(listed, occupied), isPodGone)) {
      const { uid = '', name = '', namespace = '' } = metadataOf.get(id) ?? {};
      const entry = {
        what: 'sandbox.remove',
        because,
        pod: { uid, name, namespace },
        data: { sandboxId: id },
      } as const;
      try {
        await cri.stopPodSandbox({ podSandboxId: id });
        onRemove?.(id);
        await cri.removePodSandbox({ podSandboxId: id });
        timeline.record({ ...entry, kind: 'effect', message: 'Removed a sandbox', level: 'debug' });
      } catch (error) {
        timeline.record({
          ...entry,
          kind: 'problem',
          message: `removing sandbox ${id} failed`,
          level: 'warn',
          error,
        });
      }
    }
  }

  async #cleanPodLogs(): Promise<void> {
    const { allSourcesReady, podLogsDir, podStates, timeline } = this.#options;
    if (podLogsDir === '' || !allSourcesReady()) return;
    await cleanPodLogs({
      timeline,
      podLogsDir,
      isPodGone: (uid) => podStates.shouldContentBeRemoved(uid),
    });
  }

  async #cleanLogLinks(): Promise<void> {
    const { containerLogsDir, cri, timeline } = this.#options;
    if (containerLogsDir !== undefined) await cleanLogLinks({ timeline, containerLogsDir, cri });
  }
}
