/** What the lists of the runtime say about dead containers and sandboxes, as garbage collection judges them. */
import {
  type Container,
  ContainerState,
  criLabels,
  observedState,
  type PodSandbox,
  PodSandboxState,
} from '../../cri/index.js';
import type { ContainerGcPolicy, DeadContainer, DeadSandbox } from './container-gc.js';

/** All that do not run, whatever their age. */
export function deadContainers(containers: readonly Container[]): DeadContainer[] {
  const isNewest = newestOfNames(containers);
  return containers
    .filter(({ state }) => state !== ContainerState.CONTAINER_RUNNING)
    .map(
      ({ id, labels, metadata, createdAt, state }): DeadContainer => ({
        id,
        name: labels[criLabels.containerName] ?? metadata?.name ?? '',
        podUid: labels[criLabels.podUid] ?? '',
        attempt: metadata?.attempt ?? 0,
        createdAtNs: createdAt,
        isUnknown: observedState(state) === 'unknown',
        mayStart: state === ContainerState.CONTAINER_CREATED && isNewest(id),
      }),
    );
}

export function oldEnough(
  dead: readonly DeadContainer[],
  { minAgeMs }: Pick<ContainerGcPolicy, 'minAgeMs'>,
  nowMs: number,
): DeadContainer[] {
  const newestAllowedNs = BigInt(Math.trunc(nowMs - minAgeMs)) * 1_000_000n;
  // Nobody knows the age of what was made in the future: the wall clock was set back since.
  const nowNs = BigInt(Math.ceil(nowMs)) * 1_000_000n;
  return dead.filter(({ createdAtNs }) => createdAtNs <= newestAllowedNs || createdAtNs > nowNs);
}

/** `occupied` names the sandboxes that have containers. */
export function seenSandboxes(listed: readonly PodSandbox[], occupied: ReadonlySet<string>): DeadSandbox[] {
  return listed.map(({ id, metadata, createdAt, state }) => ({
    id,
    podUid: metadata?.uid ?? '',
    attempt: metadata?.attempt ?? 0,
    createdAtNs: createdAt,
    isReady: state === PodSandboxState.SANDBOX_READY,
    hasContainers: occupied.has(id),
  }));
}

/** Tells whether a container is the newest of its pod and name. */
function newestOfNames(containers: readonly Container[]): (id: string) => boolean {
  const newest = new Map<string, Container>();
  for (const container of containers) {
    const { labels } = container;
    const name = `${labels[criLabels.podUid]}/${labels[criLabels.containerName]}`;
    const known = newest.get(name);
    if (known === undefined || isNewer(container, known)) newest.set(name, container);
  }
  const ids = new Set([...newest.values()].map(({ id }) => id));
  return (id) => ids.has(id);
}

function isNewer(a: Container, b: Container): boolean {
  const [attempt = 0, other = 0] = [a.metadata?.attempt, b.metadata?.attempt];
  return attempt === other ? a.createdAt > b.createdAt : attempt > other;
}
