/** Random machines, pods and crashes: no CPU has two owners, and everything comes back. */
import { describe, expect, it } from 'vitest';
import { type SimulatedHost, simulatedHost } from '../../host/index.js';
import { CpuSet, type Pod } from '../../kube/index.js';
import type { MachineTopology } from '../machine-topology/index.js';
import { ht8, testMachine } from '../machine-topology/test-machines.js';
import { parseCpuCheckpoint } from './cpu-checkpoint.js';
import { type CpuState, exclusiveCpus } from './cpu-state.js';
import { cpuPod, statePath, testCpuNode } from './test-cpu-node.js';

/** A small generator with a seed, so that a failure can be repeated. */
function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomMachine(random: (below: number) => number): MachineTopology {
  const nodes = 1 + random(8);
  const coresPerNode = 1 + random(6);
  const threads = 1 + random(2);
  const perSocket = 1 + random(nodes);
  const perCache = 1 + random(coresPerNode);
  const cores = nodes * coresPerNode;
  const node = (core: number): number => Math.floor(core / coresPerNode);
  const offline = CpuSet.of(
    Array.from({ length: random(3) }, () => random(cores * threads)).filter((id) => id > 0),
  );
  return testMachine({
    cores,
    threads,
    node,
    socket: (core) => Math.floor(node(core) / perSocket),
    cache: (core) => node(core) * 10 + Math.floor((core % coresPerNode) / perCache),
    offline: String(offline),
  });
}

const optionSets: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'full-pcpus-only': 'true' },
  { 'prefer-align-cpus-by-uncorecache': 'true' },
  { 'prefer-align-cpus-by-uncorecache': 'true', 'full-pcpus-only': 'true' },
  { 'distribute-cpus-across-numa': 'true' },
  { 'distribute-cpus-across-numa': 'true', 'full-pcpus-only': 'true' },
  { 'distribute-cpus-across-cores': 'true' },
  { 'strict-cpu-reservation': 'true' },
];

function randomPod(random: (below: number) => number, uid: string): Pod {
  const containers = Array.from({ length: 1 + random(3) }, (_, index) => `c${index}=${1 + random(5)}`);
  const inits = Array.from(
    { length: random(3) },
    (_, index) => `${random(2) === 0 ? 'init' : 'sidecar'}:i${index}=${1 + random(5)}`,
  );
  return cpuPod(uid, [...inits, ...containers].join(' '));
}

/** Containers of one pod may share CPUs only with ordinary init containers of the same pod. */
function checkState(state: CpuState, all: CpuSet, pods: ReadonlyMap<string, Pod>): void {
  const exclusive = exclusiveCpus(state);
  expect(exclusive.intersection(state.defaultCpuSet).isEmpty).toBe(true);
  expect(String(exclusive.union(state.defaultCpuSet))).toBe(String(all));
  let seen = CpuSet.empty;
  for (const [uid, containers] of state.entries) {
    const lasting = [...containers].filter(([name]) => {
      const init = pods.get(uid)?.spec.initContainers?.find((container) => container.name === name);
      return init === undefined || init.restartPolicy === 'Always';
    });
    const sizes = lasting.reduce((sum, [, cpus]) => sum + cpus.size, 0);
    expect(CpuSet.union(lasting.map(([, cpus]) => cpus)).size).toBe(sizes);
    const ofPod = CpuSet.union(containers.values());
    expect(ofPod.intersection(seen).isEmpty).toBe(true);
    seen = seen.union(ofPod);
  }
}

describe.each(
  optionSets.map((options) => [Object.keys(options).join(' + ') || 'no option', options] as const),
)('%s', (_, options) => {
  it.each([1, 2, 3, 4, 5, 6])('seed %d', async (seed) => {
    const random = seeded(seed * 7919);
    const machine = randomMachine(random);
    if (machine.cpus.length < 2) return;
    const node = await testCpuNode({ machine, options, reservedMillis: 1000 });
    const all = node.manager.state.defaultCpuSet;
    const strict = options['strict-cpu-reservation'] === 'true';
    const pods = new Map<string, Pod>();
    for (let step = 0; step < 60; step++) {
      const leaving = [...node.active.keys()];
      if (random(3) === 0 && leaving.length > 0) node.active.delete(leaving[random(leaving.length)] ?? '');
      const pod = randomPod(random, `p${step}`);
      pods.set(pod.metadata.uid, pod);
      const masks = 2 ** machine.numaNodes.length;
      const outcome = node.admit(pod, random(2) === 0 ? undefined : 1 + random(masks - 1));
      if (outcome === 'allocated') {
        for (const { name, resources } of pod.spec.containers)
          expect(node.manager.cpusOf(pod.metadata.uid, name).size).toBe(Number(resources?.requests?.cpu));
      }
      node.manager.removeStale();
      checkState(node.manager.state, all, pods);
      if (!strict) expect(node.policy?.reserved.isSubsetOf(node.manager.state.defaultCpuSet)).toBe(true);
    }
    node.active.clear();
    node.manager.removeStale();
    expect(String(node.manager.state.defaultCpuSet)).toBe(String(all));
  });
});

describe('kill -9 between any two effects', () => {
  /** Two pods come, one goes; each waits for its file before its container would be created. */
  async function work(host: SimulatedHost): Promise<string[]> {
    const done: string[] = [];
    const node = await testCpuNode({ machine: ht8, host });
    await node.manager.written();
    for (const [uid, containers] of [
      ['p', 'c=2'],
      ['q', 'init:i=4 c=2'],
    ] as const) {
      node.admit(cpuPod(uid, containers));
      await node.manager.written();
      done.push(`${uid}=${node.cpus(uid, 'c')}`);
    }
    node.active.delete('p');
    node.manager.removeStale();
    await node.manager.written();
    return done;
  }

  it('a container that could have been created finds its CPUs again, and no file is set aside', async () => {
    for (let at = 1; ; at++) {
      const host = simulatedHost();
      host.inject({ at, when: at % 2 === 0 ? 'before' : 'after', effect: { kind: 'die' } });
      const finished = await work(host).catch(() => undefined);
      const left = simulatedHost({ machine: host.machine });
      const names = await left.files.readdir('/var/lib/kubelet').catch((): string[] => []);
      if (names.includes('cpu_manager_state')) {
        const text = new TextDecoder().decode(await left.files.readFile(statePath));
        const { state } = parseCpuCheckpoint(text, { readsV2Names: true });
        expect(String(exclusiveCpus(state).union(state.defaultCpuSet))).toBe('0-7');
      }
      const node = await testCpuNode({ machine: ht8, host: left });
      expect(node.events()).toEqual([]);
      if (finished !== undefined) {
        expect(node.cpus('q', 'c')).toBe(finished[1]?.slice(2));
        expect(at).toBeGreaterThan(8);
        break;
      }
    }
  });
});
