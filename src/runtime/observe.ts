/** Reads what a runtime has: all pods as it lists them, or one pod in full. */
import { type Clock, Gate } from '../async/index.js';
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
} from '../cri/index.js';
import { sandboxIps } from './pod-ips.js';
import { checkedContainerStatus, checkedSandboxStatus } from './response-checks.js';

export interface ObservePorts {
  readonly cri: CriRuntime;
  readonly clock: Clock;
  /** What an exited container left as its last words; empty for nothing. */
  readonly terminationMessage: ((status: ObservedContainerStatus) => Promise<string>) | undefined;
}

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
  const gate = new Gate(parallelStatusCalls);
  const [readSandboxes, readContainers] = await Promise.all([
    Promise.allSettled((listed?.sandboxes ?? []).map(({ id }) => gate.run(() => sandboxStatus(ports, id)))),
    Promise.allSettled(
      (listed?.containers ?? []).map(({ id }) => gate.run(() => containerStatus(ports, id))),
    ),
  ]);
  const sandboxes = present(readSandboxes).sort(newestSandboxFirst);
  const containers = present(readContainers).sort(newestFirst);
  const newest = sandboxes[0]?.ready === true ? sandboxes[0] : undefined;
  const active = new Set(
    (listed?.containers ?? []).filter(({ sandboxId }) => sandboxId === newest?.id).map(({ id }) => id),
  );
  return {
    uid,
    name,
    namespace,
    ips: newest === undefined ? [] : sandboxIps(newest),
    sandboxes,
    containers,
    activeContainers: containers.filter(({ id }) => active.has(id)),
    observedAtMs,
  };
}

async function sandboxStatus({ cri }: ObservePorts, id: string): Promise<ObservedSandboxStatus | undefined> {
  try {
    return observeSandboxStatus(checkedSandboxStatus(await cri.podSandboxStatus({ podSandboxId: id })));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function containerStatus(
  { cri, terminationMessage }: ObservePorts,
  id: string,
): Promise<ObservedContainerStatus | undefined> {
  let status: ObservedContainerStatus;
  try {
    status = observeContainerStatus(checkedContainerStatus(await cri.containerStatus({ containerId: id })));
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
