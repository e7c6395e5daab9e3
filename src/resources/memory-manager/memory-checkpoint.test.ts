import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import { gi, guaranteed, memoryMachine, podOf } from '../topology-manager/test-topology.js';
import { checksumOf } from './checkpoint.js';
import { readMemoryCheckpoint } from './read-checkpoint.js';
import { rootDir, startMemory, statePath, type TestMemoryOptions } from './test-managers.js';

/** Two nodes of 4 GiB, of which the system has 1 GiB on the first. */
const mem2: TestMemoryOptions = {
  machine: memoryMachine([4 * gi, 4 * gi]),
  reserved: new Map([[0, new Map([['memory', gi]])]]),
};
const pod = (uid: string, memory: string): Pod => podOf(uid, { containers: [guaranteed('c', { memory })] });

describe('the file', () => {
  it('of policy None', async () => {
    const { file } = await startMemory({ ...mem2, policy: 'None' });
    expect(await file()).toBe(
      String.raw`{"policyName":"None","machineState":{},"checksum":4236770233,"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326}`,
    );
  });

  it('has the machine and the blocks, and is read again', async () => {
    const started = await startMemory(mem2);
    await started.admit(pod('a', '5Gi'));
    const text = await started.file();
    const outer = JSON.parse(text);
    expect(outer.entries).toEqual({ a: { c: [{ numaAffinity: [0, 1], type: 'memory', size: 5 * gi }] } });
    expect(outer.machineState['1']).toEqual({
      numberOfAssignments: 1,
      memoryMap: {
        memory: { total: 4 * gi, systemReserved: 0, allocatable: 4 * gi, reserved: 2 * gi, free: 2 * gi },
      },
      cells: [0, 1],
    });
    const { data: _data, dataChecksum: _sum, ...flat } = outer;
    expect(readMemoryCheckpoint(JSON.stringify(flat)).kind).toBe('read');
    const again = await startMemory({ ...mem2, host: started.host });
    expect(again.setAside).toEqual([]);
    expect(again.nodes()).toEqual(started.nodes());
    expect(await again.file()).toBe(text);
  });

  const flat = {
    policyName: 'static',
    machineState: {
      '0': {
        numberOfAssignments: 0,
        memoryMap: {
          memory: { total: 2048, systemReserved: 512, allocatable: 1536, reserved: 512, free: 1024 },
        },
        cells: [],
      },
    },
    entries: { pod: { container1: [{ numaAffinity: [0], type: 'memory', size: 512 }] } },
  };
  const formats: [string, unknown, string][] = [
    ['flat', { ...flat, checksum: 4215593881 }, 'read'],
    ['flat without a checksum', { ...flat, checksum: 0 }, 'read'],
    ['flat with a wrong checksum', { ...flat, checksum: 101010 }, 'checkpoint is corrupted'],
    [
      'with wrong data',
      { data: '{}', dataChecksum: 1 },
      'could not load v3 checkpoint: checkpoint is corrupted',
    ],
    [
      'a checksum of data without data',
      { ...flat, dataChecksum: 5 },
      'could not load v3 checkpoint: checkpoint is corrupted',
    ],
    ['a list', [], 'it is not an object'],
    [
      'a block without nodes',
      { ...flat, entries: { p: { c: [{ type: 'memory', size: 1 }] } } },
      'a block lies on no NUMA node',
    ],
    [
      'a size beyond all numbers',
      { ...flat, entries: { p: { c: [{ numaAffinity: [0], type: 'memory', size: 1e300 }] } } },
      'size is not a whole number',
    ],
    [
      'a negative size',
      { ...flat, entries: { p: { c: [{ numaAffinity: [0], type: 'memory', size: -1 }] } } },
      'size is not a whole number',
    ],
  ];
  it.each(formats)('%s', (_, content, expected) => {
    const read = readMemoryCheckpoint(JSON.stringify(content));
    expect(read.kind === 'read' ? 'read' : read.problem).toBe(expected);
  });

  it('tells why its data is no JSON', () => {
    const read = readMemoryCheckpoint(JSON.stringify({ data: 'x', dataChecksum: checksumOf('(string)x') }));
    expect(read).toMatchObject({
      problem: expect.stringMatching(
        /^could not load v3 checkpoint: failed to deserialize memory manager checkpoint data: /,
      ),
    });
  });
});

