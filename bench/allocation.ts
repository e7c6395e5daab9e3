/** What admission costs on a large machine: CPUs for 500 pods on 256 CPUs and 8 NUMA nodes, and whether that grows. */
import { systemClock } from '../src/async/index.js';
import { DurableFiles, simulatedHost } from '../src/host/index.js';
import { CpuSet, type Pod } from '../src/kube/index.js';
import {
  CpuManager,
  CpuStateFile,
  createCpuManagerMetrics,
  createStaticPolicy,
  readStaticPolicyOptions,
} from '../src/resources/cpu-manager/index.js';
import { huge256 } from '../src/resources/machine-topology/test-machines.js';
import {
  createMemoryManagerMetrics,
  MemoryManager,
  unusedMemory,
} from '../src/resources/memory-manager/index.js';
import {
  createAligningPolicy,
  createAlignmentMetrics,
  createTopologyManagerMetrics,
  TopologyManager,
} from '../src/resources/topology-manager/index.js';
import { Timeline } from '../src/timeline/index.js';
import { atMost, type Bench, type Measure, medianOf, roundsOf } from './measure.js';

const podCount = 500;
const window = 100;
const ratedRounds = 7;
/** Exclusive pods that are there at a time, of two CPUs each; the others share. */
const exclusivePods = 120;

/** The most telling sets of options: each takes CPUs in another way. */
const variants: readonly (readonly [name: string, options: Readonly<Record<string, string>>])[] = [
  ['packed', {}],
  ['by cache', { 'prefer-align-cpus-by-uncorecache': 'true' }],
  ['across NUMA nodes', { 'distribute-cpus-across-numa': 'true' }],
];
/** Containers of one pod with CPUs and memory of their own, and how many more make the cost show that grows. */
const fewContainers = 20;
const manyContainers = 200;

export const allocation: Bench = {
  name: 'allocation',
  summary: `admission of ${podCount} pods with CPUs and memory of their own on 256 CPUs and 8 NUMA nodes`,
  async run({ options }) {
    const rounds = roundsOf(options, ratedRounds);
    const measures: Measure[] = [];
    for (const [name, policyOptions] of variants) {
      const early: number[] = [];
      const late: number[] = [];
      // The first round compiles.
      for (let round = -1; round < rounds; round++) {
        const costs = await admitAll(policyOptions);
        if (round < 0) continue;
        early.push(costs.at(0) ?? 0);
        late.push(costs.at(-1) ?? 0);
      }
      measures.push(
        medianOf(`CPU of an admission, ${name}, the first ${window}`, 'µs', early),
        medianOf(
          `CPU of an admission, ${name}, the last ${window} of ${podCount}`,
          'µs',
          late,
          atMost(2_000),
        ),
      );
    }
    const growth: number[] = [];
    for (let round = -1; round < rounds; round++) {
      const few = await admitOne(fewContainers);
      const many = await admitOne(manyContainers);
      if (round >= 0) growth.push(many / few);
    }
    const what = `CPU per container of one pod: ${manyContainers} containers / ${fewContainers}`;
    return [...measures, medianOf(what, 'ratio', growth, atMost(2))];
  },
};

interface BenchNode {
  readonly cpus: CpuManager;
  readonly memory: MemoryManager;
  readonly manager: TopologyManager;
}

