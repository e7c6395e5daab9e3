/** Parses the kernel's files about the machine. */
import { statsLimits } from './limits.js';
import type { InterfaceStats, PsiFigures, PsiStats } from './summary-types.js';

/**
 * The numbers of `key value` lines, as in cpu.stat and memory.stat. Searches for each key that is asked for: scrapes want a
 * dozen of fifty lines, and V8's own search is quick from the first scrape on.
 */
export class KeyedNumbers {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get(key: string): number | undefined {
    const start = this.#after(key);
    if (start < 0) return undefined;
    const end = this.#text.indexOf('\n', start);
    const rest = end < 0 ? this.#text.slice(start) : this.#text.slice(start, end);
    const [digits] = wholeDigits.exec(rest) ?? [];
    return digits === undefined ? undefined : Number(digits);
  }

  /** Where the value of the key begins; -1 without such a line. */
  #after(key: string): number {
    const begin = `${key} `;
    if (this.#text.startsWith(begin)) return begin.length;
    const found = this.#text.indexOf(`\n${begin}`);
    return found < 0 ? -1 : found + 1 + begin.length;
  }
}
const wholeDigits = /^\d{1,20}(?= |$)/;

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

/** How long the machine has run, from `/proc/uptime`. */
export function uptimeMs(text: string): number | undefined {
  const [, seconds] = /^(\d{1,12}(?:\.\d{1,6})?) /.exec(text) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** The number of processes, from the `running/total` of `/proc/loadavg`. */
export function processCount(text: string): number | undefined {
  const [, total] = /^\S+ \S+ \S+ \d+\/(\d+)/.exec(text) ?? [];
  return total === undefined ? undefined : Number(total);
}

const uncounted = /^(lo|veth|docker|nerdctl)/;

/** What went through one interface in one direction. */
export interface TrafficCounters {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

export interface InterfaceCounters {
  readonly name: string;
  readonly receive: TrafficCounters;
  readonly transmit: TrafficCounters;
}

/** `/proc/<pid>/net/dev`, without local interfaces. Whoever owns the network names its interfaces. */
export function interfaceCounters(text: string): InterfaceCounters[] {
  const found: InterfaceCounters[] = [];
  for (const line of text.split('\n')) {
    if (found.length === statsLimits.interfaces) break;
    const [, name = '', rest] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    if (rest === undefined || uncounted.test(name)) continue;
    const columns = rest.trim().split(/\s+/).map(Number);
    found.push({ name, receive: trafficAt(columns, 0), transmit: trafficAt(columns, 8) });
  }
  return found;
}

function trafficAt(columns: readonly number[], at: number): TrafficCounters {
  const [bytes = 0, packets = 0, errors = 0, dropped = 0] = columns.slice(at, at + 4).map((n) => n || 0);
  return { bytes, packets, errors, dropped };
}

/** The same for the summary. */
export function netDev(text: string): InterfaceStats[] {
  return interfaceCounters(text).map(summaryInterface);
}

export function summaryInterface({ name, receive, transmit }: InterfaceCounters): InterfaceStats {
  return {
    name,
    rxBytes: receive.bytes,
    rxErrors: receive.errors,
    txBytes: transmit.bytes,
    txErrors: transmit.errors,
  };
}

const noFigures: PsiFigures = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
const noPressure: PsiStats = { full: noFigures, some: noFigures };

/** `cpu.pressure` and its like; zeros if the kernel has none. */
export function pressure(text: string | undefined): PsiStats {
  if (text === undefined) return noPressure;
  return { full: stallsIn(fullLine.exec(text)?.[1]), some: stallsIn(someLine.exec(text)?.[1]) };
}
const fullLine = /^full (.*)$/m;
const someLine = /^some (.*)$/m;

/** `avg10=0.00 avg60=0.00 avg300=0.00 total=0` */
function stallsIn(fields: string | undefined): PsiFigures {
  if (fields === undefined) return noFigures;
  const found = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
  for (const field of fields.split(' ')) {
    const at = field.indexOf('=');
    const name = field.slice(0, Math.max(at, 0));
    if (name === 'total' || name === 'avg10' || name === 'avg60' || name === 'avg300')
      found[name] = Number(field.slice(at + 1));
  }
  return found;
}