describe('a file that other kubelets would not start with', () => {
  const bound = (podUid: string, mems?: number[]) => ({ podUid, name: 'c', mems });
  const drain = `, please drain this node and delete the memory manager checkpoint file "${statePath}" before restarting Kubelet`;
  const machineDiffers = '[memorymanager] the expected machine state is different from the real one';

  async function twoPods() {
    const started = await startMemory(mem2);
    expect(await started.admit(pod('a', '1Gi'))).toEqual(['0']);
    expect(await started.admit(pod('b', '2Gi'))).toEqual(['0']);
    await started.memory.stop();
    return started.host;
  }
  const told = ({ timeline }: Awaited<ReturnType<typeof startMemory>>) =>
    timeline.ofNode().flatMap((entry) => (entry.what === 'memory.recover' ? [entry.data] : []));

  it('says so, keeps what still runs and fits, and gives back the rest', async () => {
    const host = await twoPods();
    const started = await startMemory({
      ...mem2,
      reserved: new Map([[0, new Map([['memory', 2 * gi]])]]),
      host,
      containers: [bound('a')],
    });
    expect(told(started)).toEqual([
      { problem: `start memory manager error: ${machineDiffers}`, kept: 1, givenBack: 1 },
    ]);
    const event = started.timeline.ofNode().find(({ what }) => what === 'event.MemoryManagerStateRebuilt');
    expect(event?.event).toMatchObject({ type: 'Warning', node: 'node' });
    expect(event?.message).toContain(machineDiffers);
    expect(started.setAside).toHaveLength(1);
    expect([...(await host.files.readdir(rootDir))].sort()).toEqual([
      'memory_manager_state',
      expect.stringContaining('memory_manager_state.corrupt-'),
    ]);
    expect(started.nodes()[0]).toEqual([1, '0', 1]);
    expect(started.memory.memsOf('a', 'c')).toBe('0');
    expect(started.memory.memsOf('b', 'c')).toBeUndefined();
    const again = await startMemory({
      ...mem2,
      reserved: new Map([[0, new Map([['memory', 2 * gi]])]]),
      host,
    });
    expect(told(again)).toEqual([]);
    expect(again.nodes()).toEqual(started.nodes());
  });

  it('keeps no more than fits', async () => {
    const host = await twoPods();
    const started = await startMemory({
      ...mem2,
      reserved: new Map([[0, new Map([['memory', 2 * gi]])]]),
      host,
      containers: [bound('a'), bound('b')],
    });
    expect(told(started)).toMatchObject([{ kept: 1, givenBack: 1 }]);
    expect(started.nodes()[0]).toEqual([1, '0', 1]);
  });

  it('of another policy', async () => {
    const host = await twoPods();
    const none = await startMemory({ ...mem2, policy: 'None', host });
    expect(told(none)).toEqual([
      {
        problem: `start memory manager error: could not restore state from checkpoint: [memorymanager] configured policy "None" differs from state checkpoint policy "Static"${drain}`,
        kept: 0,
        givenBack: 2,
      },
    ]);
    const back = await startMemory({ ...mem2, host });
    expect(told(back)).toMatchObject([{ kept: 0, givenBack: 0 }]);
    expect(back.nodes()[0]).toEqual([3, '0', 0]);
  });

  it('with a wrong checksum', async () => {
    const host = await twoPods();
    const text = new TextDecoder().decode(await host.files.readFile(statePath));
    await host.files.writeFile(statePath, text.replace(/"dataChecksum":\d+/, '"dataChecksum":1'));
    const containers = [bound('a', [0]), bound('b', [1])];
    const started = await startMemory({ ...mem2, host, containers });
    expect(told(started)).toEqual([
      {
        problem: `start memory manager error: could not restore state from checkpoint: could not load v3 checkpoint: checkpoint is corrupted${drain}`,
        kept: 1,
        givenBack: 1,
      },
    ]);
    expect(started.memory.memsOf('a', 'c')).toBe('0');
    // The other runs on node 1, whatever the file says.
    expect(await started.admit(pod('b', '2Gi'))).toEqual(['1']);
  });

  it.each([
    ['empty', ''],
    ['cut', '{"policyName":"Static","machi'],
    ['random bytes', '\u0000\u0001\u0002'],
  ])('that is %s', async (_, text) => {
    const host = await twoPods();
    await host.files.writeFile(statePath, text);
    const started = await startMemory({ ...mem2, host, containers: [bound('a', [1])] });
    expect(started.setAside).toHaveLength(1);
    expect(told(started)).toMatchObject([{ kept: 0, givenBack: 0 }]);
    expect(await started.admit(pod('a', '1Gi'))).toEqual(['1']);
    expect((await startMemory({ ...mem2, host })).setAside).toEqual([]);
  });

  it.each([
    [
      'assignments without a machine',
      {
        policyName: 'Static',
        entries: { a: { c: [{ numaAffinity: [0], type: 'memory', size: gi }] } },
        checksum: 0,
      },
      '[memorymanager] machine state can not be empty when it has memory assignments',
    ],
  ])('%s', async (_, content, problem) => {
    const host = simulatedHost();
    for (const path of ['/var/lib', rootDir]) await host.files.mkdir(path, {});
    await host.files.writeFile(statePath, JSON.stringify(content));
    const started = await startMemory({ ...mem2, host });
    expect(told(started)).toMatchObject([{ problem: `start memory manager error: ${problem}` }]);
  });
});
