/** Reads what a runtime has: all pods as it lists them, or one pod in full. */
import { type Clock, Gate } from '../../async/index.js';
import {
  ContainerState,
  type CriRuntime,
  criLabels,
  groupByPod,
  isNotFound,
  newestFirst,
  newestSandboxFirst,
  type ObservedContainerStatus,
  type ObservedPod,
  type ObservedPodStatus,
  type ObservedSandboxStatus,
  observeContainerStatus,
  observeSandboxStatus,
  PodSandboxState,
  type PodSandboxStatus,
} from '../../cri/index.js';
import type { PodParts, ReadPod } from '../pleg/index.js';
import { sandboxIps } from './pod-ips.js';
import { checkedContainerStatus, checkedSandboxStatus } from './response-checks.js';

export interface ObservePorts {
  readonly cri: CriRuntime;
  readonly clock: Clock;
  /** What an exited container left as its last words; empty for nothing. */
  readonly terminationMessage: ((status: ObservedContainerStatus) => Promise<string>) | undefined;
}

/** What was read of a pod's sandbox a moment ago and need not be read again. */
export type KnownSandbox = (sandboxId: string) => PodSandboxStatus | undefined;

/** Status calls for one pod that are under way at the same time. */
const parallelStatusCalls = 8;

/** Pods that the runtime knows; `runningOnly` leaves out what is not running and pods without any of it. */
export async function listPods(
  { cri, clock }: ObservePorts,
  { runningOnly }: { readonly runningOnly: boolean },
): Promise<ObservedPod[]> {
  const observedAtMs = clock.monotonic();
  const [sandboxes, containers] = await Promise.all([
    cri.listPodSandbox(runningOnly ? { filter: { state: { state: PodSandboxState.SANDBOX_READY } } } : {}),
    cri.listContainers(runningOnly ? { filter: { state: { state: ContainerState.CONTAINER_RUNNING } } } : {}),
  ]);
  return groupByPod(sandboxes.items, containers.containers, observedAtMs);
}

/** One pod with all it has, running or not; undefined when the runtime does not know it. */
export async function listPod({ cri, clock }: ObservePorts, uid: string): Promise<ObservedPod | undefined> {
  const observedAtMs = clock.monotonic();
  const filter = { labelSelector: { [criLabels.podUid]: uid } };
  const [sandboxes, containers] = await Promise.all([
    cri.listPodSandbox({ filter }),
    cri.listContainers({ filter }),
  ]);
  return groupByPod(sandboxes.items, containers.containers, observedAtMs).find((pod) => pod.uid === uid);
}

/**
 * One pod in full; with what was listed of it a moment ago it is not listed again. What vanishes between
 * listing and asking is left out; any other error fails the reading.
 */
export async function podStatus(
  ports: ObservePorts,
  uid: string,
  name: string,
  namespace: string,
  alreadyListed?: ObservedPod,
): Promise<ObservedPodStatus> {
  const observedAtMs = alreadyListed?.observedAtMs ?? ports.clock.monotonic();
  const listed = alreadyListed ?? (await listPod(ports, uid));
  const [sandboxes, containers] = await readAll(ports, {
    sandboxIds: (listed?.sandboxes ?? []).map(({ id }) => id),
    containers: listed?.containers ?? [],
  });
  return {
    uid,
    name,
    namespace,
    ...described(
      sandboxes.map((status) => observeSandboxStatus(status)),
      containers,
      listed?.containers ?? [],
    ),
    observedAtMs,
  };
}

/**
 * One pod by the ids of all that it has, which costs the runtime less than finding them among all others.
 * Undefined when one of them is not there or belongs to another pod: then only a list can tell what the pod has.
 */
