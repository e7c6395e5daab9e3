/** The file of what drivers told of their devices' health, as the reference kubelet writes it. */
import { formatTimestamp, parseTimestamp } from '../../kube/index.js';
import { type DriverHealth, deviceKey, type HealthName, type KnownHealth } from './health.js';

const nanosPerMs = 1_000_000;

export function formatHealthFile(drivers: ReadonlyMap<string, DriverHealth>): string {
  return JSON.stringify(
    objectOf(
      [...drivers].map(([driver, devices]) => [driver, { Devices: objectOf([...devices].map(entryOf)) }]),
    ),
  );
}

/** Throws for anything that is no such file. */
export function parseHealthFile(text: string): ReadonlyMap<string, DriverHealth> {
  const outer: unknown = JSON.parse(text);
  if (!isObject(outer)) throw new Error('it is no object');
  return new Map(
    Object.entries(outer).map(([driver, given]) => {
      const devices = isObject(given) && isObject(given.Devices) ? Object.values(given.Devices) : [];
      return [driver, new Map(devices.map(readDevice).map((device) => [deviceKey(device), device]))];
    }),
  );
}

function entryOf([key, device]: [string, KnownHealth]): [string, object] {
  const { poolName, deviceName, health, receivedAtMs, timeoutMs, message } = device;
  return [
    key,
    {
      PoolName: poolName,
      DeviceName: deviceName,
      Health: health,
      LastUpdated: formatTimestamp(receivedAtMs),
      HealthCheckTimeout: timeoutMs * nanosPerMs,
      Message: message,
    },
  ];
}

function readDevice(given: unknown): KnownHealth {
  if (!isObject(given)) throw new Error('a device is no object');
  const { PoolName, DeviceName, Health, LastUpdated, HealthCheckTimeout, Message } = given;
  return {
    poolName: String(PoolName ?? ''),
    deviceName: String(DeviceName ?? ''),
    health: nameOf(Health),
    receivedAtMs: (typeof LastUpdated === 'string' ? parseTimestamp(LastUpdated) : undefined) ?? 0,
    timeoutMs: typeof HealthCheckTimeout === 'number' ? HealthCheckTimeout / nanosPerMs : 0,
    message: typeof Message === 'string' ? Message : '',
  };
}

function nameOf(given: unknown): HealthName {
  return given === 'Healthy' || given === 'Unhealthy' ? given : 'Unknown';
}

function objectOf(entries: readonly [string, unknown][]): object {
  return Object.assign(
    Object.create(null),
    Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1))),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
