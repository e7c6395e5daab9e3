/** Removes what garbage collection decided to remove from the runtime: dead containers, then the sandboxes that this empties. */
import type { Clock } from '../../async/index.js';
import { type Container, type CriRuntime, isNotFound, type PodSandbox } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ContainerRemover, OrphanKill, PodStates } from '../contracts.js';
import { faultEntry } from '../fault-entry.js';
import {
  type ContainerGcPolicy,
  type ContainerRemoval,
  containersToRemove,
  sandboxesToRemove,
} from './container-gc.js';
import { deadContainers, oldEnough, seenSandboxes } from './seen-garbage.js';

export interface RuntimeCleanerOptions {
  readonly cri: Pick<CriRuntime, 'listContainers' | 'listPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly policy: ContainerGcPolicy;
  readonly podStates: PodStates;
  readonly remover: ContainerRemover;
  /** Stops a container whose pod may be unknown, with hooks and events as for any stop. */
  readonly kill: (container: OrphanKill) => Promise<void>;
  /** Called for pods whose containers were all removed, so that nothing of them stays. */
  readonly forgetPod?: (uid: string) => Promise<void>;
  readonly allSourcesReady: () => boolean;
  /** Called before each sandbox is removed. */
  readonly onRemove?: (sandboxId: string) => void;
}

const unknownStateMessage = 'Container is in unknown state, try killing it before removal';

export class RuntimeCleaner {
  readonly #options: RuntimeCleanerOptions;

  constructor(options: RuntimeCleanerOptions) {
    this.#options = options;
  }

  /**
   * Containers first, then the sandboxes that this empties. Sandboxes are listed first: an ended sandbox gets
   * no more containers, so the container list shows all it has.
   */
  async collect(isPodGone: (uid: string) => boolean): Promise<void> {
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
      if (await this.remove(removal)) removed.add(removal.id);
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
    timeline.record(faultEntry('StateUnknown', { container: name }));
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
  async remove({ id, name, because }: ContainerRemoval): Promise<boolean> {
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
}
