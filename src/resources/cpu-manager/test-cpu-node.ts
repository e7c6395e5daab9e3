/** A node with a CPU manager for tests: pods as short texts, a simulated disk, and a machine of any shape. */
import { VirtualClock } from '../../async/index.js';
import { DurableFiles, type SimulatedHost, simulatedHost } from '../../host/index.js';
import { type Container, CpuSet, type Pod, type PodSpec } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import type { MachineTopology } from '../machine-topology/index.js';
import { createAlignmentMetrics, createPodLevelMetrics, type NumaMask } from '../topology-manager/index.js';
import { CpuManager } from './cpu-manager.js';
import { createCpuManagerMetrics } from './metrics.js';
import { checkSocketAlignment, readStaticPolicyOptions, refuseOptions } from './policy-options.js';
import type { RunningCpus } from './start-state.js';
import { CpuStateFile } from './state-file.js';
import { createStaticPolicy } from './static-policy.js';

export const statePath = '/var/lib/kubelet/cpu_manager_state';

export interface TestCpuNodeOptions {
  readonly machine: MachineTopology;
  readonly policy?: 'none' | 'static';
  readonly options?: Readonly<Record<string, string>>;
  readonly alpha?: boolean;
  readonly reservedMillis?: number;
  readonly reservedCpus?: string;
  readonly podLevel?: boolean;
  readonly hasBaselines?: boolean;
  readonly host?: SimulatedHost;
  readonly running?: readonly RunningCpus[];
}

/** `app=2` is an app container of 2 CPUs, `init:a=2` an ordinary init container, `sidecar:a=2` a sidecar. */
export function cpuPod(uid: string, containers: string, spec: Partial<PodSpec> = {}): Pod {
  const read = containers.split(' ').map((text) => {
    const [, kind = 'app', name = '', cpu = ''] = /^(?:(init|sidecar):)?(\w+)=(\S+)$/.exec(text) ?? [];
    const amounts = { cpu, memory: '1Gi' };
    const container: Container = {
      name,
      image: 'i',
      resources: cpu === '-' ? {} : { requests: amounts, limits: amounts },
      ...(kind === 'sidecar' ? { restartPolicy: 'Always' as const } : {}),
    };
    return { kind, container };
  });
  const of = (isApp: boolean): Container[] =>
    read.filter(({ kind }) => (kind === 'app') === isApp).map(({ container }) => container);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: of(true), initContainers: of(false), ...spec },
  } as Pod;
}

/** Resources of a pod as a whole. */
export function podLevel(cpu: string): Partial<PodSpec> {
  const amounts = { cpu, memory: '4Gi' };
  return { resources: { requests: amounts, limits: amounts } };
}

export async function testCpuNode(given: TestCpuNodeOptions) {
  const { machine, options = {}, reservedMillis = 500, podLevel = false, hasBaselines = false } = given;
  const host = given.host ?? simulatedHost();
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const entries: TimelineEntry[] = [];
  timeline.subscribe((entry) => entries.push(entry));
  const registry = new Registry();
  const observer = { setAside: () => {}, failing: () => {}, recovered: () => {} };
  const store = new DurableFiles({ files: host.files, clock, observer });
  let policy: ReturnType<typeof createStaticPolicy> | undefined;
  if (given.policy === 'none') refuseOptions(options);
  else {
    const read = readStaticPolicyOptions(options, { alphaOptions: given.alpha ?? true, betaOptions: true });
    policy = createStaticPolicy(machine, read, {
      milliCpus: reservedMillis,
      cpus: CpuSet.parse(given.reservedCpus ?? ''),
    });
    checkSocketAlignment(read, policy.topology, 'none');
  }
  const active = new Map<string, Pod>();
  let sourcesReady = true;
  /** Pods that are not active but whose containers run. */
  const stopping = new Set<string>();
  let poolChanges = 0;
  const rootDir = '/var/lib/kubelet';
  const manager = new CpuManager({
    policy,
    podLevel,
    hasBaselines,
    file: new CpuStateFile({ rootDir, store, timeline, nodeName: 'n', policy, podLevel, hasBaselines }),
    pods: {
      allSourcesReady: () => sourcesReady,
      activePod: (uid) => active.get(uid),
      mayRun: (uid) => stopping.has(uid),
    },
    timeline,
    metrics: createCpuManagerMetrics(registry),
    alignment: createAlignmentMetrics(registry),
    podLevelMetrics: podLevel ? createPodLevelMetrics(registry) : undefined,
    onPoolChanged: () => poolChanges++,
  });
  const { awaitsUnbinding } = await manager.start(async () => given.running ?? []);
  // Nothing runs here that could be bound.
  if (awaitsUnbinding) manager.unbound();
  return {
    manager,
    host,
    clock,
    entries,
    registry,
    active,
    stopping,
    policy,
    get poolChanges() {
      return poolChanges;
    },
    set sourcesReady(ready: boolean) {
      sourcesReady = ready;
    },
    /** Admits all containers of a pod; `allocated`, or why not. */
    admit(pod: Pod, mask?: NumaMask): string {
      const hint = { mask, preferred: true };
      for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
        const outcome = manager.allocate(pod, container, hint);
        if (outcome.kind === 'refused') {
          manager.admissionEnded(pod.metadata.uid);
          return `${outcome.reason ?? 'UnexpectedAdmissionError'}: ${outcome.message}`;
        }
      }
      active.set(pod.metadata.uid, pod);
      manager.admissionEnded(pod.metadata.uid);
      return 'allocated';
    },
    cpus: (uid: string, container: string): string => String(manager.cpusOf(uid, container)),
    get shared(): string {
      return String(manager.state.defaultCpuSet);
    },
    async file(): Promise<string> {
      await manager.written();
      return new TextDecoder().decode(await host.files.readFile(statePath));
    },
    events: (): readonly string[] =>
      entries.filter(({ event }) => event !== undefined).map(({ message }) => message),
  };
}
