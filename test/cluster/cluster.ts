/** A control plane with one node for the tests of a file, and the few words they need to speak about its pods. */
import { connectCri } from '../../src/cri/index.js';
import type { ContainerStatus, Event, Pod, PodManifest, PodSpec } from '../../src/kube/index.js';
import { type KubeApi, resources } from '../../src/kube-client/index.js';
import {
  CleanupStack,
  type ClusterNode,
  type ClusterNodeOptions,
  CommandError,
  type ControlPlane,
  type ControlPlaneOptions,
  pollUntil,
  startClusterNode,
  startControlPlane,
  testImages,
} from '../env/index.js';

export const busybox = testImages.busybox;

export const shell = (script: string): string[] => ['sh', '-c', script];

/** Runs until it is told to stop, and then does so at once. */
export const forever = shell("trap 'exit 0' TERM; sleep 1000000 & wait");

/** A script first, then as `forever`. */
export const thenForever = (script: string): string[] =>
  shell(`${script}; trap 'exit 0' TERM; sleep 1000000 & wait`);

export function podManifest(name: string, spec: Partial<PodSpec> = {}, metadata: object = {}): PodManifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...metadata },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [{ name: 'app', image: busybox, command: forever }],
      ...spec,
    },
  };
}

export interface ClusterOptions {
  readonly plane?: Omit<ControlPlaneOptions, 'cleanups'>;
  readonly node?: Omit<ClusterNodeOptions, 'cleanups' | 'plane'>;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const cleanups = new CleanupStack();
  try {
    const plane = await startControlPlane({ controllers: true, scheduler: true, ...options.plane, cleanups });
    const node = await startClusterNode({ ...options.node, plane, cleanups });
    await node.ready();
    return new Cluster(plane, node, cleanups);
  } catch (error) {
    await cleanups.run();
    throw error;
  }
}

export class Cluster {
  constructor(
    readonly plane: ControlPlane,
    readonly node: ClusterNode,
    readonly cleanups: CleanupStack,
  ) {}

  get api(): KubeApi {
    return this.plane.admin;
  }

  stop(): Promise<void> {
    return this.cleanups.run();
  }

  apply(...objects: readonly object[]): Promise<void> {
    return this.plane.apply(...objects);
  }

  /** What kubectl prints. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return (await this.plane.kubectl(args)).stdout;
  }

  /** What kubectl says when it fails, as it must. */
  async kubectlFails(...args: readonly string[]): Promise<string> {
    try {
      const { stdout } = await this.plane.kubectl(args);
      throw new Error(`kubectl ${args.join(' ')} did not fail: ${stdout}`);
    } catch (error) {
      if (error instanceof CommandError) return error.stderr;
      throw error;
    }
  }

  /** One object as kubectl shows it. */
  async get<T>(kind: string, name: string): Promise<T> {
    return JSON.parse(await this.kubectl('get', kind, name, '-o', 'json'));
  }

  exec(pod: string, ...command: readonly string[]): Promise<string> {
    return this.kubectl('exec', pod, '--', ...command);
  }

  /** The variables that a process in the pod sees. */
  async environment(pod: string): Promise<Record<string, string>> {
    const lines = (await this.exec(pod, 'env')).trimEnd().split('\n');
    const split = (line: string, at: number): [string, string] => [line.slice(0, at), line.slice(at + 1)];
    return Object.fromEntries(lines.map((line) => split(line, line.indexOf('='))));
  }

  /** The names of the pod's containers that run, whatever the API says about the pod. */
  async running(pod: string): Promise<string[]> {
    const cri = connectCri({ endpoint: this.node.containerd.endpoint, requestTimeoutMs: 60_000 });
    try {
      const { containers } = await cri.listContainers({
        filter: { state: { state: 1 }, labelSelector: { 'io.kubernetes.pod.name': pod } },
      });
      return containers.map(({ metadata }) => metadata?.name ?? '').sort();
    } finally {
      await cri.close();
    }
  }

