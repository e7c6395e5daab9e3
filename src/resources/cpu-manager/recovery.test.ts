/** The state file at the start: used as it is, or set aside and made anew from what runs. */
import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import { CpuSet } from '../../kube/index.js';
import { ht8, testMachine } from '../machine-topology/test-machines.js';
import { formatCpuCheckpoint } from './cpu-checkpoint.js';
import type { RunningCpus } from './start-state.js';
import { cpuPod, statePath, type TestCpuNodeOptions, testCpuNode } from './test-cpu-node.js';

function fileOf(
  defaultCpuSet: string,
  entries: Readonly<Record<string, string>> = {},
  policyName = 'static',
): string {
  const pods = new Map<string, Map<string, CpuSet>>();
  for (const [place, cpus] of Object.entries(entries)) {
    const [pod = '', container = ''] = place.split('/');
    pods.set(pod, new Map(pods.get(pod)).set(container, CpuSet.parse(cpus)));
  }
  const state = { defaultCpuSet: CpuSet.parse(defaultCpuSet), entries: pods, podEntries: new Map() };
  return formatCpuCheckpoint({ policyName, state });
}

async function startWith(text: string, options: Partial<TestCpuNodeOptions> = {}) {
  const host = simulatedHost();
  await host.files.mkdir('/var/lib/kubelet', { recursive: true });
  await host.files.writeFile(statePath, text);
  const node = await testCpuNode({ machine: ht8, ...options, host });
  const aside = (await host.files.readdir('/var/lib/kubelet')).filter((name) => name.includes('.corrupt-'));
  return { ...node, node, aside };
}

const running = (...texts: string[]): RunningCpus[] =>
  texts.map((text) => {
    const [place = '', cpus] = text.split('=');
    const [podUid = '', container = ''] = place.split('/');
    return { podUid, container, cpus: cpus === undefined ? undefined : CpuSet.parse(cpus) };
  });

describe('a file that fits', () => {
  it('is written where there is none, as the reference writes it', async () => {
    const node = await testCpuNode({ machine: ht8 });
    expect(JSON.parse(await node.file())).toMatchObject({ checksum: 14413152, dataChecksum: 3294586087 });
    const none = await testCpuNode({ machine: ht8, policy: 'none' });
    expect(await none.file()).toBe(
      '{"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{\\"policyName\\":\\"none\\",\\"defaultCpuSet\\":\\"\\"}","dataChecksum":3028111495}',
    );
  });

  it('is used, and nobody is told', async () => {
    const { node, aside, cpus } = await startWith(fileOf('0,2-4,6-7', { 'p/c': '1,5' }));
    expect([cpus('p', 'c'), cpus('p', 'x')]).toEqual(['1,5', '0,2-4,6-7']);
    expect([aside, node.events()]).toEqual([[], []]);
  });

  it('of an older kubelet is used, and written in the newest format', async () => {
    const entries = { pod: { container1: '4-6', container2: '1-3' } };
    const old = { policyName: 'static', defaultCpuSet: '0,7-9', entries, checksum: 0 };
    const machine = testMachine({ cores: 10 });
    const { node, aside, cpus } = await startWith(JSON.stringify(old), { machine });
    expect([cpus('pod', 'container1'), aside]).toEqual(['4-6', []]);
    expect(JSON.parse(await node.file()).dataChecksum).toBeGreaterThan(0);
  });

  it('without anything in it is as none', async () => {
    expect((await startWith(fileOf(''))).node.shared).toBe('0-7');
  });

  it('with all but the strictly reserved CPUs given out is used', async () => {
    const options = { 'strict-cpu-reservation': 'true' };
    const { aside, cpus } = await startWith(fileOf('', { 'p/c': '1-7' }), { options });
    expect([cpus('p', 'c'), aside]).toEqual(['1-7', []]);
  });
});

