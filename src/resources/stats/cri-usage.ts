/** Converts the runtime's measurements to the Summary API. */
import type * as cri from '../../cri/index.js';
import type {
  CpuStats,
  InterfaceStats,
  IoStats,
  MemoryStats,
  NetworkStats,
  PsiFigures,
  PsiStats,
  StatsTime,
  SwapStats,
} from './summary-types.js';

/** To the millisecond, as deriving rates requires; the API decides what it publishes. */
export function statsTime(ms: number): StatsTime {
  return ms <= 0 ? null : new Date(ms).toISOString().replace('.000Z', 'Z');
}

export function statsTimeOfNs(ns: bigint): StatsTime {
  return statsTime(Number(ns / 1_000_000n));
}

/** The named field if the runtime reports the number, otherwise no field. */
export function known<K extends string>(
  name: K,
  value: { readonly value: number } | undefined,
): { [P in K]?: number } {
  // A computed name widens to any string; here it is the given one.
  return (value === undefined ? {} : { [name]: value.value }) as { [P in K]?: number };
}

/** `rateNanoCores` is for runtimes that report CPU time but no rate. */
export function cpuStats(usage: cri.CpuUsage, rateNanoCores?: number): CpuStats {
  return {
    time: statsTimeOfNs(usage.timestamp),
    ...(rateNanoCores === undefined ? {} : { usageNanoCores: rateNanoCores }),
    ...known('usageNanoCores', usage.usageNanoCores),
    ...known('usageCoreNanoSeconds', usage.usageCoreNanoSeconds),
    ...psi(usage.psi),
  };
}

export function memoryStats(usage: cri.MemoryUsage): MemoryStats {
  return {
    time: statsTimeOfNs(usage.timestamp),
    ...available(usage.availableBytes),
    ...known('usageBytes', usage.usageBytes),
    ...known('workingSetBytes', usage.workingSetBytes),
    ...known('rssBytes', usage.rssBytes),
    ...known('pageFaults', usage.pageFaults),
    ...known('majorPageFaults', usage.majorPageFaults),
    ...psi(usage.psi),
  };
}

/** Runtimes report 0 available for a container without a limit; so does, rarely, a full one. */
function available(value: { readonly value: number } | undefined): { availableBytes?: number } {
  return value === undefined || value.value === 0 ? {} : { availableBytes: value.value };
}

/** A value above this means no limit. */
const unlimitedBytes = 2 ** 62;

export function swapStats(usage: cri.SwapUsage): SwapStats {
  const left = usage.swapAvailableBytes;
  return {
    time: statsTimeOfNs(usage.timestamp),
    ...(left === undefined || left.value > unlimitedBytes ? {} : { swapAvailableBytes: left.value }),
    ...known('swapUsageBytes', usage.swapUsageBytes),
  };
}

export function ioStats(usage: cri.IoUsage): IoStats {
  return { time: statsTimeOfNs(usage.timestamp), ...psi(usage.psi) };
}

function psi(stats: cri.PsiStats | undefined): { psi?: PsiStats } {
  if (stats === undefined) return {};
  return { psi: { full: psiFigures(stats.full), some: psiFigures(stats.some) } };
}

function psiFigures(data: cri.PsiData | undefined): PsiFigures {
  const { total = 0, avg10 = 0, avg60 = 0, avg300 = 0 } = data ?? {};
  return { total: Number(total), avg10, avg60, avg300 };
}

/** The default interface. */
const defaultInterfaceName = 'eth0';

export function networkStats(usage: cri.NetworkUsage): NetworkStats {
  const all = usage.interfaces.length > 0 ? usage.interfaces : [usage.defaultInterface].filter(isThere);
  return networkOf(statsTimeOfNs(usage.timestamp), all.map(interfaceStats));
}

export function networkOf(time: StatsTime, interfaces: InterfaceStats[]): NetworkStats {
  const main = interfaces.find(({ name }) => name === defaultInterfaceName);
  return { time, name: '', ...main, interfaces };
}

function interfaceStats(usage: cri.NetworkInterfaceUsage): InterfaceStats {
  return {
    name: usage.name,
    ...known('rxBytes', usage.rxBytes),
    ...known('rxErrors', usage.rxErrors),
    ...known('txBytes', usage.txBytes),
    ...known('txErrors', usage.txErrors),
  };
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}