export async function readPod(
  ports: ObservePorts,
  uid: string,
  parts: PodParts,
  signal?: AbortSignal,
  known?: KnownSandbox,
): Promise<ReadPod | undefined> {
  const observedAtMs = ports.clock.monotonic();
  const [sandboxes, containers] = await readAll(ports, parts, signal, known);
  const metadata = sandboxes[0]?.metadata;
  if (
    metadata === undefined ||
    sandboxes.length < parts.sandboxIds.length ||
    containers.length < parts.containers.length ||
    sandboxes.some((sandbox) => sandbox.metadata?.uid !== uid) ||
    containers.some(({ labels }) => labels[criLabels.podUid] !== uid)
  ) {
    return undefined;
  }
  const { name, namespace } = metadata;
  const statuses = described(
    sandboxes.map((status) => observeSandboxStatus(status)),
    containers,
    parts.containers,
  );
  const sandboxOf = new Map(parts.containers.map(({ id, sandboxId }) => [id, sandboxId]));
  return {
    pod: {
      uid,
      name,
      namespace,
      sandboxes: statuses.sandboxes.map(({ id, ready, attempt, createdAtNs }) => ({
        id,
        state: ready ? 'running' : 'exited',
        attempt,
        createdAtNs,
      })),
      containers: statuses.containers.map(
        ({ id, name: containerName, state, image, imageId, hash, createdAtNs }) => ({
          id,
          name: containerName,
          sandboxId: sandboxOf.get(id) ?? '',
          state,
          image,
          imageId,
          hash,
          createdAtNs,
        }),
      ),
      observedAtMs,
    },
    status: { uid, name, namespace, ...statuses, observedAtMs },
  };
}

/** What is there of a pod's parts; what is not found is left out, any other error fails the reading. */
async function readAll(
  ports: ObservePorts,
  { sandboxIds, containers }: PodParts,
  signal?: AbortSignal,
  known?: KnownSandbox,
): Promise<[PodSandboxStatus[], ObservedContainerStatus[]]> {
  const gate = new Gate(parallelStatusCalls);
  const [readSandboxes, readContainers] = await Promise.all([
    Promise.allSettled(
      sandboxIds.map((id) => known?.(id) ?? gate.run(() => sandboxStatus(ports, id, signal))),
    ),
    Promise.allSettled(containers.map(({ id }) => gate.run(() => containerStatus(ports, id, signal)))),
  ]);
  return [present(readSandboxes), present(readContainers)];
}

/** What a pod's status tells of its sandboxes and containers, given the sandbox of each container. */
function described(
  unsortedSandboxes: readonly ObservedSandboxStatus[],
  unsortedContainers: readonly ObservedContainerStatus[],
  parts: PodParts['containers'],
): Pick<ObservedPodStatus, 'ips' | 'sandboxes' | 'containers' | 'activeContainers'> {
  const sandboxes = [...unsortedSandboxes].sort(newestSandboxFirst);
  const containers = [...unsortedContainers].sort(newestFirst);
  const newest = sandboxes[0]?.ready === true ? sandboxes[0] : undefined;
  const active = new Set(parts.filter(({ sandboxId }) => sandboxId === newest?.id).map(({ id }) => id));
  return {
    ips: newest === undefined ? [] : sandboxIps(newest),
    sandboxes,
    containers,
    activeContainers: containers.filter(({ id }) => active.has(id)),
  };
}

async function sandboxStatus(
  { cri }: ObservePorts,
  id: string,
  signal: AbortSignal | undefined,
): Promise<PodSandboxStatus | undefined> {
  try {
    return checkedSandboxStatus(await cri.podSandboxStatus({ podSandboxId: id }, { signal }));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function containerStatus(
  { cri, terminationMessage }: ObservePorts,
  id: string,
  signal: AbortSignal | undefined,
): Promise<ObservedContainerStatus | undefined> {
  let status: ObservedContainerStatus;
  try {
    status = observeContainerStatus(
      checkedContainerStatus(await cri.containerStatus({ containerId: id }, { signal })),
    );
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  if (status.state !== 'exited' || terminationMessage === undefined) return status;
  const lastWords = await terminationMessage(status);
  const message = [status.message, lastWords].filter((text) => text !== '').join(': ');
  return { ...status, message };
}

/** The readings that found something, all of which have ended; the first that failed fails them all. */
function present<T>(readings: readonly PromiseSettledResult<T | undefined>[]): T[] {
  const found: T[] = [];
  for (const reading of readings) {
    if (reading.status === 'rejected') throw reading.reason;
    if (reading.value !== undefined) found.push(reading.value);
  }
  return found;
}
