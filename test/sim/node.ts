/** A simulated node for scenarios: a whole kubelet on a simulated runtime, with time that the test owns. */
import { expect } from 'vitest';
import { Channel, settle, type VirtualClock } from '../../src/async/index.js';
import type { CriRuntime } from '../../src/cri/index.js';
import type { ContainerStatus, Pod, PodStatus } from '../../src/kube/index.js';
import { createKubelet, type Kubelet, type KubeletOptions } from '../../src/kubelet/index.js';
import type { SourceName } from '../../src/pods/index.js';
import { filelessPodConfigs } from '../../src/runtime-manager/config/index.js';
import { criEvents } from '../../src/runtime-manager/pleg/index.js';
import type { SimRuntimeOptions } from '../../src/runtimes/sim/index.js';
import { Timeline, type TimelineEntry } from '../../src/timeline/index.js';
import { Machine } from './machine.js';
import { nodeName } from './node-name.js';
import { type Cut, RuntimeLine } from './runtime-line.js';
import { seededRandom } from './seeded-random.js';

export { nodeName };
export const second = 1_000;
export const minute = 60_000;

/** What kubelets are told of their machine. */
export const hostFacts = {
  memoryCapacityBytes: 8 * 1024 ** 3,
  swapCapacityBytes: 0,
  isSwapControllerAvailable: false,
  hugePageSizes: [],
  cgroupVersion: 2,
  isCpuQuotaAvailable: true,
  thermalThrottlePaths: [],
  isSelinuxEnabled: false,
  isAppArmorEnabled: false,
} as const;

export interface NodeOptions {
  /** Default: a new one. */
  readonly machine?: Machine;
  /** Default: `api` alone. */
  readonly sources?: readonly SourceName[];
  /** Whether the kubelet follows the runtime's events or polls; default: follows. */
  readonly events?: boolean;
  /** Decides every jitter and every choice among events that are ready. */
  readonly seed?: number;
  /** When the kubelet dies. */
  readonly cut?: Cut;
  readonly images?: SimRuntimeOptions['images'];
  /** Puts something between the kubelet and the machine's runtime. */
  readonly through?: (machine: Machine) => CriRuntime;
  readonly kubelet?: Partial<KubeletOptions>;
  /** Makes the kubelet; default: one that belongs to no cluster. */
  readonly create?: (options: KubeletOptions) => Promise<Kubelet>;
}

const openNodes = new Set<Node>();
const openMachines = new Set<Machine>();

/** Ends all nodes of a test and holds that they left nothing behind; meant for `afterEach`. */
export async function endNodes(): Promise<void> {
  const nodes = [...openNodes];
  const machines = [...openMachines];
  openNodes.clear();
  openMachines.clear();
  for (const node of nodes) await node.stop();
  for (const machine of machines) {
    machine.close();
    await settle();
    expect([...machine.violations]).toEqual([]);
    expect(machine.eventReaders, 'open event streams').toBe(0);
    expect(machine.time.pendingTimers, 'timers left behind').toBe(0);
  }
}

export async function startNode(options: NodeOptions = {}): Promise<Node> {
  const machine = options.machine ?? new Machine({ images: options.images ?? 'any' });
  openMachines.add(machine);
  const line = new RuntimeLine(options.through?.(machine) ?? machine, machine.time, {
    cutAt: options.cut,
    afterCall: () => machine.checkNothingTwice(),
  });
  const sourceNames = options.sources ?? ['api'];
  const snapshots = new Map<SourceName, Channel<readonly Pod[]>>(
    sourceNames.map((name) => [name, new Channel<readonly Pod[]>(1000)]),
  );
  const entries: TimelineEntry[] = [];
  const timeline = new Timeline({ clock: machine.time });
  timeline.subscribe((entry) => entries.push(entry));
  const kubelet = await (options.create ?? createKubelet)({
    nodeName,
    runtime: line.runtime,
    rootDir: '/nonexistent/nodelet',
    clock: machine.time,
    timeline,
    host: hostFacts,
    podConfigs: filelessPodConfigs,
    podDirectories: false,
    // A node that takes what it is given: the capacity of the machine that the test runs on does not matter.
    node: () => undefined,
    startsAtOnce: 4,
    random: seededRandom(options.seed ?? 1),
    eventSources: options.events === false ? [] : [() => criEvents(line.runtime)],
    sources: sourceNames.map((name) => ({
      name,
      create: ({ deliver }) => ({
        async run(signal) {
          for (;;) {
            const received = await snapshots.get(name)!.receive(signal);
            if (!received.done) await deliver({ source: name, pods: received.value }, signal);
          }
        },
      }),
    })),
    ...options.kubelet,
    // Nothing is read from the machine that the test runs on: neither how full it is nor how it resolves names.
    config: { imageGCHighThresholdPercent: 100, resolvConf: '', ...options.kubelet?.config },
  });
  const node = new Node({ machine, line, kubelet, entries, snapshots });
  openNodes.add(node);
  await settle();
  return node;
}

