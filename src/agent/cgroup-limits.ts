/** What the machine has for all pods together, and what is left of it when the system and Kubernetes have their share. */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { pageSizeName, quantityMillis, quantityUnits } from '../kube/index.js';
import { countCpuList, nodeReservation, type ReservationSettings } from '../node/index.js';
import type { NodeLimits } from '../resources/cgroups/index.js';

const hugePagesDirectory = '/sys/kernel/mm/hugepages';

export function machineLimits(memoryBytes: number): NodeLimits {
  return {
    milliCpu: cpuCount(onlineCpus()) * 1000,
    memoryBytes,
    pids: Math.min(kernelNumber('pid_max'), kernelNumber('threads-max')),
    hugePages: hugePageBytes(),
  };
}

/** The limits without what is reserved. Eviction thresholds are not subtracted: pods must be able to reach them. */
export function unreservedLimits(
  limits: NodeLimits,
  { systemReserved, kubeReserved }: Pick<ReservationSettings, 'systemReserved' | 'kubeReserved'>,
): NodeLimits {
  const reserved = nodeReservation({ systemReserved, kubeReserved, evictionHard: {} }, {});
  const { milliCpu, memoryBytes, pids } = limits;
  return {
    ...limits,
    milliCpu: Math.max(0, milliCpu - quantityMillis(reserved.cpu)),
    memoryBytes: Math.max(0, memoryBytes - quantityUnits(reserved.memory)),
    pids: Math.max(0, pids - quantityUnits(reserved.pid)),
  };
}

/** As the node reports them: what the agent itself may use of the machine does not bound its pods. */
export function cpuCount(list: string | undefined): number {
  return (list === undefined ? undefined : countCpuList(list)) ?? availableParallelism();
}

/** The machine's CPUs as a list such as `0-3`; undefined where the kernel does not tell. */
export function onlineCpus(): string | undefined {
  const list = textOf('/sys/devices/system/cpu/online')?.trim() ?? '';
  return list === '' ? undefined : list;
}

function hugePageBytes(): Map<string, number> {
  const found = new Map<string, number>();
  for (const entry of entriesOf(hugePagesDirectory)) {
    const [, kibibytes] = /^hugepages-(\d+)kB$/.exec(entry) ?? [];
    if (kibibytes === undefined) continue;
    const sizeBytes = Number(kibibytes) * 1024;
    const pages = Number(textOf(`${hugePagesDirectory}/${entry}/nr_hugepages`) ?? 0);
    found.set(pageSizeName(sizeBytes), sizeBytes * pages);
  }
  return found;
}

function kernelNumber(name: string): number {
  return Number(readFileSync(`/proc/sys/kernel/${name}`, 'utf8'));
}

/** A kernel without huge pages has no such directory. */
function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
