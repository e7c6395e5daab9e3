/** Says of each manager's state who holds what, for the description of the node. */
import type { CpuState } from '../../resources/cpu-manager/index.js';
import { type DeviceHolder, idsOf } from '../../resources/device-manager/index.js';
import type { MemoryBlock } from '../../resources/memory-manager/index.js';
import type { ContainerHolding, HeldMemory, ResourceHoldings } from './contracts.js';

/** The containers of a pod that has CPUs as a whole share them, and are not told of one by one. */
export function cpuHoldings({ defaultCpuSet, entries, podEntries }: CpuState): ResourceHoldings {
  const ofPods = [...podEntries].map(([podUid, cpus]) => ({ podUid, container: '', cpus: String(cpus) }));
  const ofContainers = [...entries].flatMap(([podUid, containers]) =>
    [...containers]
      .filter(([, cpus]) => !(podEntries.get(podUid)?.equals(cpus) ?? false))
      .map(([container, cpus]) => ({ podUid, container, cpus: String(cpus) })),
  );
  return { sharedCpus: String(defaultCpuSet), held: [...ofPods, ...ofContainers] };
}

export function memoryHoldings({
  entries,
  podEntries,
}: {
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;
  readonly podEntries: ReadonlyMap<string, readonly MemoryBlock[]>;
}): ResourceHoldings {
  const held = (podUid: string, container: string, blocks: readonly MemoryBlock[]): ContainerHolding[] =>
    blocks.length === 0 ? [] : [{ podUid, container, memory: blocks.map(heldMemory) }];
  return {
    held: [
      ...[...podEntries].flatMap(([podUid, blocks]) => held(podUid, '', blocks)),
      ...[...entries].flatMap(([podUid, containers]) =>
        [...containers].flatMap(([container, blocks]) => held(podUid, container, blocks)),
      ),
    ],
  };
}

export function deviceHoldings(holders: readonly DeviceHolder[]): ResourceHoldings {
  return {
    held: holders.map(({ podUid, container, resource, record }) => ({
      podUid,
      container,
      devices: [{ resource, ids: [...idsOf(record)].sort() }],
    })),
  };
}

function heldMemory({ type, numaAffinity, size }: MemoryBlock): HeldMemory {
  return { resource: type, numaNodes: numaAffinity, bytes: size };
}
