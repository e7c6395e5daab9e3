/** How soon a container's end shows in its pod's status, with the runtime's events and by polling alone. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CriClient, criLabels, subscribeContainerdEvents } from '../src/cri/index.js';
import type { PodStatus } from '../src/kube/index.js';
import { createKubelet, type Kubelet } from '../src/kubelet/index.js';
import {
  containerdEvents,
  criEvents,
  type RuntimeEventSourceFactory,
} from '../src/runtime-manager/pleg/index.js';
import { signalProcess } from '../test/env/processes.js';
import { type BenchGround, onContainerd } from './ground.js';
import { type Bench, below, type Measure, medianOf, percentile, roundsOf } from './measure.js';
import { clearManifests, idlePods, removeAllPods, showManifests, untilRunning } from './pods.js';

/** Each way of watching has two turns, one before and one after the other. */
const turns = 2;
const podsPerTurn = 5;
const settleMs = 2_000;
/** Steps by the golden ratio are spread evenly, so that exits meet polling at all its phases. */
const pausesMs = Array.from(
  { length: turns * podsPerTurn },
  (_, index) => 300 + ((index * 0.618034) % 1) * 1000,
);
const statusTimeoutMs = 15_000;

export const exit: Bench = {
  name: 'exit',
  summary: "from a container's end to its pod's status, on an idle node",
  run: ({ note, options }) =>
    onContainerd(async (ground) => {
      const { cri, containerd } = ground;
      const sources = [() => criEvents(cri), () => containerdEvents(containerd.endpoint)];
      const withEvents: ExitSample[] = [];
      const polled: ExitSample[] = [];
      const made = roundsOf(options, turns);
      for (let turn = 0; turn < made; turn++) {
        withEvents.push(...(await measureExits(ground, turn, sources)));
        polled.push(...(await measureExits(ground, turn, [])));
        note(`turn ${turn + 1} of ${made} done`);
      }
      return report(withEvents, polled);
    }),
};

/** Milliseconds after the end that the runtime noted. */
interface ExitSample {
  readonly inStatusMs: number;
  /** The runtime has cleaned up; from now on, and not before, it lists the container as exited. */
  readonly inRuntimeMs: number;
}

function report(withEvents: readonly ExitSample[], polled: readonly ExitSample[]): Measure[] {
  const latencies = withEvents.map(({ inStatusMs }) => inStatusMs);
  return [
    medianOf("container's end → pod status, with events", 'ms', latencies, below(100)),
    { name: 'the same, 90th percentile', unit: 'ms', value: percentile(latencies, 90) },
    medianOf(
      '… of that until the runtime lists it as exited',
      'ms',
      withEvents.map(({ inRuntimeMs }) => inRuntimeMs),
    ),
    medianOf(
      '… and from there to the pod status',
      'ms',
      withEvents.map(({ inStatusMs, inRuntimeMs }) => inStatusMs - inRuntimeMs),
    ),
    medianOf(
      "container's end → pod status, events off (polling)",
      'ms',
      polled.map(({ inStatusMs }) => inStatusMs),
    ),
  ];
}

/** One sample for each pod. */
async function measureExits(
  { cri, containerd, dir }: BenchGround,
  turn: number,
  eventSources: readonly RuntimeEventSourceFactory[],
): Promise<ExitSample[]> {
  const name = `${eventSources.length === 0 ? 'polled' : 'events'}-${turn}`;
  const manifests = join(dir, name, 'manifests');
  // A kubelet in this process shares the clock and the client with the measurement.
  const kubelet = await createKubelet({
    nodeName: 'bench',
    runtime: cri,
    runtimeEndsCalls: true,
    rootDir: join(dir, name, 'root'),
    config: {
      staticPodPath: manifests,
      podLogsDir: join(dir, name, 'logs', 'pods'),
      cgroupRoot: containerd.cgroupParent,
    },
    eventSources,
  });
  const pods = idlePods(podsPerTurn, 'Never');
  showManifests(manifests, pods);
  const failed = kubelet.start();
  const deletions = new Deletions(containerd.endpoint);
  try {
    await Promise.race([
      untilRunning(cri, pods.length, () => kubelet.blockers().join('; ')),
      failure(failed),
    ]);
    await sleep(settleMs);
    const { containers } = await cri.listContainers({});
    const samples: ExitSample[] = [];
    for (const [index, { id, labels }] of containers.entries()) {
      await sleep(pausesMs[turn * podsPerTurn + index]);
      samples.push(await measureExit({ kubelet, cri, deletions }, id, labels[criLabels.podUid] ?? ''));
    }
    return samples;
  } finally {
    await kubelet.stop();
    await deletions.stop();
    clearManifests(manifests);
    await removeAllPods(cri);
  }
}

async function failure(failed: Promise<Error>): Promise<never> {
  throw await failed;
}

/** Follows when the runtime was done with each container that ended. */
class Deletions {
  readonly #atMs = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #followed: Promise<void>;

  constructor(endpoint: string) {
    this.#followed = this.#follow(endpoint);
    // Whoever misses a deletion fails with it.
    this.#followed.catch(() => undefined);
  }

  async #follow(endpoint: string): Promise<void> {
    for await (const event of subscribeContainerdEvents({ endpoint, signal: this.#stop.signal })) {
      if (event.topic === '/tasks/delete') this.#atMs.set(event.containerId, Number(event.timestamp) / 1e6);
    }
  }

  of(containerId: string): number {
    const atMs = this.#atMs.get(containerId);
    if (atMs === undefined) throw new Error(`containerd did not tell of the end of ${containerId}`);
    return atMs;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#followed.catch(() => undefined);
  }
}

async function measureExit(
  {
    kubelet,
    cri,
    deletions,
  }: { readonly kubelet: Kubelet; readonly cri: CriClient; readonly deletions: Deletions },
  containerId: string,
  uid: string,
): Promise<ExitSample> {
  const { info } = await cri.containerStatus({ containerId, verbose: true });
  const { pid }: { pid?: unknown } = JSON.parse(info.info ?? '{}');
  if (typeof pid !== 'number' || pid <= 1)
    throw new Error(`the runtime tells no process of container ${containerId}`);
  const seenAtMs = terminationSeen(kubelet, uid);
  // If the signal cannot be sent, that is the failure to tell.
  seenAtMs.catch(() => undefined);
  signalProcess(pid, 'SIGKILL');
  const seenMs = await seenAtMs;
  const { status } = await cri.containerStatus({ containerId });
  if (status === undefined || status.finishedAt === 0n)
    throw new Error(`container ${containerId} has no end`);
  const finishedMs = Number(status.finishedAt) / 1e6;
  return { inStatusMs: seenMs - finishedMs, inRuntimeMs: deletions.of(containerId) - finishedMs };
}

/** The moment at which the pod's status first tells that its container has ended. */
function terminationSeen(kubelet: Kubelet, uid: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop();
      reject(new Error(`the end of pod ${uid} was not seen within ${statusTimeoutMs} ms`));
    }, statusTimeoutMs);
    const stop = kubelet.onStatus((change) => {
      if (change.uid !== uid || !hasEnded(change.status)) return;
      const seenMs = Date.now();
      clearTimeout(timer);
      stop();
      resolve(seenMs);
    });
  });
}

function hasEnded({ containerStatuses = [] }: PodStatus): boolean {
  return containerStatuses.some(({ state }) => state?.terminated !== undefined);
}