  async pods(labelSelector: string): Promise<Pod[]> {
    return (await this.api.list(resources.pods, { namespace: 'default', labelSelector })).items ?? [];
  }

  pod(name: string): Promise<Pod> {
    return this.api.get(resources.pods, podRef(name));
  }

  /** Waits until a pod is as wanted, and returns it. */
  untilPod(name: string, what: string, wanted: (pod: Pod) => boolean, timeoutMs?: number): Promise<Pod> {
    return this.plane
      .waitFor(resources.pods, podRef(name), what, wanted, timeoutMs)
      .catch((error: unknown) => {
        const lines = this.node.log.split('\n').filter((line) => line.includes(name));
        throw new Error(`${String(error)}\n${lines.slice(-30).join('\n')}`);
      });
  }

  untilReady(name: string): Promise<Pod> {
    return this.untilPod(name, 'is ready', isReady);
  }

  untilGone(name: string): Promise<void> {
    return this.plane.waitGone(resources.pods, podRef(name));
  }

  /** All that the API shows of a pod from now on to its end. */
  async untilDeleted({ metadata }: Pod): Promise<Pod[]> {
    const seen: Pod[] = [];
    const { name, resourceVersion = '' } = metadata;
    const fieldSelector = `metadata.name=${name}`;
    const watch = this.api.watch(resources.pods, { namespace: 'default', fieldSelector, resourceVersion });
    for await (const event of watch) {
      if (event.type === 'DELETED') return seen;
      if (event.type === 'MODIFIED') seen.push(event.object);
      if (event.type === 'ERROR') throw event.error;
    }
    throw new Error(`the watch of pod ${name} ended before the pod`);
  }

  delete(...names: readonly string[]): Promise<string> {
    return this.kubectl('delete', 'pod', ...names);
  }

  /** The events about an object of the default namespace, the oldest first. */
  async events(name: string): Promise<Event[]> {
    const fieldSelector = `involvedObject.name=${name}`;
    const { items } = await this.api.list(resources.events, { namespace: 'default', fieldSelector });
    return [...(items ?? [])].sort((a, b) => eventTime(a).localeCompare(eventTime(b)));
  }

  /** Waits for an event about an object, and returns it. */
  async untilEvent(
    name: string,
    reason: string,
    wanted: (event: Event) => boolean = () => true,
  ): Promise<Event> {
    let found: Event | undefined;
    await eventually(`event ${reason} about ${name}`, async () => {
      found = (await this.events(name)).find((event) => event.reason === reason && wanted(event));
      return found !== undefined;
    });
    if (found === undefined) throw new Error('unreachable: it was found');
    return found;
  }
}

function podRef(name: string): { readonly namespace: string; readonly name: string } {
  return { namespace: 'default', name };
}

function eventTime(event: Event): string {
  return event.firstTimestamp ?? event.eventTime ?? '';
}

export async function eventually(
  what: string,
  condition: () => Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  await pollUntil(what, async () => ((await condition()) ? true : undefined), { timeoutMs, intervalMs: 100 });
}

export function condition(pod: Pod, type: string): string | undefined {
  return pod.status?.conditions?.find((found) => found.type === type)?.status;
}

export function isReady(pod: Pod): boolean {
  return condition(pod, 'Ready') === 'True';
}

export function phaseIs(phase: string): (pod: Pod) => boolean {
  return ({ status }) => status?.phase === phase;
}

/** The status of a container of whatever kind. */
export function container(pod: Pod, name = 'app'): ContainerStatus {
  const {
    containerStatuses = [],
    initContainerStatuses = [],
    ephemeralContainerStatuses = [],
  } = pod.status ?? {};
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  const found = all.find((status) => status.name === name);
  if (found === undefined) throw new Error(`pod ${pod.metadata.name} shows no container ${name}`);
  return found;
}

export function waitingReason(pod: Pod, name = 'app'): string | undefined {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.find((status) => status.name === name)?.state?.waiting?.reason;
}