interface NodeParts {
  readonly machine: Machine;
  readonly line: RuntimeLine;
  readonly kubelet: Kubelet;
  readonly entries: TimelineEntry[];
  readonly snapshots: ReadonlyMap<SourceName, Channel<readonly Pod[]>>;
}

export class Node {
  readonly machine: Machine;
  readonly line: RuntimeLine;
  readonly kubelet: Kubelet;
  /** All that the timeline recorded. */
  readonly entries: readonly TimelineEntry[];
  readonly #snapshots: NodeParts['snapshots'];
  readonly #desired = new Map<SourceName, Map<string, Pod>>();
  #failure: Error | undefined;

  constructor({ machine, line, kubelet, entries, snapshots }: NodeParts) {
    this.machine = machine;
    this.line = line;
    this.kubelet = kubelet;
    this.entries = entries;
    this.#snapshots = snapshots;
    kubelet.start().then(
      (error) => {
        this.#failure = error;
      },
      (error: unknown) => {
        this.#failure = error instanceof Error ? error : new Error(String(error));
      },
    );
  }

  get clock(): VirtualClock {
    return this.machine.time;
  }

  /** Sets all pods of a source. */
  set(pods: readonly Pod[], source: SourceName = 'api'): void {
    this.#desired.set(source, new Map(pods.map((pod) => [pod.metadata.name!, pod])));
    this.#deliver(source);
  }

  /** Adds a pod to its source, or replaces the one of its name. */
  put(pod: Pod, source: SourceName = 'api'): void {
    const pods = this.#desired.get(source) ?? new Map<string, Pod>();
    this.#desired.set(source, pods.set(pod.metadata.name!, pod));
    this.#deliver(source);
  }

  drop(name: string, source: SourceName = 'api'): void {
    this.#desired.get(source)?.delete(name);
    this.#deliver(source);
  }

