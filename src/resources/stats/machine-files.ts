/** Parses the kernel's files about the machine. */
import type { InterfaceStats, PsiFigures, PsiStats } from './summary-types.js';

/** `key value` lines, as in cpu.stat and memory.stat. */
export function keyedNumbers(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [key, value] = line.split(' ');
    if (key !== undefined && value !== undefined && /^\d{1,20}$/.test(value)) found.set(key, Number(value));
  }
  return found;
}

/** `/proc/meminfo`, in bytes. */
export function memInfo(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [, key = '', value] of text.matchAll(/^(\w+):\s+(\d+) kB$/gm))
    found.set(key, Number(value) * 1024);
  return found;
}

/** The boot time from `/proc/stat`, in milliseconds. */
export function bootTimeMs(text: string): number | undefined {
  const [, seconds] = /^btime (\d+)$/m.exec(text) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** The number of processes, from the `running/total` of `/proc/loadavg`. */
export function processCount(text: string): number | undefined {
  const [, total] = /^\S+ \S+ \S+ \d+\/(\d+)/.exec(text) ?? [];
  return total === undefined ? undefined : Number(total);
}

const uncounted = /^(lo|veth|docker|nerdctl)/;

/** `/proc/<pid>/net/dev`, without local interfaces. */
export function netDev(text: string): InterfaceStats[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', rest] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    if (rest === undefined || uncounted.test(name)) return [];
    const columns = rest.trim().split(/\s+/).map(Number);
    const [rxBytes = 0, , rxErrors = 0, , , , , , txBytes = 0, , txErrors = 0] = columns;
    return [{ name, rxBytes, rxErrors, txBytes, txErrors }];
  });
}

const noPressure: PsiFigures = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

/** `cpu.pressure` and its like; zeros if the kernel has none. */
export function pressure(text: string | undefined): PsiStats {
  const line = (kind: string): PsiFigures => {
    const [, fields] = new RegExp(`^${kind} (.*)$`, 'm').exec(text ?? '') ?? [];
    if (fields === undefined) return noPressure;
    const values = Object.fromEntries(fields.split(' ').map((field) => field.split('='))) as Record<
      string,
      string
    >;
    const numberOf = (name: string): number => Number(values[name] ?? 0);
    return {
      total: numberOf('total'),
      avg10: numberOf('avg10'),
      avg60: numberOf('avg60'),
      avg300: numberOf('avg300'),
    };
  };
  return { full: line('full'), some: line('some') };
}
