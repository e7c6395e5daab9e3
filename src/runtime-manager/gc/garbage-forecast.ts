/** Says what garbage collection would remove of the runtime, by the same decisions as a pass; nothing is done. */
import { type Container, criLabels, type PodSandbox } from '../../cri/index.js';
import type { PodStates } from '../contracts.js';
import { type ContainerGcPolicy, containersToRemove, sandboxesToRemove } from './container-gc.js';
import { deadContainers, oldEnough, seenSandboxes } from './seen-garbage.js';

/** When something would be removed: by the next pass, only when the disk is full, or not at all. */
export type RemovalTime = 'now' | 'disk-pressure' | 'kept';

export interface GarbageItem {
  readonly id: string;
  /** The container's name; empty for a sandbox. */
  readonly name: string;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly when: RemovalTime;
  readonly because: string;
}

export interface GarbageForecast {
  /** Dead ones; in the order of their removal, then those that stay. */
  readonly containers: readonly GarbageItem[];
  /** Ended ones, likewise. */
  readonly sandboxes: readonly GarbageItem[];
  /** Directories with the logs of pods that are gone, which the next pass removes. */
  readonly logDirectories: readonly string[];
}

export interface GarbageForecastInput {
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
  /** Those of pods that are gone. */
  readonly logDirectories: readonly string[];
  readonly policy: ContainerGcPolicy;
  readonly podStates: Pick<PodStates, 'shouldContentBeRemoved' | 'shouldRuntimeBeRemoved'>;
  readonly allSourcesReady: boolean;
  readonly nowMs: number;
}

interface Removal {
  readonly id: string;
  readonly because: string;
}

interface RuntimeRemovals {
  readonly containers: readonly Removal[];
  readonly sandboxes: readonly Removal[];
}

export function forecastGarbage(input: GarbageForecastInput): GarbageForecast {
  const { sandboxes, containers, policy, podStates, nowMs } = input;
  const isGone = (uid: string): boolean => podStates.shouldContentBeRemoved(uid);
  const now = removals(input, isGone);
  const full = removals(input, (uid) => isGone(uid) || podStates.shouldRuntimeBeRemoved(uid));
  const dead = deadContainers(containers);
  const young = new Set(dead.map(({ id }) => id));
  for (const { id } of oldEnough(dead, policy, nowMs)) young.delete(id);
  const ofContainer = new Map(containers.map((container) => [container.id, container]));
  const left = new Set(containers.map(({ id }) => id));
  for (const { id } of now.containers) left.delete(id);
  const occupied = new Set(containers.filter(({ id }) => left.has(id)).map((one) => one.podSandboxId));
  return {
    containers: inOrder(
      dead.map((one) => ({
        id: one.id,
        name: one.name,
        pod: podOfLabels(one.podUid, ofContainer.get(one.id)?.labels ?? {}),
        because: young.has(one.id)
          ? 'it is younger than the minimum age'
          : one.mayStart
            ? 'it was just created and may start'
            : 'it is among the last ended instances of its container, which stay',
      })),
      now.containers,
      full.containers,
    ),
    sandboxes: inOrder(
      seenSandboxes(sandboxes, occupied)
        .filter(({ isReady }) => !isReady)
        .map((one) => ({
          id: one.id,
          name: '',
          pod: podOfSandbox(sandboxes.find(({ id }) => id === one.id)),
          because: one.hasContainers ? 'containers of it stay' : 'it is the newest of its pod',
        })),
      now.sandboxes,
      full.sandboxes,
    ),
    logDirectories: input.logDirectories,
  };
}

function removals(
  { sandboxes, containers, policy, allSourcesReady, nowMs }: GarbageForecastInput,
  isPodGone: (uid: string) => boolean,
): RuntimeRemovals {
  const dead = oldEnough(deadContainers(containers), policy, nowMs);
  const removed = containersToRemove({ dead, policy, allSourcesReady, isPodGone });
  const ids = new Set(removed.map(({ id }) => id));
  const occupied = new Set(containers.filter(({ id }) => !ids.has(id)).map((one) => one.podSandboxId));
  return {
    containers: removed.map(({ id, because, isUnknown }) => ({
      id,
      because: isUnknown ? `${because}; its state is unknown, so it is stopped first` : because,
    })),
    sandboxes: sandboxesToRemove(seenSandboxes(sandboxes, occupied), isPodGone),
  };
}

/** What goes now comes first, then what goes when the disk is full, each in its order, then what stays. */
function inOrder(
  items: readonly Omit<GarbageItem, 'when'>[],
  now: readonly Removal[],
  full: readonly Removal[],
): GarbageItem[] {
  const byId = new Map(items.map((item) => [item.id, item]));
  const take = (found: readonly Removal[], when: RemovalTime): GarbageItem[] =>
    found.flatMap(({ id, because }) => {
      const item = byId.get(id);
      byId.delete(id);
      return item === undefined ? [] : [{ ...item, when, because }];
    });
  // A full disk differs only in that ended pods count as gone.
  const ended = full.map(({ id }) => ({ id, because: 'the pod has ended' }));
  const removed = [...take(now, 'now'), ...take(ended, 'disk-pressure')];
  return [...removed, ...[...byId.values()].map((item) => ({ ...item, when: 'kept' as const }))];
}

function podOfLabels(uid: string, labels: Readonly<Record<string, string>>): GarbageItem['pod'] {
  return { namespace: labels[criLabels.podNamespace] ?? '', name: labels[criLabels.podName] ?? '', uid };
}

function podOfSandbox(sandbox: PodSandbox | undefined): GarbageItem['pod'] {
  const { namespace = '', name = '', uid = '' } = sandbox?.metadata ?? {};
  return { namespace, name, uid };
}