describe('a file that does not fit is set aside, and the start goes on', () => {
  const drain = (problem: string): string =>
    `start cpu manager error: could not restore state from checkpoint: ${problem}, please drain this node and delete the CPU manager checkpoint file "${statePath}" before restarting Kubelet`;
  const unfit = (problem: string): string => `start cpu manager error: ${problem}`;
  const v4 = JSON.parse(fileOf('0-7'));

  it.each<
    [rule: string, text: string, options: Partial<TestCpuNodeOptions>, problem: string, shared: string]
  >([
    [
      'of another policy',
      fileOf('', {}, 'none'),
      {},
      drain('configured policy "static" differs from state checkpoint policy "none"'),
      '0-7',
    ],
    [
      'of policy static under policy none',
      fileOf('0-7'),
      { policy: 'none' },
      drain('configured policy "none" differs from state checkpoint policy "static"'),
      '',
    ],
    [
      'with a wrong checksum',
      JSON.stringify({ ...v4, dataChecksum: 1 }),
      {},
      drain('could not load v4 checkpoint: checkpoint is corrupted'),
      '0-7',
    ],
    ['cut in half', fileOf('0-7').slice(0, 40), {}, drain('checkpoint is corrupted'), '0-7'],
    [
      'a CPU is offline now',
      fileOf('0-7'),
      { machine: testMachine({ cores: 4, threads: 2, offline: '7' }) },
      unfit('current set of available CPUs "0-6" doesn\'t match with CPUs in state "0-7"'),
      '0-6',
    ],
    [
      'more is reserved now',
      fileOf('0,2-7', { 'p/c': '1' }),
      { reservedMillis: 2000, reservedCpus: '0-1' },
      unfit('not all reserved cpus: "0-1" are present in defaultCpuSet: "0,2-7"'),
      '0-7',
    ],
    [
      'strict reservation is new',
      fileOf('0-7'),
      { options: { 'strict-cpu-reservation': 'true' } },
      unfit('some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"'),
      '1-7',
    ],
    [
      'two have the same CPUs',
      fileOf('0-7', { 'p/c': '1-2' }),
      {},
      unfit('pod: p, container: c cpuset: "1-2" overlaps with default cpuset "0-7"'),
      '0-7',
    ],
    [
      'two pods have the same CPU',
      fileOf('0,3-7', { 'p/c': '1', 'q/c': '1-2' }),
      {},
      unfit('pod: q cpuset: "1" belongs to another pod, too'),
      '0-7',
    ],
    ['the pool is empty', fileOf('', { 'p/c': '0-7' }), {}, unfit('default cpuset cannot be empty'), '0-7'],
    [
      'CPUs are neither shared nor given, as after a crash of the reference',
      fileOf('0,2-4,6-7'),
      {},
      unfit('current set of available CPUs "0-7" doesn\'t match with CPUs in state "0,2-4,6-7"'),
      '0-7',
    ],
  ])('%s', async (_, text, options, problem, shared) => {
    const { node, aside } = await startWith(text, options);
    expect(aside).toHaveLength(1);
    expect(node.shared).toBe(shared);
    const [event = ''] = node.events();
    expect(event.startsWith(`${problem}. The old file is kept as ${statePath}.corrupt-`)).toBe(true);
    const entry = node.entries.find(({ what }) => what === 'cpu.recover');
    expect(entry).toMatchObject({ because: problem, level: 'warn', data: { kept: 0 } });
    const written = JSON.parse(JSON.parse(await node.file()).data);
    expect(written.defaultCpuSet).toBe(shared);
    const later = await testCpuNode({ machine: ht8, ...options, host: node.host });
    expect(later.events()).toEqual([]);
  });

  it('containers of running pods keep the CPUs that still fit, and the others lose theirs', async () => {
    const entries = { 'p/c': '1,5', 'q/c': '2,6', 'r/c': '3,7' };
    const { node, cpus } = await startWith(fileOf('0,4', entries), {
      machine: testMachine({ cores: 4, threads: 2, offline: '7' }),
      reservedMillis: 1000,
      reservedCpus: '0',
      running: running('p/c', 'r/c'),
    });
    expect([cpus('p', 'c'), node.shared]).toEqual(['1,5', '0,2-4,6']);
    const [event = ''] = node.events();
    expect(event).toContain('Kept the CPUs of p/c (1,5)');
    expect(event).toContain('q/c (2,6): its pod does not run, r/c (3,7): 7 cannot be given any more');
    for (const uid of ['p', 'r']) expect(node.admit(cpuPod(uid, 'c=2'))).toBe('allocated');
    expect([cpus('p', 'c'), cpus('r', 'c'), node.shared]).toEqual(['1,5', '3-4', '0,2,6']);
  });

  it('without a state to read, containers bound to CPUs alone keep these if they ask for as many', async () => {
    const { node, cpus } = await startWith('{"half', {
      running: running('p/c=1,5', 'q/c=0,2-4,6-7', 'r/c=0,2-4,6-7', 's/c=2'),
    });
    expect([cpus('p', 'c'), node.shared]).toEqual(['1,5', '0,2-4,6-7']);
    node.active.set('p', cpuPod('p', 'c=2'));
    node.manager.removeStale();
    expect(cpus('p', 'c')).toBe('1,5');
    node.active.set('p', cpuPod('p', 'c=1'));
    node.manager.removeStale();
    expect(cpus('p', 'c')).toBe('1,5');
  });

  it('an init container that has ended does not cost a running pod its place', async () => {
    const { node, cpus } = await startWith('', { running: running('p/a=1-2,5-6') });
    expect(node.admit(cpuPod('p', 'init:i=5 a=4'))).toBe('allocated');
    expect(cpus('p', 'a')).toBe('1-2,5-6');
    expect(node.admit(cpuPod('q', 'c=2'))).toBe('allocated');
  });

  it('what was only guessed goes back if the pod asks for something else', async () => {
    const { node, cpus } = await startWith('', {
      options: { 'strict-cpu-reservation': 'true' },
      running: running('p/c=1-7'),
    });
    expect(cpus('p', 'c')).toBe('1-7');
    node.active.set('p', cpuPod('p', 'c=500m'));
    node.manager.removeStale();
    expect(node.shared).toBe('1-7');
  });
});
