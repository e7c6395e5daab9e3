/** Who holds which devices. */
import type { AnyContainer, Container, Pod } from '../../kube/index.js';
import { type DeviceRecord, nodeless, type PluginDevice } from './contracts.js';

export interface DeviceHolder {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly record: DeviceRecord;
}

export function idsOf({ idsByNode }: DeviceRecord): ReadonlySet<string> {
  return new Set([...idsByNode.values()].flat());
}

export function idsByNode(
  ids: readonly string[],
  table: ReadonlyMap<string, PluginDevice>,
): ReadonlyMap<number, readonly string[]> {
  const byNode = new Map<number, string[]>();
  for (const id of [...ids].sort()) {
    const nodes = table.get(id)?.numaNodes ?? [];
    for (const node of nodes.length === 0 ? [nodeless] : nodes) {
      const list = byNode.get(node) ?? [];
      list.push(id);
      byNode.set(node, list);
    }
  }
  return byNode;
}

export class DeviceRecords {
  /** By pod, container and resource. */
  readonly #pods = new Map<string, Map<string, Map<string, DeviceRecord>>>();
  /** How many containers hold each device, by resource and id: admission asks for every pod, and must not go through all. */
  readonly #held = new Map<string, Map<string, number>>();

  get(podUid: string, container: string, resource: string): DeviceRecord | undefined {
    return this.#pods.get(podUid)?.get(container)?.get(resource);
  }

  ids(podUid: string, container: string, resource: string): ReadonlySet<string> {
    const record = this.get(podUid, container, resource);
    return record === undefined ? new Set() : idsOf(record);
  }

  /** By resource, in the order of names. */
  ofContainer(podUid: string, container: string): readonly (readonly [string, DeviceRecord])[] {
    return [...(this.#pods.get(podUid)?.get(container) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  set(podUid: string, container: string, resource: string, record: DeviceRecord): void {
    const containers = this.#pods.get(podUid) ?? new Map<string, Map<string, DeviceRecord>>();
    this.#pods.set(podUid, containers);
    const resources = containers.get(container) ?? new Map<string, DeviceRecord>();
    containers.set(container, resources);
    const before = resources.get(resource);
    if (before !== undefined) this.#count(resource, before, -1);
    resources.set(resource, record);
    this.#count(resource, record, 1);
  }

  #count(resource: string, record: DeviceRecord, change: 1 | -1): void {
    const counts = this.#held.get(resource) ?? new Map<string, number>();
    for (const id of idsOf(record)) {
      const count = (counts.get(id) ?? 0) + change;
      if (count > 0) counts.set(id, count);
      else counts.delete(id);
    }
    if (counts.size > 0) this.#held.set(resource, counts);
    else this.#held.delete(resource);
  }

  /** Forgets all other pods; returns what they held. */
  keepOnly(isKept: (podUid: string) => boolean): readonly DeviceHolder[] {
    const gone = new Set([...this.#pods.keys()].filter((podUid) => !isKept(podUid)));
    if (gone.size === 0) return [];
    const freed = [...this.holders()].filter(({ podUid }) => gone.has(podUid));
    for (const { resource, record } of freed) this.#count(resource, record, -1);
    for (const podUid of gone) this.#pods.delete(podUid);
    return freed;
  }

  get isEmpty(): boolean {
    return this.#pods.size === 0;
  }

  has(podUid: string): boolean {
    return this.#pods.has(podUid);
  }

  isHeld(resource: string): boolean {
    return this.#held.has(resource);
  }

  /** Ids that anybody holds. */
  inUse(resource: string): Set<string> {
    return new Set(this.#held.get(resource)?.keys());
  }

  /** How many devices of each resource are held. */
  heldCounts(): ReadonlyMap<string, number> {
    return new Map([...this.#held].map(([resource, counts]) => [resource, counts.size]));
  }

  /** In the order of pods, containers and resources. */
  *holders(): Generator<DeviceHolder> {
    for (const [podUid, containers] of sortedEntries(this.#pods)) {
      for (const [container, resources] of sortedEntries(containers)) {
        for (const [resource, record] of sortedEntries(resources))
          yield { podUid, container, resource, record };
      }
    }
  }
}

function sortedEntries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * Devices that a container takes over from init containers that end before it starts. What a sidecar or an app container
 * has is its own, also if it took it over.
 */
export function reusableIds(
  { metadata: { uid }, spec }: Pod,
  { name }: AnyContainer,
  resource: string,
  records: DeviceRecords,
): ReadonlySet<string> {
  const init = spec.initContainers ?? [];
  const position = init.findIndex((other) => other.name === name);
  const before = init.slice(0, position < 0 ? init.length : position).filter((other) => !isSidecar(other));
  const reusable = new Set(before.flatMap((other) => [...records.ids(uid, other.name, resource)]));
  if (reusable.size === 0) return reusable;
  for (const other of [...init.filter(isSidecar), ...spec.containers]) {
    if (other.name === name) continue;
    for (const id of records.ids(uid, other.name, resource)) reusable.delete(id);
  }
  return reusable;
}

function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always';
}
