/** Reads the runtime's state: lists all pods, or reads one pod's full status. */
import { type Clock, Gate } from '../../async/index.js';
import {
  ContainerState,
  type CriRuntime,
  criLabels,
  groupByPod,
  isNotFound,
  type KnownFaultId,
  newestAttemptFirst,
  type ObservedContainerStatus,
  type ObservedPod,
  type ObservedPodStatus,
  type ObservedSandboxStatus,
  observeContainerStatus,
  observeSandboxStatus,
  oomKilledReason,
  PodSandboxState,
  type PodSandboxStatus,
  recogniseFault,
} from '../../cri/index.js';
import type { PodParts, ReadPod } from '../pleg/index.js';
import { sandboxIps } from './pod-ips.js';
import { checkedContainerStatus, checkedSandboxStatus } from './response-checks.js';

export interface ObservePorts {
  readonly cri: CriRuntime;
  readonly clock: Clock;
  /** An exited container's termination message; empty for none. */
  readonly terminationMessage: ((status: ObservedContainerStatus) => Promise<string>) | undefined;
  /** Whether the kernel killed a process of this container for want of memory. */
  readonly wasOomKilled?: ((containerId: string) => Promise<boolean>) | undefined;
  /** Called for each reading of a container that shows a known fault of the runtime. */
  readonly onFault?: (fault: KnownFaultId, status: ObservedContainerStatus) => void;
}

/** A sandbox status read a moment ago, which need not be read again. */
export type KnownSandbox = (sandboxId: string) => PodSandboxStatus | undefined;

/** Parallel status calls per pod. */
const parallelStatusCalls = 8;

/** The runtime's pods; `runningOnly` leaves out what is not running, and pods without anything that is. */
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
 * One pod's full status; with a recent list of the pod it is not listed again. What vanishes between listing
 * and reading is left out; any other error fails the read.
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
 * Reads one pod by its known ids, which is cheaper for the runtime than a list. Undefined when one of them is
 * missing or belongs to another pod: then only a list can tell what the pod has.
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

/** Reads a pod's parts; those not found are left out, any other error fails the read. */
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

/** The pod status of these sandboxes and containers, given each container's sandbox. */
function described(
  unsortedSandboxes: readonly ObservedSandboxStatus[],
  unsortedContainers: readonly ObservedContainerStatus[],
  parts: PodParts['containers'],
): Pick<ObservedPodStatus, 'ips' | 'sandboxes' | 'containers' | 'activeContainers'> {
  const sandboxes = [...unsortedSandboxes].sort(newestAttemptFirst);
  const containers = [...unsortedContainers].sort((a, b) =>
    newestAttemptFirst({ ...a, attempt: a.restartCount }, { ...b, attempt: b.restartCount }),
  );
  const newest = sandboxes[0]?.ready === true ? sandboxes[0] : undefined;
  const activeIds = new Set(parts.filter(({ sandboxId }) => sandboxId === newest?.id).map(({ id }) => id));
  const isActive = ({ id }: ObservedContainerStatus): boolean => activeIds.has(id);
  return {
    ips: newest === undefined ? [] : sandboxIps(newest),
    sandboxes,
    containers,
    // Of most pods all are.
    activeContainers: containers.every(isActive) ? containers : containers.filter(isActive),
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
  { cri, terminationMessage, wasOomKilled, onFault }: ObservePorts,
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
  if (status.state !== 'exited') return status;
  const mayBeMissed = status.exitCode !== 0 && status.reason !== oomKilledReason;
  const killedByKernel = mayBeMissed && (await wasOomKilled?.(id)) === true;
  const fault = recogniseFault({ seen: 'exit', ...status, killedByKernel });
  if (fault !== undefined) onFault?.(fault, status);
  const reason = fault === 'OomReasonMissing' ? oomKilledReason : status.reason;
  const lastWords = (await terminationMessage?.(status)) ?? '';
  const message = [status.message, lastWords].filter((text) => text !== '').join(': ');
  return { ...status, reason, message };
}

/** The results that found something; throws the first failure. */
function present<T>(readings: readonly PromiseSettledResult<T | undefined>[]): T[] {
  const found: T[] = [];
  for (const reading of readings) {
    if (reading.status === 'rejected') throw reading.reason;
    if (reading.value !== undefined) found.push(reading.value);
  }
  return found;
}
