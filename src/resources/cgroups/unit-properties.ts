/** Translates the values of a cgroup into properties of a systemd unit. */
import type { UnitProperty } from '../../dbus/index.js';
import { cpuWeight } from '../../kube/index.js';
import type { SliceUnit } from './names.js';
import { type CgroupValues, type CpuQuota, defaultPeriodMicros, type UnifiedFile } from './values.js';

const infinity = 2n ** 64n - 1n;
/** systemd counts CPU time in whole percents of a CPU. */
const percentMicros = 10_000;
const microsPerSecond = 1_000_000;
const versionWithQuotaPeriod = 242;
const versionWithAllowedCpus = 244;

const unifiedProperties: Readonly<Record<UnifiedFile, string>> = {
  'memory.min': 'MemoryMin',
  'memory.low': 'MemoryLow',
  'memory.high': 'MemoryHigh',
};

/** What a slice is started with; its limits follow later. */
export function sliceProperties({ unit, parent }: SliceUnit, version: 1 | 2): readonly UnitProperty[] {
  const accounted = ['Memory', 'CPU', version === 2 ? 'IO' : 'BlockIO', 'Tasks'];
  return [
    { name: 'Description', signature: 's', value: `libcontainer container ${unit}` },
    { name: 'Wants', signature: 'as', value: [parent] },
    ...accounted.map((what): UnitProperty => ({ name: `${what}Accounting`, signature: 'b', value: true })),
    { name: 'DefaultDependencies', signature: 'b', value: false },
  ];
}

export interface UnitPropertyContext {
  readonly version: 1 | 2;
  /** -1 if unknown. */
  readonly systemdVersion: number;
}

export function valueProperties(values: CgroupValues, context: UnitPropertyContext): readonly UnitProperty[] {
  const { cpuShares = 0, cpuQuota, memoryLimitBytes = 0, pidsLimit, cpus = '', unified = {} } = values;
  const { version, systemdVersion } = context;
  const number = (name: string, value: number): UnitProperty => ({
    name,
    signature: 't',
    value: bounded(value),
  });
  const properties: UnitProperty[] = [];
  if (memoryLimitBytes !== 0)
    properties.push(number(version === 2 ? 'MemoryMax' : 'MemoryLimit', memoryLimitBytes));
  if (cpuShares !== 0)
    properties.push(
      version === 2 ? number('CPUWeight', cpuWeight(cpuShares)) : number('CPUShares', cpuShares),
    );
  if (cpuQuota !== undefined) properties.push(...quotaProperties(cpuQuota, systemdVersion));
  if (pidsLimit !== undefined) properties.push(number('TasksMax', pidsLimit === 0 ? 1 : pidsLimit));
  if (cpus !== '' && systemdVersion >= versionWithAllowedCpus)
    properties.push({ name: 'AllowedCPUs', signature: 'ay', value: cpuBits(cpus) });
  if (version === 2) {
    for (const file of ['memory.min', 'memory.low', 'memory.high'] as const) {
      const text = unified[file];
      if (text === undefined) continue;
      const value = text === 'max' ? infinity : BigInt(text);
      properties.push({ name: unifiedProperties[file], signature: 't', value });
    }
  }
  return properties;
}

function bounded(value: number): bigint {
  return value < 0 ? infinity : BigInt(Math.trunc(value));
}

function quotaProperties(quota: CpuQuota, systemdVersion: number): UnitProperty[] {
  const { quotaMicros, periodMicros } = quota;
  if (quotaMicros === 0 && periodMicros === 0) return [];
  const perSecond = quotaMicros > 0 ? BigInt(microsPerSecondOf(quota)) : infinity;
  return [
    ...(periodMicros !== 0 && systemdVersion >= versionWithQuotaPeriod
      ? [{ name: 'CPUQuotaPeriodUSec', signature: 't', value: BigInt(periodMicros) } as const]
      : []),
    { name: 'CPUQuotaPerSecUSec', signature: 't', value: perSecond },
  ];
}

/** Rounded up to what systemd can say. */
function microsPerSecondOf({ quotaMicros, periodMicros }: CpuQuota): number {
  const exact = Math.floor((quotaMicros * microsPerSecond) / (periodMicros || defaultPeriodMicros));
  return Math.ceil(exact / percentMicros) * percentMicros;
}

/** The values with the quota that systemd makes of theirs, so that the file says the same. */
export function asSystemdRounds(values: CgroupValues): CgroupValues {
  const { cpuQuota } = values;
  if (cpuQuota === undefined || cpuQuota.quotaMicros <= 0) return values;
  const periodMicros = cpuQuota.periodMicros || defaultPeriodMicros;
  const quotaMicros = Math.floor((microsPerSecondOf(cpuQuota) * periodMicros) / microsPerSecond);
  return { ...values, cpuQuota: { quotaMicros, periodMicros: cpuQuota.periodMicros } };
}

/** The highest CPU number that a list may have; more than any kernel has. */
const maxCpu = 65_535;

/** A bit for each CPU of a list such as `0-3,8`, lowest first, without trailing zero bytes. */
export function cpuBits(list: string): Uint8Array {
  const cpus = list.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part) ?? [];
    if (first === undefined || last === undefined || Number(last) > maxCpu || Number(first) > Number(last))
      throw new Error(`${JSON.stringify(list)} is not a list of CPUs such as 0-3,8`);
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index);
  });
  const bytes = new Uint8Array((Math.max(...cpus) >> 3) + 1);
  for (const cpu of cpus) bytes[cpu >> 3] = (bytes[cpu >> 3] ?? 0) | (1 << (cpu & 7));
  return bytes;
}
