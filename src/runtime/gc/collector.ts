/** Garbage collection of what pods leave in the runtime and in the log folders. */
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Channel, type Clock, isCancelled, sleep } from '../../async/index.js';
import {
  ContainerState,
  type CriRuntime,
  criLabels,
  isNotFound,
  type ObservedPodStatus,
  observedState,
  PodSandboxState,
} from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ContainerRemover, PodStates } from '../contracts.js';
import {
  type ContainerGcPolicy,
  containersToRemove,
  type DeadContainer,
  deadToRemoveAfter,
  sandboxesToRemove,
} from './container-gc.js';

export interface CollectorOptions {
  readonly cri: Pick<
    CriRuntime,
    | 'listContainers'
    | 'listPodSandbox'
    | 'stopPodSandbox'
    | 'removePodSandbox'
    | 'containerStatus'
    | 'stopContainer'
  >;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly policy: ContainerGcPolicy;
  readonly podStates: PodStates;
  readonly remover: ContainerRemover;
  /** Stops a container whose state is unknown, with all that belongs to a stop; without it only the runtime is told. */
  readonly kill?: (container: {
    readonly id: string;
    readonly name: string;
    readonly message: string;
  }) => Promise<void>;
  /** Told of pods whose containers were all removed, as nothing of them may stay. */
  readonly forgetPod?: (uid: string) => Promise<void>;
  readonly allSourcesReady: () => boolean;
  /** Empty when pods have no log files. */
  readonly podLogsDir: string;
  readonly containerLogsDir: string | undefined;
}

const gcPeriodMs = 60_000;
const unknownStateMessage = 'Container is in unknown state, try killing it before removal';
/** How long a container of unknown state has to stop when nobody knows better. */
const unknownStateStopSeconds = 2;
const queueCapacity = 50;

