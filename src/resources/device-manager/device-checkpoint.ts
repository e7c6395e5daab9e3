/** The file that remembers who holds which devices, as the reference kubelet writes it, so that either reads the other's. */
import { fnv32a } from '../../kube/index.js';
import type { DeviceHolder } from './device-records.js';
import { ContainerAllocateResponse } from './gen/device-plugin.js';

export interface DeviceCheckpoint {
  readonly holders: readonly DeviceHolder[];
  /** Healthy ids by resource; whoever reads it uses the names only. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** The names are those of the file. */
interface CheckpointEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | null;
  readonly AllocResp: string | null;
}

interface CheckpointBody {
  readonly PodDeviceEntries: readonly CheckpointEntry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}

export function formatDeviceCheckpoint({ holders, registered }: DeviceCheckpoint): string {
  const entries = holders.map(({ podUid, container, resource, record }) => ({
    PodUID: podUid,
    ContainerName: container,
    ResourceName: resource,
    DeviceIDs: nullPrototype(
      [...record.idsByNode].sort(([a], [b]) => a - b).map(([node, ids]) => [String(node), ids]),
    ),
    AllocResp: ContainerAllocateResponse.encode(record.response).toString('base64'),
  }));
  const body: CheckpointBody = {
    PodDeviceEntries: entries.length === 0 ? null : entries,
    RegisteredDevices: nullPrototype([...registered].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
  return JSON.stringify({ Data: body, Checksum: checksumOf(body) });
}

/** Throws, with what is wrong, for anything that no kubelet has written. Entries whose answer cannot be read are left out. */
export function parseDeviceCheckpoint(text: string): DeviceCheckpoint {
  const outer: unknown = JSON.parse(text);
  if (!isObject(outer) || !isObject(outer.Data)) throw new Error('it has no data');
  const body = readBody(outer.Data);
  if (outer.Checksum !== checksumOf(body)) throw new Error('its checksum is wrong');
  return {
    holders: (body.PodDeviceEntries ?? []).flatMap(holderOf),
    registered: new Map(Object.entries(body.RegisteredDevices ?? {}).map(([name, ids]) => [name, ids ?? []])),
  };
}

function holderOf({
  PodUID,
  ContainerName,
  ResourceName,
  DeviceIDs,
  AllocResp,
}: CheckpointEntry): DeviceHolder[] {
  try {
    const response = ContainerAllocateResponse.decode(Buffer.from(AllocResp ?? '', 'base64'));
    const ids = Object.entries(DeviceIDs ?? {}).map(([node, list]): [number, readonly string[]] => [
      Number(node),
      list ?? [],
    ]);
    const record = { idsByNode: new Map(ids), response };
    return [{ podUid: PodUID, container: ContainerName, resource: ResourceName, record }];
  } catch {
    return [];
  }
}

function checksumOf(body: CheckpointBody): number {
  return fnv32a(new TextEncoder().encode(dumpOf(body)));
}

/** What the reference kubelet's checksum is taken of: its own notation of the data. */
function dumpOf({ PodDeviceEntries: entries, RegisteredDevices: registered }: CheckpointBody): string {
  const texts = entries?.map(
    ({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }) =>
      `{PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName} ` +
      `DeviceIDs:(checkpoint.DevicesPerNUMA)${dumpMap(DeviceIDs, (a, b) => Number(a) - Number(b))} ` +
      `AllocResp:([]uint8)${AllocResp === null ? '<nil>' : `[${[...Buffer.from(AllocResp, 'base64')].join(' ')}]`}}`,
  );
  const list = texts === undefined ? '<nil>' : `[${texts.join(' ')}]`;
  const devices = dumpMap(registered, (a, b) => (a < b ? -1 : 1));
  return `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${list} RegisteredDevices:(map[string][]string)${devices}}`;
}

function dumpMap(
  members: Readonly<Record<string, readonly string[] | null>> | null,
  order: (a: string, b: string) => number,
): string {
  if (members === null) return '<nil>';
  const texts = Object.entries(members)
    .sort(([a], [b]) => order(a, b))
    .map(([key, ids]) => `${key}:${ids === null ? '<nil>' : `[${ids.join(' ')}]`}`);
  return `map[${texts.join(' ')}]`;
}

function readBody(given: Record<string, unknown>): CheckpointBody {
  const { PodDeviceEntries: entries = null, RegisteredDevices: registered = null } = given;
  if (entries !== null && !Array.isArray(entries)) throw new Error('its entries are not a list');
  return {
    PodDeviceEntries: entries === null ? null : entries.map(readEntry),
    RegisteredDevices: registered === null ? null : readLists(registered),
  };
}

function readEntry(given: unknown): CheckpointEntry {
  if (!isObject(given)) throw new Error('an entry is not that of a container');
  const { PodUID, ContainerName, ResourceName, DeviceIDs = null, AllocResp = null } = given;
  if (
    typeof PodUID !== 'string' ||
    typeof ContainerName !== 'string' ||
    typeof ResourceName !== 'string' ||
    (AllocResp !== null && typeof AllocResp !== 'string')
  ) {
    throw new Error('an entry is not that of a container');
  }
  const ids = DeviceIDs === null ? null : readLists(DeviceIDs);
  if (!Object.keys(ids ?? {}).every((node) => /^-?\d{1,9}$/.test(node))) {
    throw new Error('devices of an entry are not sorted by NUMA node');
  }
  return { PodUID, ContainerName, ResourceName, DeviceIDs: ids, AllocResp };
}

function readLists(given: unknown): Record<string, readonly string[] | null> {
  if (!isObject(given)) throw new Error('devices are not a mapping');
  return nullPrototype(
    Object.entries(given).map(([name, ids]) => {
      if (ids === null) return [name, null];
      if (!Array.isArray(ids) || !ids.every((id): id is string => typeof id === 'string')) {
        throw new Error('devices are not lists of ids');
      }
      return [name, ids];
    }),
  );
}

/** So that no name is special. */
function nullPrototype<T>(entries: readonly (readonly [string, T] | [string, T])[]): Record<string, T> {
  const object: Record<string, T> = Object.create(null);
  for (const [name, value] of entries) object[name] = value;
  return object;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