  desired(source: SourceName = 'api'): Pod[] {
    return [...(this.#desired.get(source)?.values() ?? [])];
  }

  /** Deletes a pod as a user would, with a grace period. */
  delete(name: string, graceSeconds: number, source: SourceName = 'api'): void {
    const pod = this.#desired.get(source)?.get(name);
    if (pod === undefined) throw new Error(`there is no pod ${name}`);
    this.put(
      {
        ...pod,
        metadata: {
          ...pod.metadata,
          deletionTimestamp: new Date(this.clock.now() + graceSeconds * 1000).toISOString(),
          deletionGracePeriodSeconds: graceSeconds,
        },
      },
      source,
    );
  }

  async advance(durationMs: number): Promise<void> {
    await this.clock.advance(durationMs);
    this.#checkAlive();
  }

  async until(what: string, condition: () => boolean, limitMs = 2 * minute): Promise<void> {
    try {
      await this.clock.advanceUntil(condition, limitMs);
    } catch (cause) {
      throw new Error(`not within ${limitMs} ms: ${what}\n${this.describe()}`, { cause });
    }
    this.#checkAlive();
  }

  /** Waits until all containers of the pod are ready. */
  async untilReady(name: string, limitMs?: number): Promise<void> {
    await this.until(`pod ${name} is ready`, () => this.isReady(name), limitMs);
  }

  async untilPhase(name: string, phase: string, limitMs?: number): Promise<void> {
    await this.until(`pod ${name} is ${phase}`, () => this.status(name)?.phase === phase, limitMs);
  }

  /** Waits until nothing of the pod runs. */
  async untilStopped(name: string, limitMs?: number): Promise<void> {
    const stopped = (): boolean =>
      this.machine.running(name).length === 0 && this.machine.ready(name).length === 0;
    await this.until(`pod ${name} is stopped`, stopped, limitMs);
  }

  isReady(name: string): boolean {
    return (
      this.status(name)?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ??
      false
    );
  }

  pod(name: string): Pod | undefined {
    return this.kubelet.pods().find((pod) => pod.metadata.name === name);
  }

  status(name: string): PodStatus | undefined {
    return this.pod(name)?.status;
  }

  container(podName: string, name = 'app'): ContainerStatus | undefined {
    const status = this.status(podName);
    return [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
      (container) => container.name === name,
    );
  }

  /** Why a container waits. */
  waitingReason(podName: string, name = 'app'): string | undefined {
    return this.container(podName, name)?.state?.waiting?.reason;
  }

  /** The events about a pod, or about the node. */
  events(podName: string | undefined, reason?: string): TimelineEntry[] {
    return this.entries.filter(
      ({ event, pod }) =>
        event !== undefined && pod?.name === podName && (reason === undefined || event.reason === reason),
    );
  }

  reasons(podName: string): string[] {
    return this.events(podName).map(({ event }) => event!.reason);
  }

  recorded(what: string, podName?: string): TimelineEntry[] {
    return this.entries.filter(
      (entry) => entry.what === what && (podName === undefined || entry.pod?.name === podName),
    );
  }

  /** A sample of a metric; undefined when it was never set. */
  metric(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    for (const line of this.kubelet.registry.text().split('\n')) {
      const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (match?.[1] !== name) continue;
      const found = Object.fromEntries(
        [...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
      );
      const same = Object.entries(labels).every(([key, value]) => found[key] === value);
      if (same && Object.keys(found).length === Object.keys(labels).length) return Number(match[3]);
    }
    return undefined;
  }

  /** Stops the kubelet, which must need no time for it; containers run on. */
  async stop(): Promise<void> {
    openNodes.delete(this);
    let stopped = false;
    const stopping = this.kubelet.stop().then(() => {
      stopped = true;
    });
    await settle(8);
    // Reads of the real machine's files that are under way take real time.
    for (let turn = 0; turn < 100 && !stopped; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(stopped, 'the kubelet stops without waiting for anything').toBe(true);
    await stopping;
    this.#checkAlive();
  }

  /** The kubelet's process dies: nothing it does reaches the runtime any more. */
  async crash(): Promise<void> {
    this.line.cut();
    await this.stop();
  }

  /** What a person would want to see of a node that did not do what the test waits for. */
  describe(): string {
    const pods = this.kubelet.pods().map((pod) => `${pod.metadata.name}: ${JSON.stringify(pod.status)}`);
    const recent = this.entries
      .slice(-40)
      .map(({ timeMs, pod, what, message, because, error }) =>
        [`+${timeMs - Date.UTC(2026, 0, 1)}ms`, pod?.name, what, message, because, error].join(' | '),
      );
    return [
      ...pods,
      ...this.machine.seenSandboxes().map((seen) => JSON.stringify(seen)),
      ...this.machine.seenContainers().map((seen) => JSON.stringify(seen)),
      `blockers: ${this.kubelet.blockers().join(', ')}`,
      ...recent,
    ].join('\n');
  }

  #deliver(source: SourceName): void {
    const channel = this.#snapshots.get(source);
    if (channel === undefined) throw new Error(`the node has no source ${source}`);
    if (!channel.trySend(this.desired(source))) throw new Error('too many snapshots wait');
  }

  /** Nothing may break inside: a task that failed is a bug whatever the scenario. */
  #checkAlive(): void {
    if (this.#failure !== undefined) throw this.#failure;
    const broken = this.entries.find(({ what }) => what === 'worker.crash' || what === 'kubelet.task');
    if (broken !== undefined) throw new Error(`${broken.what}: ${broken.message}: ${broken.error}`);
  }
}
