/** The reader of the machine's topology, on simulated machines and on this one. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { linuxHost, simulatedHost } from '../../host/index.js';
import { CpuSet } from '../../kube/index.js';
import type { MachineTopology } from './machine-topology.js';
import { readMachineTopology } from './read-machine-topology.js';
import {
  big80,
  dual12,
  ht8,
  huge256,
  machineOfNodes,
  testMachine,
  twoNodes,
  unc16,
  unc16s,
  writeSysfs,
} from './test-machines.js';

async function readBack(machine: MachineTopology, offline = ''): Promise<MachineTopology> {
  const host = simulatedHost();
  await writeSysfs(host.files, machine, { offline });
  return await readMachineTopology(host);
}

const machines: Readonly<Record<string, MachineTopology>> = {
  ht8,
  dual12,
  big80,
  unc16,
  unc16s,
  twoNodes,
  huge256,
  'one node': machineOfNodes(1),
  'three nodes': machineOfNodes(3, 2, 1),
  'eight nodes': machineOfNodes(8, 3, 2),
  'a node without CPUs': testMachine({ cores: 2, emptyNodes: [1] }),
  'nodes with gaps in their ids': testMachine({ cores: 4, node: (core) => (core < 2 ? 0 : 8) }),
  'huge pages': testMachine({
    cores: 2,
    hugePages: () => [
      { sizeBytes: 2 * 1024 ** 2, pages: 512 },
      { sizeBytes: 1024 ** 3, pages: 0 },
    ],
  }),
};

it.each(Object.entries(machines))('%s is read as its files tell', async (_, machine) => {
  expect(await readBack(machine)).toEqual(machine);
});

it('CPUs that are offline are left out, and a core is named by the lowest that is left', async () => {
  const machine = testMachine({ cores: 4, threads: 2, offline: '0,7' });
  expect(machine.cpus.map(({ id, core }) => [id, core])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
    [5, 1],
    [6, 2],
  ]);
  expect(await readBack(machine, '0,7')).toEqual(machine);
});

describe('a machine that tells less', () => {
  const written = async (machine: MachineTopology) => {
    const host = simulatedHost();
    await writeSysfs(host.files, machine);
    return host;
  };
  const cpu = '/sys/devices/system/cpu';
  const node = '/sys/devices/system/node';

  it('without a list of online CPUs has all online', async () => {
    const host = await written(ht8);
    await host.files.unlink(`${cpu}/online`);
    expect((await readMachineTopology(host)).cpus).toHaveLength(8);
  });

  it.each(['core_id', 'physical_package_id'])('a CPU without %s is left out', async (name) => {
    const host = await written(ht8);
    await host.files.unlink(`${cpu}/cpu3/topology/${name}`);
    expect((await readMachineTopology(host)).cpus.map(({ id }) => id)).toEqual([0, 1, 2, 4, 5, 6, 7]);
  });

  it('a core that is not a number fails, and the cause names the file', async () => {
    const host = await written(ht8);
    await host.files.writeFile(`${cpu}/cpu3/topology/core_id`, 'x\n');
    const failure = await readMachineTopology(host).catch((error: Error) => error);
    expect(failure).toMatchObject({
      message: 'could not detect number of cpus',
      cause: { message: `/sys/devices/system/node/node0/cpu3/topology/core_id holds "x", not a number` },
    });
  });

  it('without any file fails', async () => {
    await expect(readMachineTopology(simulatedHost())).rejects.toThrow('could not detect number of cpus');
  });

  it('a cache that cannot be read leaves the later cores of the node with the socket', async () => {
    const host = await written(unc16);
    await host.files.unlink(`${cpu}/cpu5/cache/index3/id`);
    const caches = (await readMachineTopology(host)).cpus.map(({ uncoreCache }) => uncoreCache);
    expect(caches).toEqual([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('the first cache beyond level 2 that does not span the node counts', async () => {
    const host = await written(testMachine({ cores: 4, cache: (core) => 10 + (core >> 1) }));
    for (const id of [0, 1, 2, 3]) {
      await host.files.mkdir(`${cpu}/cpu${id}/cache/index2`);
      await host.files.writeFile(`${cpu}/cpu${id}/cache/index2/level`, '2\n');
      await host.files.mkdir(`${cpu}/cpu${id}/cache/index4`);
      for (const [name, text] of [
        ['level', '4'],
        ['id', '99'],
        ['shared_cpu_map', '0000000f'],
      ] as const)
        await host.files.writeFile(`${cpu}/cpu${id}/cache/index4/${name}`, text);
    }
    const caches = (await readMachineTopology(host)).cpus.map(({ uncoreCache }) => uncoreCache);
    expect(caches).toEqual([10, 10, 11, 11]);
  });

  it('without node directories each package is a node without memory', async () => {
    const host = await written(dual12);
    for (const name of [0, 1]) await host.files.rename(`${node}/node${name}`, `${node}/was-${name}`);
    const { cpus, numaNodes } = await readMachineTopology(host);
    expect(cpus).toEqual(dual12.cpus);
    expect(numaNodes).toEqual([0, 1].map((id) => ({ id, memoryBytes: 0, hugePages: [], distances: [] })));
  });

  it('counts sockets by /proc/cpuinfo where that tells', async () => {
    const host = await written(ht8);
    await host.files.writeFile('/proc/cpuinfo', 'physical id\t: 0\n\nphysical id\t: 1\n');
    expect((await readMachineTopology(host)).socketCount).toBe(2);
  });

  it('a file longer than any of the kernel is refused', async () => {
    const host = await written(ht8);
    await host.files.writeFile(`${node}/node0/meminfo`, new Uint8Array(16 * 1024 * 1024 + 1));
    await expect(readMachineTopology(host)).rejects.toThrow('could not detect number of cpus');
  });
});

it('this machine is read, and a simulated one with the same files is the same', async () => {
  const here = await readMachineTopology(linuxHost());
  const online = CpuSet.parse(readFileSync('/sys/devices/system/cpu/online', 'utf8').trim());
  expect(here.cpus.map(({ id }) => id)).toEqual([...online]);
  const host = simulatedHost();
  await writeSysfs(host.files, here);
  expect(await readMachineTopology(host)).toEqual({ ...here, socketCount: expect.any(Number) });
});