/** The managers of CPUs, memory and NUMA nodes, with their files. */
async function startManagers(
  policyOptions: Readonly<Record<string, string>>,
  active: ReadonlyMap<string, Pod>,
): Promise<BenchNode> {
  const host = simulatedHost();
  const timeline = new Timeline();
  const observer = { setAside: () => {}, failing: () => {}, recovered: () => {} };
  const store = new DurableFiles({ files: host.files, clock: systemClock, observer });
  const rootDir = '/var/lib/kubelet';
  const policy = createStaticPolicy(
    huge256,
    readStaticPolicyOptions(policyOptions, { alphaOptions: true, betaOptions: true }),
    { milliCpus: 4000, cpus: CpuSet.empty },
  );
  const cpus = new CpuManager({
    policy,
    podLevel: false,
    file: new CpuStateFile({ rootDir, store, timeline, nodeName: 'n', policy, podLevel: false }),
    pods: { allSourcesReady: () => true, activePod: (uid) => active.get(uid), mayRun: () => false },
    timeline,
    metrics: createCpuManagerMetrics(),
    alignment: createAlignmentMetrics(),
    podLevelMetrics: undefined,
  });
  await cpus.start(async () => []);
  const memory = new MemoryManager({
    policy: { name: 'Static', unused: unusedMemory(largeMachine, new Map()) },
    podLevel: undefined,
    checkpoint: { rootDir, store },
    timeline,
    nodeName: 'n',
    metrics: createMemoryManagerMetrics(),
    containers: async () => [],
  });
  await memory.start();
  const manager = new TopologyManager({
    clock: systemClock,
    policy: createAligningPolicy({ policy: 'best-effort', options: {}, machine: huge256 }),
    scope: 'container',
    providers: [cpus, memory],
    alignsPodLevel: false,
    metrics: createTopologyManagerMetrics(),
    alignment: createAlignmentMetrics(),
  });
  return { cpus, memory, manager };
}

/** The test machine has no memory. */
const largeMachine: typeof huge256 = {
  ...huge256,
  numaNodes: huge256.numaNodes.map((node) => ({ ...node, memoryBytes: 256 * 1024 ** 3 })),
};

/** The CPU of the admission of one pod per container, in µs. */
async function admitOne(containers: number): Promise<number> {
  const { cpus, memory, manager } = await startManagers({}, new Map());
  const [container] = podOf('many', '1').spec.containers;
  if (container === undefined) throw new Error('the pod has no container');
  const { metadata } = podOf('many', '1');
  const spec = {
    containers: Array.from({ length: containers }, (_, n) => ({ ...container, name: `c${n}` })),
  };
  const before = process.cpuUsage();
  const refusal = await manager.admit({ metadata, spec }, 'add', new AbortController().signal);
  const { user, system } = process.cpuUsage(before);
  if (refusal !== undefined) throw new Error(`the pod was refused: ${refusal.message}`);
  await Promise.all([cpus.stop(), memory.stop()]);
  return (user + system) / containers;
}

/**
 * The CPU of an admission in µs, of each hundred: three pods in four have two CPUs and memory of their own, and old ones
 * leave as new ones come. The files are written meanwhile.
 */
async function admitAll(policyOptions: Readonly<Record<string, string>>): Promise<number[]> {
  const active = new Map<string, Pod>();
  const { cpus, memory, manager } = await startManagers(policyOptions, active);
  const { signal } = new AbortController();
  const costs: number[] = [];
  let before = process.cpuUsage();
  const exclusive: string[] = [];
  for (let n = 0; n < podCount; n++) {
    const isExclusive = n % 4 !== 3;
    const pod = podOf(`pod-${n}`, isExclusive ? '2' : '500m');
    if (isExclusive) exclusive.push(pod.metadata.uid);
    if (exclusive.length > exclusivePods) active.delete(exclusive.shift() ?? '');
    memory.keepOnly([...active.values(), pod]);
    const refusal = await manager.admit(pod, 'add', signal);
    if (refusal !== undefined) throw new Error(`pod ${n} was refused: ${refusal.message}`);
    active.set(pod.metadata.uid, pod);
    cpus.admissionEnded(pod.metadata.uid);
    if ((n + 1) % window !== 0) continue;
    await Promise.all([cpus.written(), memory.written()]);
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / window);
    before = process.cpuUsage();
  }
  await Promise.all([cpus.stop(), memory.stop()]);
  return costs;
}

function podOf(name: string, cpu: string): Pod {
  const amounts = { cpu, memory: '1Gi' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { uid: `uid-${name}`, name, namespace: 'default' },
    spec: { containers: [{ name: 'app', image: 'i', resources: { requests: amounts, limits: amounts } }] },
  };
}