export class GarbageCollector {
  readonly #options: CollectorOptions;
  readonly #queue = new Channel<{ readonly id: string; readonly name: string }>(queueCapacity);

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Collects every minute until stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline, nodeName } = this.#options;
    for (;;) {
      await sleep(clock, gcPeriodMs, signal);
      try {
        await this.collect();
      } catch (error) {
        if (isCancelled(error)) throw error;
        timeline.nodeEvent(
          nodeName,
          'Warning',
          'ContainerGCFailed',
          error instanceof Error ? error.message : String(error),
        );
      }
    }
  }

  /** Removes the containers that `removeDead` queued, one after another. */
  async runQueue(signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = await this.#queue.receive(signal);
      if (next.done) return;
      await this.#remove(next.value.id, next.value.name);
    }
  }

  /** Queues the dead containers of a pod that need not stay after one of its containers died, or all of them. */
  removeDead(status: ObservedPodStatus, diedId: string | undefined, all = false): void {
    const { policy, podStates, timeline } = this.#options;
    const removeAll = all || podStates.shouldContentBeRemoved(status.uid);
    for (const { id, name } of deadToRemoveAfter(
      status.containers,
      diedId,
      policy.maxPerContainer,
      removeAll,
    )) {
      if (this.#queue.trySend({ id, name })) continue;
      timeline.record({
        kind: 'problem',
        what: 'container.remove',
        message: `container ${name} is not removed now`,
        because: 'too many removals wait already; the next garbage collection removes it',
        level: 'debug',
      });
    }
  }

  /** One pass over containers, sandboxes and logs; each is done even when another failed. */
  async collect(): Promise<void> {
    await this.#pass((uid) => this.#options.podStates.shouldContentBeRemoved(uid));
  }

  /** As `collect`, but also for pods that have ended and are still wanted: for when the disk is full. */
  async deleteUnused(): Promise<void> {
    const { podStates } = this.#options;
    await this.#pass((uid) => podStates.shouldContentBeRemoved(uid) || podStates.shouldRuntimeBeRemoved(uid));
  }

  async #pass(isPodGone: (uid: string) => boolean): Promise<void> {
    const errors: unknown[] = [];
    for (const step of [
      () => this.#collectContainers(isPodGone),
      () => this.#collectSandboxes(isPodGone),
      () => this.#collectLogs(),
      () => this.#collectSymlinks(),
    ]) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) {
      const texts = errors.map((error) => (error instanceof Error ? error.message : String(error)));
      throw new Error(`[${[...new Set(texts)].join(', ')}]`, { cause: errors[0] });
    }
  }

  async #collectContainers(isPodGone: (uid: string) => boolean): Promise<void> {
    const { cri, clock, policy, allSourcesReady, forgetPod } = this.#options;
    const newestAllowedNs = BigInt(Math.trunc(clock.now() - policy.minAgeMs)) * 1_000_000n;
    const { containers } = await cri.listContainers({});
    const dead = containers
      .filter(
        ({ state, createdAt }) => state !== ContainerState.CONTAINER_RUNNING && createdAt <= newestAllowedNs,
      )
      .map(
        ({ id, labels, metadata, createdAt, state }): DeadContainer => ({
          id,
          name: labels[criLabels.containerName] ?? metadata?.name ?? '',
          podUid: labels[criLabels.podUid] ?? '',
          createdAtNs: createdAt,
          isUnknown: observedState(state) === 'unknown',
        }),
      );
    const mayForget = allSourcesReady();
    const remove = containersToRemove({ dead, policy, allSourcesReady: mayForget, isPodGone });
    for (const container of remove) {
      if (container.isUnknown && !(await this.#stopUnknown(container))) continue;
      await this.#remove(container.id, container.name);
    }
    if (!mayForget || forgetPod === undefined) return;
    const { podStates } = this.#options;
    for (const uid of new Set(remove.map(({ podUid }) => podUid))) {
      if (podStates.shouldContentBeRemoved(uid)) await forgetPod(uid);
    }
  }

  /** What is in an unknown state may still run, so it is stopped before it is removed. */
  async #stopUnknown({ id, name }: DeadContainer): Promise<boolean> {
    const { cri, timeline, kill } = this.#options;
    try {
      if (kill !== undefined) await kill({ id, name, message: unknownStateMessage });
      else await cri.stopContainer({ containerId: id, timeout: unknownStateStopSeconds });
      return true;
    } catch (error) {
      if (isNotFound(error)) return true;
      timeline.record({
        kind: 'problem',
        what: 'container.remove',
        message: `container ${name} is kept`,
        because: `${unknownStateMessage}; that failed`,
        level: 'warn',
        error,
      });
      return false;
    }
  }

  async #remove(id: string, name: string): Promise<void> {
    const { remover, timeline } = this.#options;
    try {
      await remover.remove({ id, name }, false);
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'container.remove',
        message: `removing dead container ${name} failed`,
        level: 'warn',
        error,
        data: { id },
      });
    }
  }

  async #collectSandboxes(isPodGone: (uid: string) => boolean): Promise<void> {
    const { cri, timeline } = this.#options;
    const [{ items }, { containers }] = await Promise.all([cri.listPodSandbox({}), cri.listContainers({})]);
    const occupied = new Set(containers.map(({ podSandboxId }) => podSandboxId));
    const sandboxes = items.map(({ id, metadata, createdAt, state }) => ({
      id,
      podUid: metadata?.uid ?? '',
      createdAtNs: createdAt,
      isReady: state === PodSandboxState.SANDBOX_READY,
      hasContainers: occupied.has(id),
    }));
    for (const { id } of sandboxesToRemove(sandboxes, isPodGone)) {
      try {
        await cri.stopPodSandbox({ podSandboxId: id });
        await cri.removePodSandbox({ podSandboxId: id });
      } catch (error) {
        timeline.record({
          kind: 'problem',
          what: 'sandbox.remove',
          message: `removing sandbox ${id} failed`,
          level: 'warn',
          error,
        });
      }
    }
  }

  /** Log folders of pods that are gone; the part of their name after the last underscore is the UID. */
  async #collectLogs(): Promise<void> {
    const { allSourcesReady, podLogsDir, podStates, timeline } = this.#options;
    if (podLogsDir === '' || !allSourcesReady()) return;
    for (const name of await list(podLogsDir)) {
      const uid = name.slice(name.lastIndexOf('_') + 1);
      if (!name.includes('_') || !podStates.shouldContentBeRemoved(uid)) continue;
      try {
        await rm(path.join(podLogsDir, name), { recursive: true, force: true });
      } catch (error) {
        timeline.record({
          kind: 'problem',
          what: 'logs.remove',
          message: `removing the logs ${name} failed`,
          level: 'warn',
          error,
        });
      }
    }
  }

  /** Links to logs that no longer exist, unless the container they belong to may still write. */
  async #collectSymlinks(): Promise<void> {
    const { containerLogsDir, cri, timeline } = this.#options;
    if (containerLogsDir === undefined) return;
    for (const name of await list(containerLogsDir)) {
      const link = path.join(containerLogsDir, name);
      if (!name.endsWith('.log') || !(await isDangling(link))) continue;
      const id = name.slice(name.lastIndexOf('-') + 1, -'.log'.length);
      if (id.length >= 6) {
        const found = await cri.containerStatus({ containerId: id }).catch(() => undefined);
        if (found?.status !== undefined && found.status.state !== ContainerState.CONTAINER_EXITED) continue;
      }
      try {
        await rm(link, { force: true });
      } catch (error) {
        timeline.record({
          kind: 'problem',
          what: 'logs.remove',
          message: `removing the dangling link ${link} failed`,
          level: 'warn',
          error,
        });
      }
    }
  }
}

/** Only what surely leads nowhere counts, not what cannot be looked at. */
async function isDangling(link: string): Promise<boolean> {
  return await stat(link).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
