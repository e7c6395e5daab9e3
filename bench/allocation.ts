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

export const allocation: Bench = {
  name: 'allocation',
  summary: `admission of ${podCount} pods with CPUs of their own on 256 CPUs and 8 NUMA nodes`,
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
    return measures;
  },
};

/**
 * The CPU of an admission in µs, of each hundred: three pods in four have two CPUs of their own, and old ones leave as new
 * ones come. The file is written meanwhile.
 */
async function admitAll(policyOptions: Readonly<Record<string, string>>): Promise<number[]> {
  const host = simulatedHost();
  const timeline = new Timeline();
  const observer = { setAside: () => {}, failing: () => {}, recovered: () => {} };
  const store = new DurableFiles({ files: host.files, clock: systemClock, observer });
  const policy = createStaticPolicy(
    huge256,
    readStaticPolicyOptions(policyOptions, { alphaOptions: true, betaOptions: true }),
    { milliCpus: 4000, cpus: CpuSet.empty },
  );
  const active = new Map<string, Pod>();
  const cpus = new CpuManager({
    policy,
    podLevel: false,
    file: new CpuStateFile({
      rootDir: '/var/lib/kubelet',
      store,
      timeline,
      nodeName: 'n',
      policy,
      podLevel: false,
    }),
    pods: { allSourcesReady: () => true, activePod: (uid) => active.get(uid), mayRun: () => false },
    timeline,
    metrics: createCpuManagerMetrics(),
    alignment: createAlignmentMetrics(),
    podLevelMetrics: undefined,
  });
  await cpus.start(async () => []);
  const manager = new TopologyManager({
    clock: systemClock,
    policy: createAligningPolicy({ policy: 'best-effort', options: {}, machine: huge256 }),
    scope: 'container',
    providers: [cpus],
    alignsPodLevel: false,
    metrics: createTopologyManagerMetrics(),
    alignment: createAlignmentMetrics(),
  });
  const { signal } = new AbortController();
  const costs: number[] = [];
  let before = process.cpuUsage();
  const exclusive: string[] = [];
  for (let n = 0; n < podCount; n++) {
    const isExclusive = n % 4 !== 3;
    const pod = podOf(`pod-${n}`, isExclusive ? '2' : '500m');
    if (isExclusive) exclusive.push(pod.metadata.uid);
    if (exclusive.length > exclusivePods) active.delete(exclusive.shift() ?? '');
    const refusal = await manager.admit(pod, 'add', signal);
    if (refusal !== undefined) throw new Error(`pod ${n} was refused: ${refusal.message}`);
    active.set(pod.metadata.uid, pod);
    cpus.admissionEnded(pod.metadata.uid);
    if ((n + 1) % window !== 0) continue;
    await cpus.written();
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / window);
    before = process.cpuUsage();
  }
  await cpus.stop();
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
