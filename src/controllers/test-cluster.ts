/** A simulated API with the controllers and a node that starts and stops pods, for tests. */
import { settle, sleep, VirtualClock } from '../async/index.js';
import { formatTimestamp, type KubeObject, type Pod } from '../kube/index.js';
import { SimulatedKubeApi } from '../kube-api/index.js';
import { isNotFound, isUnreachable, type Resource, resources } from '../kube-client/index.js';
import { Timeline } from '../timeline/index.js';
import { type ControllersOptions, createControllers } from './create-controllers.js';

export interface TestClusterOptions {
  /** What becomes of a pod that the node has started. Default: it runs and is ready. */
  readonly fate?: (pod: Pod) => 'ready' | 'running' | 'pending' | 'succeeded' | 'failed';
  readonly startMs?: number;
  readonly stopMs?: number;
  readonly options?: Partial<ControllersOptions>;
}

export const testNodeName = 'node';

export class TestCluster {
  readonly clock = new VirtualClock();
  readonly api = new SimulatedKubeApi({ clock: this.clock });
  readonly timeline = new Timeline({ clock: this.clock });
  readonly #options: TestClusterOptions;
  readonly #controller = new AbortController();
  #running: Promise<void>[] = [];

  constructor(options: TestClusterOptions = {}) {
    this.#options = options;
  }

  static async started(options: TestClusterOptions = {}): Promise<TestCluster> {
    const cluster = new TestCluster(options);
    await cluster.start();
    return cluster;
  }

  async start(): Promise<void> {
    await this.api.create(resources.nodes, testNodeObject());
    for (const name of ['default', 'kube-system'])
      await this.api.create(resources.namespaces, { metadata: { name } });
    const { api, clock, timeline } = this;
    const controllers = createControllers({
      api,
      clock,
      timeline,
      nodeName: testNodeName,
      rootCa: 'ROOT',
      ...this.#options.options,
    });
    const { signal } = this.#controller;
    this.#running = [controllers.run(signal), this.#followPods(signal)];
    await this.settle();
  }

  async stop(): Promise<void> {
    this.#controller.abort();
    await Promise.allSettled(this.#running);
    for (const ended of this.#running) await ended.catch((error) => ignoreAbort(error));
  }

  /** Lets everything that is due now happen. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn++) await settle();
  }

  async advance(ms: number): Promise<void> {
    await this.settle();
    await this.clock.advance(ms);
    await this.settle();
  }

  async list<T extends KubeObject>(resource: Resource<T>, namespace = 'default'): Promise<T[]> {
    const { items } = await this.api.list(resource, resource.namespaced ? { namespace } : {});
    return items;
  }

  get<T extends KubeObject>(resource: Resource<T>, name: string, namespace = 'default'): Promise<T> {
    return this.api.get(resource, resource.namespaced ? { namespace, name } : { name });
  }

  /** The reasons and messages of the events about the object, in order. */
  async events(name: string): Promise<string[]> {
    const all = await this.api.list(resources.events);
    return all.items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason, message, count }) => `${reason}: ${message}${(count ?? 1) > 1 ? ` (×${count})` : ''}`);
  }

  async #followPods(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#watchPods(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!isUnreachable(error)) throw error;
        await sleep(this.clock, 1000, signal);
      }
    }
  }

  async #watchPods(signal: AbortSignal): Promise<void> {
    const { startMs = 100, stopMs = 100 } = this.#options;
    for await (const event of this.api.watch(resources.pods, { signal, timeoutSeconds: 1_000_000 })) {
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
      const pod = event.object;
      if (pod.metadata.deletionTimestamp !== undefined) {
        this.clock.setTimer(stopMs, () => void this.#remove(pod).catch(() => undefined));
      } else if (pod.spec.nodeName === testNodeName && pod.status?.startTime === undefined) {
        this.clock.setTimer(startMs, () => void this.#begin(pod).catch(() => undefined));
      }
    }
  }

  async #begin(pod: Pod): Promise<void> {
    const fate = this.#options.fate?.(pod) ?? 'ready';
    if (fate === 'pending') return;
    await this.setPod(pod, fate);
  }

  async setPod(pod: Pod, fate: 'ready' | 'running' | 'succeeded' | 'failed', exitCode = 1): Promise<void> {
    const current = await this.api.get(resources.pods, pod.metadata);
    if (current.metadata.uid !== pod.metadata.uid) return;
    const now = formatTimestamp(this.clock.now());
    const phase = { ready: 'Running', running: 'Running', succeeded: 'Succeeded', failed: 'Failed' } as const;
    const ready = { type: 'Ready', status: fate === 'ready' ? 'True' : 'False', lastTransitionTime: now };
    const finished = {
      exitCode: fate === 'failed' ? exitCode : 0,
      startedAt: now,
      finishedAt: now,
    };
    const isOver = fate === 'succeeded' || fate === 'failed';
    const body = {
      status: {
        phase: phase[fate],
        startTime: now,
        conditions: [ready],
        containerStatuses: pod.spec.containers.map(({ name }) => ({
          name,
          ready: fate === 'ready',
          restartCount: 0,
          image: 'i',
          imageID: 'i',
          state: isOver ? { terminated: finished } : { running: { startedAt: now } },
        })),
      },
    };
    await this.api.patch(
      resources.pods,
      pod.metadata,
      { type: 'strategic', body },
      { subresource: 'status' },
    );
  }

  async #remove(pod: Pod): Promise<void> {
    const current = await this.api.get(resources.pods, pod.metadata);
    if (current.metadata.uid !== pod.metadata.uid) return;
    await this.api.delete(resources.pods, pod.metadata, { gracePeriodSeconds: 0 });
  }
}

function ignoreAbort(error: unknown): void {
  if (error instanceof Error && error.name === 'Cancelled') return;
  if (isNotFound(error)) return;
  throw error;
}

function testNodeObject(): KubeObject & { status: object } {
  return {
    metadata: {
      name: testNodeName,
      labels: { 'kubernetes.io/hostname': testNodeName, 'kubernetes.io/os': 'linux' },
    },
    status: {
      allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };
}

/** A template of pods with this label. */
export function testTemplate(app: string, image = 'image:1') {
  return { metadata: { labels: { app } }, spec: { containers: [{ name: 'main', image }] } };
}

export function testDeployment(name: string, replicas: number, image = 'image:1') {
  return {
    metadata: { name, namespace: 'default', generation: 1 },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: testTemplate(name, image) },
  };
}
