/** Reads the machine's topology from the kernel's files. */
import { CpuSet } from '../../kube/index.js';
import type { CpuPlace, MachineTopology, NumaHugePages, NumaNode } from './machine-topology.js';
import { Sysfs, type TopologyHost } from './sysfs.js';
import { type CpuFact, uncoreCaches } from './uncore-caches.js';

const nodesDirectory = '/sys/devices/system/node';
const cpusDirectory = '/sys/devices/system/cpu';
/** Linux can be built for 8192 CPUs and 1024 nodes. */
const mostCpus = 8192;
const mostNodes = 1024;

/** Rejects with `could not detect number of cpus` if the machine does not tell, and why as the cause. */
export async function readMachineTopology(host: TopologyHost): Promise<MachineTopology> {
  let topology: MachineTopology;
  try {
    topology = await readTopology(new Sysfs(host));
  } catch (cause) {
    throw new Error('could not detect number of cpus', { cause });
  }
  if (topology.cpus.length === 0) throw new Error('could not detect number of cpus');
  return topology;
}

async function readTopology(sysfs: Sysfs): Promise<MachineTopology> {
  const onlineText = await sysfs.text(`${cpusDirectory}/online`);
  const online = onlineText === undefined ? undefined : CpuSet.parse(onlineText.trim());
  const nodeIds = await sysfs.numbered(nodesDirectory, 'node', mostNodes);
  const cpus: CpuPlace[] = [];
  const numaNodes: NumaNode[] = [];
  const add = async (node: NumaNode, members: readonly CpuFact[]): Promise<void> => {
    numaNodes.push(node);
    const caches = await uncoreCaches(sysfs, cpusDirectory, members);
    for (const { id, core, socket } of members) {
      cpus.push({ id, core, socket, numaNode: node.id, uncoreCache: caches.get(core) ?? socket });
    }
  };
  for (const id of nodeIds) {
    const directory = `${nodesDirectory}/node${id}`;
    const members = await cpusIn(sysfs, directory, online);
    await add(await readNode(sysfs, directory, id), members);
  }
  if (nodeIds.length === 0) {
    const all = await cpusIn(sysfs, cpusDirectory, online);
    for (const socket of [...new Set(all.map((cpu) => cpu.socket))].sort((a, b) => a - b)) {
      const members = all.filter((cpu) => cpu.socket === socket);
      await add({ id: socket, memoryBytes: 0, hugePages: [], distances: [] }, members);
    }
  }
  cpus.sort((a, b) => a.id - b.id);
  const told = (await sysfs.text('/proc/cpuinfo')) ?? '';
  const packages = new Set([...told.matchAll(/^physical id\s*:\s*(\d+)/gm)].map(([, id]) => id));
  const socketCount = packages.size > 0 ? packages.size : new Set(cpus.map(({ socket }) => socket)).size;
  return { cpus, numaNodes, socketCount };
}

/** The online CPUs of a directory, by ascending id; those whose core or package is not told are left out. */
async function cpusIn(sysfs: Sysfs, directory: string, online: CpuSet | undefined): Promise<CpuFact[]> {
  const found: { id: number; coreId: number; socket: number }[] = [];
  for (const id of await sysfs.numbered(directory, 'cpu', mostCpus)) {
    if (online !== undefined && !online.has(id)) continue;
    const topology = `${directory}/cpu${id}/topology`;
    const coreId = await sysfs.number(`${topology}/core_id`);
    const socket = await sysfs.number(`${topology}/physical_package_id`);
    if (coreId !== undefined && socket !== undefined) found.push({ id, coreId, socket });
  }
  const lowest = new Map<string, number>();
  return found.map(({ id, coreId, socket }) => {
    const key = `${socket}:${coreId}`;
    const core = lowest.get(key) ?? id;
    lowest.set(key, core);
    return { id, core, socket };
  });
}

async function readNode(sysfs: Sysfs, directory: string, id: number): Promise<NumaNode> {
  const [, kibibytes = '0'] =
    /MemTotal:\s*(\d+) kB/.exec((await sysfs.text(`${directory}/meminfo`)) ?? '') ?? [];
  const hugePages: NumaHugePages[] = [];
  for (const name of await sysfs.names(`${directory}/hugepages`)) {
    const [, size] = /^hugepages-(\d+)kB$/.exec(name) ?? [];
    if (size === undefined) continue;
    const pages = await sysfs.number(`${directory}/hugepages/${name}/nr_hugepages`);
    hugePages.push({ sizeBytes: Number(size) * 1024, pages: pages ?? 0 });
  }
  hugePages.sort((a, b) => a.sizeBytes - b.sizeBytes);
  const distances = ((await sysfs.text(`${directory}/distance`)) ?? '').trim().split(/\s+/).filter(Boolean);
  if (distances.some((distance) => !/^\d{1,9}$/.test(distance)))
    throw new Error(`${directory}/distance is not a list of numbers`);
  return { id, memoryBytes: Number(kibibytes) * 1024, hugePages, distances: distances.map(Number) };
}
