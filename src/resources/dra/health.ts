/** Decides what is known of the health of a driver's devices, report by report. */
import type { DeviceHealth } from './gen/dra-health.js';
import { draLimits } from './limits.js';

export type HealthName = 'Healthy' | 'Unhealthy' | 'Unknown';

export interface KnownHealth {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: HealthName;
  /** This node's time: what drivers say of theirs does not count. */
  readonly receivedAtMs: number;
  readonly timeoutMs: number;
  readonly message: string;
}

export type DriverHealth = ReadonlyMap<string, KnownHealth>;

export interface HealthUpdate {
  readonly devices: DriverHealth;
  /** Devices whose pods have to be told. */
  readonly changed: readonly Pick<KnownHealth, 'poolName' | 'deviceName'>[];
  /** Whether anything that the file shows is different. */
  readonly isNews: boolean;
  /** Devices beyond the limit. */
  readonly leftOut: number;
}

const defaultTimeoutMs = 30_000;
const longestTimeoutMs = 365 * 24 * 3_600_000;

export function deviceKey({ poolName, deviceName }: Pick<KnownHealth, 'poolName' | 'deviceName'>): string {
  return `${poolName}/${deviceName}`;
}

/** Devices that a report leaves out are kept until their time is over. */
export function applyReport(
  known: DriverHealth,
  report: readonly DeviceHealth[],
  nowMs: number,
): HealthUpdate {
  const devices = new Map(known);
  const changed: KnownHealth[] = [];
  const reported = new Set<string>();
  let leftOut = 0;
  for (const given of report) {
    const next = healthOf(given, nowMs);
    const key = deviceKey(next);
    const before = devices.get(key);
    if (before === undefined && devices.size >= draLimits.healthDevices) {
      leftOut++;
      continue;
    }
    reported.add(key);
    devices.set(key, next);
    if (before === undefined || differs(before, next)) changed.push(next);
  }
  for (const [key, device] of known) {
    if (reported.has(key) || !isOver(device, nowMs)) continue;
    devices.delete(key);
    if (device.health !== 'Unknown') changed.push(device);
  }
  return { devices, changed, isNews: changed.length > 0 || devices.size !== known.size, leftOut };
}

/** What is told of a device now. */
export function healthNow(
  device: KnownHealth | undefined,
  nowMs: number,
): { readonly health: HealthName; readonly message: string } {
  if (device === undefined || isOver(device, nowMs)) return { health: 'Unknown', message: '' };
  return { health: device.health, message: device.message };
}

function isOver({ receivedAtMs, timeoutMs }: KnownHealth, nowMs: number): boolean {
  return nowMs - receivedAtMs > timeoutMs;
}

function differs(before: KnownHealth, next: KnownHealth): boolean {
  return (
    before.health !== next.health || before.message !== next.message || before.timeoutMs !== next.timeoutMs
  );
}

function healthOf(given: DeviceHealth, nowMs: number): KnownHealth {
  const seconds = given.healthCheckTimeoutSeconds;
  return {
    poolName: given.device?.poolName ?? '',
    deviceName: given.device?.deviceName ?? '',
    health: given.health === 1 ? 'Healthy' : given.health === 2 ? 'Unhealthy' : 'Unknown',
    receivedAtMs: nowMs,
    timeoutMs: seconds > 0 ? Math.min(seconds * 1000, longestTimeoutMs) : defaultTimeoutMs,
    message: cutMessage(given.message),
  };
}

/** No character is cut in two. */
export function cutMessage(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= draLimits.healthMessageBytes) return message;
  let end = draLimits.healthMessageBytes - 3;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.subarray(0, end).toString()}...`;
}
