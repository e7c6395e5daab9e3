/** The file of claims in use, as the reference kubelet writes it, so that either reads the other's. */
import { crc32 } from 'node:zlib';
import type { ClaimDriver, ClaimRecord, PreparedDevice } from './contracts.js';

const header = { kind: 'DRACheckpoint', apiVersion: 'checkpoint.dra.kubelet.k8s.io/v1' };

/** Undefined stands for the very first file, which has no list at all. */
export function formatDraCheckpoint(claims: readonly ClaimRecord[] | undefined): string {
  const text = JSON.stringify({ ...header, ClaimInfoStateList: claims?.map(claimJson) ?? null });
  return JSON.stringify({ Data: text, Checksum: crc32(text) });
}

function claimJson({ uid, name, namespace, podUids, drivers }: ClaimRecord): object {
  return {
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: Object.fromEntries([...podUids].sort().map((pod) => [pod, {}])),
    DriverState: Object.fromEntries(
      [...drivers]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([driver, { devices, skipNodeOperations }]) => [
          driver,
          {
            Devices: devices?.map(deviceJson) ?? null,
            ...(skipNodeOperations.length === 0 ? {} : { skipNodeOperations }),
          },
        ]),
    ),
  };
}

function deviceJson({ poolName, deviceName, shareId, requestNames, cdiDeviceIds }: PreparedDevice): object {
  return {
    PoolName: poolName,
    DeviceName: deviceName,
    ShareID: shareId ?? null,
    RequestNames: requestNames,
    CDIDeviceIDs: cdiDeviceIds,
  };
}

/** A file whose sum is wrong but which still tells of claims is `damaged`: what it tells is better than nothing. */
export type ReadDraCheckpoint =
  | { readonly kind: 'read'; readonly claims: readonly ClaimRecord[] }
  | { readonly kind: 'damaged'; readonly claims: readonly ClaimRecord[]; readonly problem: string };

/** Throws, with what is wrong, for anything that tells of no claims. */
export function parseDraCheckpoint(text: string): ReadDraCheckpoint {
  const outer: unknown = JSON.parse(text);
  if (!isObject(outer) || typeof outer.Data !== 'string') throw new Error('it has no data');
  const inner: unknown = JSON.parse(outer.Data);
  if (!isObject(inner)) throw new Error('its data are no object');
  const list = inner.ClaimInfoStateList ?? [];
  if (!Array.isArray(list)) throw new Error('its claims are no list');
  const claims = list.map(readClaim);
  return outer.Checksum === crc32(outer.Data)
    ? { kind: 'read', claims }
    : { kind: 'damaged', claims, problem: 'its checksum is wrong' };
}

function readClaim(given: unknown): ClaimRecord {
  if (!isObject(given)) throw new Error('a claim is no object');
  const drivers = isObject(given.DriverState) ? Object.entries(given.DriverState) : [];
  return {
    uid: textOf(given.ClaimUID),
    name: textOf(given.ClaimName),
    namespace: textOf(given.Namespace),
    podUids: new Set(isObject(given.PodUIDs) ? Object.keys(given.PodUIDs) : []),
    drivers: new Map(drivers.map(([name, state]) => [name, readDriver(state)])),
  };
}

function readDriver(given: unknown): ClaimDriver {
  if (!isObject(given)) throw new Error('the state of a driver is no object');
  return {
    devices: Array.isArray(given.Devices) ? given.Devices.map(readDevice) : undefined,
    skipNodeOperations: textsOf(given.skipNodeOperations),
  };
}

function readDevice(given: unknown): PreparedDevice {
  if (!isObject(given)) throw new Error('a device is no object');
  return {
    poolName: textOf(given.PoolName),
    deviceName: textOf(given.DeviceName),
    shareId: typeof given.ShareID === 'string' ? given.ShareID : undefined,
    requestNames: textsOf(given.RequestNames),
    cdiDeviceIds: textsOf(given.CDIDeviceIDs),
  };
}

function textOf(given: unknown): string {
  if (given === undefined || given === null) return '';
  if (typeof given !== 'string') throw new Error('a name is no text');
  return given;
}

function textsOf(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.map(textOf) : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
