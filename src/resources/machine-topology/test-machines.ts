/** Machines for tests, as data and as the files by which a kernel tells of them. */
import type { HostFiles } from '../../host/index.js';
import { CpuSet } from '../../kube/index.js';
import type { MachineTopology, NumaHugePages } from './machine-topology.js';

export interface TestMachineShape {
  readonly cores: number;
  /** Thread t of core c is CPU c + t·cores. Default: 1. */
  readonly threads?: number;
  /** By core; default 0. */
  readonly node?: (core: number) => number;
  readonly socket?: (core: number) => number;
  /** Default: none that only a part of a node shares. */
  readonly cache?: (core: number) => number;
  /** Nodes without CPUs. */
  readonly emptyNodes?: readonly number[];
  readonly offline?: string;
  /** Of each node; default 4Gi. */
  readonly memoryBytes?: number;
  /** By node; default none. */
  readonly hugePages?: (node: number) => readonly NumaHugePages[];
  /** By node; default 10 to itself and 20 to others. */
  readonly distances?: (node: number) => readonly number[];
}

const gibibyte = 1024 ** 3;

export function testMachine(shape: TestMachineShape): MachineTopology {
  const { cores, threads = 1, node = () => 0, socket = () => 0, cache = socket } = shape;
  const offline = CpuSet.parse(shape.offline ?? '');
  const ids = Array.from({ length: cores * threads }, (_, id) => id).filter((id) => !offline.has(id));
  const lowest = new Map<number, number>();
  for (const id of ids) if (!lowest.has(id % cores)) lowest.set(id % cores, id);
  const cpus = ids.map((id) => ({
    id,
    core: lowest.get(id % cores) ?? id,
    socket: socket(id % cores),
    numaNode: node(id % cores),
    uncoreCache: cache(id % cores),
  }));
  const nodeIds = [...new Set([...cpus.map(({ numaNode }) => numaNode), ...(shape.emptyNodes ?? [])])];
  nodeIds.sort((a, b) => a - b);
  return {
    cpus,
    numaNodes: nodeIds.map((id) => ({
      id,
      memoryBytes: shape.memoryBytes ?? 4 * gibibyte,
      hugePages: shape.hugePages?.(id) ?? [],
      distances: shape.distances?.(id) ?? nodeIds.map((other) => (other === id ? 10 : 20)),
    })),
    socketCount: new Set(cpus.map((cpu) => cpu.socket)).size,
  };
}

const divide =
  (by: number) =>
  (core: number): number =>
    Math.floor(core / by);

/** 8 CPUs, siblings i and i+4, one socket, one node. */
export const ht8 = testMachine({ cores: 4, threads: 2 });
/** 12 CPUs, siblings i and i+6; even cores are socket and node 0, odd ones 1. */
export const dual12 = testMachine({
  cores: 6,
  threads: 2,
  node: (core) => core % 2,
  socket: (core) => core % 2,
});
/** 80 CPUs, siblings i and i+40, ten cores in each node; nodes 0 and 1 are socket 0, nodes 2 and 3 socket 1. */
export const big80 = testMachine({ cores: 40, threads: 2, node: divide(10), socket: divide(20) });
/** 16 CPUs without SMT, caches of 4. */
export const unc16 = testMachine({ cores: 16, cache: divide(4) });
/** 16 CPUs, siblings i and i+8, two caches of 4 cores. */
export const unc16s = testMachine({ cores: 8, threads: 2, cache: divide(4) });
/** Two nodes of 4 CPUs without SMT, each a socket. */
export const twoNodes = testMachine({ cores: 8, node: divide(4), socket: divide(4) });
/** 256 CPUs, siblings i and i+128, 8 nodes in 2 sockets, caches of 8 cores. */
export const huge256 = testMachine({
  cores: 128,
  threads: 2,
  node: divide(16),
  socket: divide(64),
  cache: divide(8),
});

/** Siblings i and i+nodes·coresPerNode; two nodes in each socket. */
export function machineOfNodes(nodes: number, coresPerNode = 4, threads = 2): MachineTopology {
  return testMachine({
    cores: nodes * coresPerNode,
    threads,
    node: divide(coresPerNode),
    socket: divide(2 * coresPerNode),
  });
}

/** Writes the files that the kernel of such a machine has. `offline` CPUs are known, and tell nothing of their place. */
export async function writeSysfs(
  files: HostFiles,
  { cpus, numaNodes }: MachineTopology,
  { root = '', offline = '' }: { readonly root?: string; readonly offline?: string } = {},
): Promise<void> {
  const write = async (path: string, text: string): Promise<void> => {
    await files.mkdir(path.slice(0, path.lastIndexOf('/')), { recursive: true });
    await files.writeFile(path, text);
  };
  const system = `${root}/sys/devices/system`;
  await write(`${system}/cpu/online`, `${CpuSet.of(cpus.map(({ id }) => id))}\n`);
  for (const id of CpuSet.parse(offline)) await files.mkdir(`${system}/cpu/cpu${id}`, { recursive: true });
  for (const { id, core, socket, uncoreCache, numaNode } of cpus) {
    await write(`${system}/cpu/cpu${id}/topology/core_id`, `${core}\n`);
    await write(`${system}/cpu/cpu${id}/topology/physical_package_id`, `${socket}\n`);
    await files.mkdir(`${system}/node/node${numaNode}`, { recursive: true });
    await files.symlink(`../../cpu/cpu${id}`, `${system}/node/node${numaNode}/cpu${id}`);
    const inNode = cpus.filter((cpu) => cpu.numaNode === numaNode);
    const sharing = inNode.filter((cpu) => cpu.uncoreCache === uncoreCache);
    const index = `${system}/cpu/cpu${id}/cache/index3`;
    await write(`${index}/level`, '3\n');
    await write(`${index}/id`, `${uncoreCache}\n`);
    await write(`${index}/shared_cpu_map`, `${cpuMap(sharing.map((cpu) => cpu.id))}\n`);
  }
  for (const { id, memoryBytes, hugePages, distances } of numaNodes) {
    const directory = `${system}/node/node${id}`;
    await write(`${directory}/meminfo`, `Node ${id} MemTotal:       ${memoryBytes / 1024} kB\n`);
    await write(`${directory}/distance`, `${distances.join(' ')}\n`);
    for (const { sizeBytes, pages } of hugePages)
      await write(`${directory}/hugepages/hugepages-${sizeBytes / 1024}kB/nr_hugepages`, `${pages}\n`);
  }
}

/** As the kernel writes it: words of 32 bits, the highest first. */
function cpuMap(ids: readonly number[]): string {
  const bits = ids.reduce((sum, id) => sum | (1n << BigInt(id)), 0n).toString(16);
  const digits = bits.padStart(Math.ceil(bits.length / 8) * 8, '0');
  return digits.match(/.{8}/g)?.join(',') ?? '00000000';
}
