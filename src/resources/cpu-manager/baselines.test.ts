/** What containers were first given is recorded, and a resize takes none of it away. */
import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import { CpuSet } from '../../kube/index.js';
import { ht8 } from '../machine-topology/test-machines.js';
import { formatCpuCheckpoint, parseCpuCheckpoint } from './cpu-checkpoint.js';
import {
  baselineSize,
  type CpuEntries,
  type CpuState,
  emptyCpuState,
  withBaselines,
  withEntry,
  withoutEntry,
} from './cpu-state.js';
import { cpuPod, statePath, type TestCpuNodeOptions, testCpuNode } from './test-cpu-node.js';

/** `p/c=1,5` */
const sets = (...texts: string[]): CpuEntries => {
  const all = new Map<string, Map<string, CpuSet>>();
  for (const text of texts) {
    const [, pod = '', container = '', cpus = ''] = /^(\w+)\/(\w+)=(.*)$/.exec(text) ?? [];
    all.set(pod, new Map(all.get(pod)).set(container, CpuSet.parse(cpus)));
  }
  return all;
};
const shown = (entries: CpuEntries | undefined): string[] | undefined =>
  entries &&
  [...entries].flatMap(([pod, containers]) =>
    [...containers].map(([name, cpus]) => `${pod}/${name}=${cpus}`),
  );
const cpus = (text: string): CpuSet => CpuSet.parse(text);
const following = (entries: CpuEntries = new Map(), baselines: CpuEntries = new Map()): CpuState => ({
  ...emptyCpuState,
  defaultCpuSet: cpus('0-7'),
  entries,
  baselines,
});

describe('a baseline', () => {
  it.each<[rule: string, next: CpuState, expected: string[] | undefined]>([
    ['is what a container is given', withEntry(following(), 'p', 'c', cpus('1,5')), ['p/c=1,5']],
    [
      'stays what it was first given',
      withEntry(withEntry(following(), 'p', 'c', cpus('1,5')), 'p', 'c', cpus('2')),
      ['p/c=1,5'],
    ],
    [
      'goes with the container, and no other does',
      withoutEntry(following(sets('p/c=1', 'p/d=2', 'q/c=3'), sets('p/c=1', 'p/d=2', 'q/c=3')), 'p', 'c'),
      ['p/d=2', 'q/c=3'],
    ],
    ['goes with its pod', withoutEntry(following(sets('p/c=1'), sets('p/c=1')), 'p', 'c'), []],
    [
      'is not recorded while the gate is off',
      withEntry({ ...following(), baselines: undefined }, 'p', 'c', cpus('1')),
      undefined,
    ],
    [
      'of a container without CPUs is dropped at the start',
      withBaselines(following(sets('p/c=1')), sets('p/c=1', 'p/x=2', 'q/c=3'), { isComplete: true }),
      ['p/c=1'],
    ],
    [
      'that no file tells is what the container has',
      withBaselines(following(sets('p/c=1', 'p/d=2-3')), sets('p/d=2'), { isComplete: true }),
      ['p/c=1', 'p/d=2'],
    ],
    [
      'of what was found to run is not known',
      withBaselines(following(sets('p/c=1', 'p/d=2')), sets('p/d=2'), { isComplete: false }),
      ['p/d=2'],
    ],
  ])('%s', (_rule, next, expected) => {
    expect(shown(next.baselines)).toEqual(expected);
  });

  it.each<
    [rule: string, entries: CpuEntries, baselines: CpuEntries | undefined, expected: number | undefined]
  >([
    ['it has all of it', sets('p/c=1,5'), sets('p/c=1,5'), 2],
    ['it has something else', sets('p/c=1,5'), sets('p/c=1'), undefined],
    ['it has nothing', sets(), sets('p/c=1'), undefined],
    ['nothing is known', sets('p/c=1'), sets(), undefined],
    ['the gate is off', sets('p/c=1'), undefined, undefined],
  ])('tells what a container keeps: %s', (_rule, entries, baselines, expected) => {
    expect(baselineSize({ ...following(entries), baselines }, 'p', 'c')).toBe(expected);
  });
});

