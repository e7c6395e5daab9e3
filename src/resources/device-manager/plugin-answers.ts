/** Judges what device plugins say: everything is bounded and checked before anything is done with it. */
import { isAbsolute, normalize } from 'node:path/posix';
import type { PluginDevice } from './contracts.js';
import {
  type AllocateResponse,
  ContainerAllocateResponse,
  type ListAndWatchResponse,
  type PreferredAllocationResponse,
} from './gen/device-plugin.js';
import { deviceLimits } from './limits.js';

export type JudgedDevices =
  | { readonly kind: 'taken'; readonly devices: ReadonlyMap<string, PluginDevice> }
  | { readonly kind: 'refused'; readonly problem: string };

/** The last of two devices with one id counts, as a later report would. */
export function judgeDevices({ devices }: ListAndWatchResponse): JudgedDevices {
  if (devices.length > deviceLimits.devices) {
    return refused(`it reports ${devices.length} devices; at most ${deviceLimits.devices} are taken`);
  }
  const taken = new Map<string, PluginDevice>();
  for (const { id, health, topology } of devices) {
    const problem = idProblem(id);
    if (problem !== undefined) return refused(problem);
    if (health.length > deviceLimits.healthChars) return refused(`the health of device ${id} is too long`);
    const nodes = topology?.nodes ?? [];
    if (nodes.length > deviceLimits.numaNodesPerDevice) {
      return refused(`device ${id} is near ${nodes.length} NUMA nodes`);
    }
    const numaNodes = [...new Set(nodes.map((node) => node.id))].sort((a, b) => a - b);
    taken.set(id, { id, health, numaNodes });
  }
  return { kind: 'taken', devices: taken };
}

/** Ids that nobody offered are left out by whoever uses the answer. */
export function judgePreferred({ containerResponses }: PreferredAllocationResponse): readonly string[] {
  return (containerResponses[0]?.deviceIDs ?? []).slice(0, deviceLimits.preferredDevices);
}

export type JudgedAllocation =
  | { readonly kind: 'taken'; readonly response: ContainerAllocateResponse }
  | { readonly kind: 'refused'; readonly problem: string };

export function judgeAllocation({ containerResponses }: AllocateResponse): JudgedAllocation {
  const [response] = containerResponses;
  if (response === undefined) {
    return refused(
      'no containers return in allocation response &AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}',
    );
  }
  const problem = countProblem(response) ?? contentProblem(response);
  if (problem !== undefined) return refused(problem);
  const bytes = ContainerAllocateResponse.encode(response).length;
  if (bytes > deviceLimits.allocationBytes) {
    return refused(
      `the device plugin's answer has ${bytes} bytes; at most ${deviceLimits.allocationBytes} are taken`,
    );
  }
  return { kind: 'taken', response };
}

function countProblem({
  envs,
  mounts,
  devices,
  annotations,
  cdiDevices,
}: ContainerAllocateResponse): string | undefined {
  const counts: readonly (readonly [string, number, number])[] = [
    ['variables', Object.keys(envs).length, deviceLimits.envs],
    ['mounts', mounts.length, deviceLimits.mounts],
    ['devices', devices.length, deviceLimits.deviceNodes],
    ['annotations', Object.keys(annotations).length, deviceLimits.annotations],
    ['CDI devices', cdiDevices.length, deviceLimits.cdiDevices],
  ];
  for (const [what, count, most] of counts) {
    if (count > most) return `the device plugin's answer has ${count} ${what}; at most ${most} are taken`;
  }
  return undefined;
}

function contentProblem({
  envs,
  mounts,
  devices,
  annotations,
  cdiDevices,
}: ContainerAllocateResponse): string | undefined {
  for (const [name, value] of Object.entries(envs)) {
    if (name === '' || name.includes('=') || isUnfit(name) || isUnfit(value)) {
      return `the device plugin's answer has an unusable variable ${shown(name)}`;
    }
  }
  for (const { containerPath, hostPath } of [...mounts, ...devices]) {
    for (const path of [containerPath, hostPath]) {
      if (!isUsablePath(path)) return `the device plugin's answer has an unusable path ${shown(path)}`;
    }
  }
  for (const { permissions } of devices) {
    if (!/^[rwm]{0,3}$/.test(permissions)) {
      return `the device plugin's answer has unusable permissions ${shown(permissions)}`;
    }
  }
  for (const [name, value] of Object.entries(annotations)) {
    if (name === '' || isUnfit(name) || isUnfit(value)) {
      return `the device plugin's answer has an unusable annotation ${shown(name)}`;
    }
  }
  for (const { name } of cdiDevices) {
    if (name === '' || isUnfit(name)) {
      return `the device plugin's answer has an unusable CDI device ${shown(name)}`;
    }
  }
  return undefined;
}

/** A plugin may name any path of the machine, but one that says plainly which. */
function isUsablePath(path: string): boolean {
  if (isUnfit(path) || !isAbsolute(path)) return false;
  return !normalize(path).includes('\0') && !path.split('/').includes('..');
}

function isUnfit(text: string): boolean {
  return text.includes('\0') || Buffer.byteLength(text) > deviceLimits.textBytes;
}

function idProblem(id: string): string | undefined {
  if (id === '') return 'it reports a device without an id';
  if (Buffer.byteLength(id) > deviceLimits.deviceIdBytes) {
    return `it reports a device whose id has more than ${deviceLimits.deviceIdBytes} bytes`;
  }
  // Ids go into paths, logs and files.
  for (const character of id) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f) return `it reports a device with an unprintable id ${shown(id)}`;
  }
  return undefined;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function refused(problem: string): { readonly kind: 'refused'; readonly problem: string } {
  return { kind: 'refused', problem };
}