describe('the file', () => {
  const written = formatCpuCheckpoint({
    policyName: 'static',
    state: {
      ...following(sets('p1/c1=1,5'), sets('q/b=2', 'p1/c1=1,5', 'q/a=3')),
      defaultCpuSet: cpus('0,2-4,6-7'),
    },
  });

  it('has baselines in its data, sorted, and the old part without them', () => {
    const { data, ...outer } = JSON.parse(written);
    expect(JSON.parse(data).baselines).toEqual({
      p1: { c1: { baseline: '1,5' } },
      q: { a: { baseline: '3' }, b: { baseline: '2' } },
    });
    expect(
      data.endsWith(
        '"baselines":{"p1":{"c1":{"baseline":"1,5"}},"q":{"a":{"baseline":"3"},"b":{"baseline":"2"}}}}',
      ),
    ).toBe(true);
    expect(Object.keys(outer)).toEqual([
      'policyName',
      'defaultCpuSet',
      'entries',
      'checksum',
      'dataChecksum',
    ]);
    expect(outer.checksum, 'that of the same state without baselines').toBe(3836207222);
  });

  it('has none while there are none', () => {
    const text = formatCpuCheckpoint({ policyName: 'static', state: following() });
    expect(text).toBe(
      formatCpuCheckpoint({ policyName: 'static', state: { ...following(), baselines: undefined } }),
    );
  });

  it('is read as it was written; without the gate nobody looks at them', () => {
    const read = (readsBaselines: boolean) =>
      parseCpuCheckpoint(written, { readsV2Names: true, readsBaselines }).state.baselines;
    expect(shown(read(true))).toEqual(['p1/c1=1,5', 'q/a=3', 'q/b=2']);
    expect(read(false)).toBeUndefined();
  });

  it.each([
    [
      'a set that is none',
      { p: { c: { baseline: '3-1' } } },
      'could not parse baseline cpuset "3-1" for container "c" in pod "p"',
    ],
    [
      'a list',
      { p: [] },
      'could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data: a field has a wrong type',
    ],
  ])('with %s is refused, but not while the gate is off', async (_rule, baselines, message) => {
    const data = JSON.stringify({ policyName: 'static', defaultCpuSet: '0-7', baselines });
    const { fnv32a } = await import('../../kube/index.js');
    const dataChecksum = fnv32a(new TextEncoder().encode(`(string)${data}`));
    const text = JSON.stringify({
      policyName: 'static',
      defaultCpuSet: '0-7',
      checksum: 0,
      data,
      dataChecksum,
    });
    const read = (readsBaselines: boolean) =>
      parseCpuCheckpoint(text, { readsV2Names: true, readsBaselines });
    expect(() => read(true)).toThrow(message);
    expect(() => read(false)).not.toThrow();
  });
});

describe('a container that is resized', () => {
  const start = (more: Partial<TestCpuNodeOptions> = {}) =>
    testCpuNode({ machine: ht8, hasBaselines: true, ...more });
  const baselinesIn = (file: string): unknown => JSON.parse(JSON.parse(file).data).baselines;

  it('has its baseline on disk as long as it has its CPUs', async () => {
    const node = await start();
    expect(node.admit(cpuPod('p', 'app=2'))).toBe('allocated');
    expect(baselinesIn(await node.file())).toEqual({ p: { app: { baseline: node.cpus('p', 'app') } } });
    node.active.clear();
    node.manager.removeStale();
    expect(baselinesIn(await node.file())).toBeUndefined();
  });

  it.each([
    ['to more', 'app=3'],
    ['to fewer', 'app=1'],
    ['to a part of a CPU', 'app=1500m'],
  ])('%s keeps its CPUs, without a quota, also after a restart', async (_rule, resized) => {
    const node = await start();
    node.admit(cpuPod('p', 'app=2'));
    const before = node.cpus('p', 'app');
    const pod = cpuPod('p', resized);
    const [app] = pod.spec.containers;
    node.active.set('p', pod);
    expect(node.manager.hasExclusiveCpus(pod, app!)).toBe(true);
    expect(node.manager.hasExclusiveCpus(pod)).toBe(true);
    await node.manager.stop();

    const next = await start({ host: node.host });
    const hints = [next.manager.containerHints(pod, app!), next.manager.podHints(pod)];
    expect(
      hints.map((hint) => hint?.get('cpu')),
      'exactly its CPUs',
    ).toEqual([[{ mask: 1, preferred: true }], [{ mask: 1, preferred: true }]]);
    expect(next.admit(pod)).toBe('allocated');
    expect(next.cpus('p', 'app')).toBe(before);
    expect(next.manager.hasExclusiveCpus(pod, app!)).toBe(true);
  });

  it('is asked again for its CPUs while the gate is off', async () => {
    const node = await start({ hasBaselines: false });
    node.admit(cpuPod('p', 'app=2'));
    const pod = cpuPod('p', 'app=3');
    expect(node.manager.containerHints(pod, pod.spec.containers[0]!)?.get('cpu')).toEqual([]);
    expect(baselinesIn(await node.file())).toBeUndefined();
  });

  it('has its baseline from a file that has none yet, and loses it with the gate', async () => {
    const without = await start({ hasBaselines: false });
    without.admit(cpuPod('p', 'app=2'));
    await without.manager.stop();
    const first = await start({ host: without.host });
    expect(baselinesIn(await first.file())).toEqual({ p: { app: { baseline: first.cpus('p', 'app') } } });
    await first.manager.stop();
    const last = await start({ host: first.host, hasBaselines: false });
    expect(baselinesIn(await last.file())).toBeUndefined();
    expect(last.cpus('p', 'app')).toBe(first.cpus('p', 'app'));
  });

  it('has its baseline again after the file was lost, once its pod asks for as many CPUs', async () => {
    const host = simulatedHost();
    await host.files.mkdir('/var/lib/kubelet', { recursive: true });
    await host.files.writeFile(statePath, '{"broken');
    const running = ['p', 'q'].map((podUid, at) => ({
      podUid,
      container: 'app',
      cpus: cpus(at === 0 ? '1,5' : '2,6'),
    }));
    const node = await start({ host, running });
    expect(baselinesIn(await node.file())).toBeUndefined();
    node.active.set('p', cpuPod('p', 'app=2'));
    node.active.set('q', cpuPod('q', 'app=3'));
    node.manager.removeStale();
    expect(baselinesIn(await node.file())).toEqual({ p: { app: { baseline: '1,5' } } });
    expect(node.cpus('q', 'app'), 'it asks for another number').toBe(node.shared);
  });
});
