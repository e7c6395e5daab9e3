/** Parses what a cgroup read from and wrote to block devices: `io.stat` of version 2, `blkio.*` of version 1. */
import type { CgroupText } from './cgroup.js';
import { statsLimits } from './limits.js';

/** Figures of one device; those that the kernel does not tell are absent. */
export interface DeviceIo {
  readonly major: string;
  readonly minor: string;
  /** By operation: Read, Write, and with version 1 others and Total. */
  readonly bytes: ReadonlyMap<string, number>;
  readonly operations: ReadonlyMap<string, number>;
  readonly sectors?: ReadonlyMap<string, number> | undefined;
  readonly merged?: ReadonlyMap<string, number> | undefined;
  /** Nanoseconds. */
  readonly serviceTime?: ReadonlyMap<string, number> | undefined;
  readonly queued?: ReadonlyMap<string, number> | undefined;
  /** What the cost model charged, in microseconds. */
  readonly cost?: {
    readonly usage: number;
    readonly wait: number;
    readonly indebt: number;
    readonly indelay: number;
  };
}

const deviceNumbers = /^(\d{1,5}):(\d{1,8})$/;
const deviceLine = /^\d{1,5}:\d{1,8} /m;

/** `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 cost.usage=7` */
export function ioStatDevices(text: string): DeviceIo[] {
  const found: DeviceIo[] = [];
  for (const line of text.split('\n', statsLimits.devices)) {
    const [numbers = '', ...fields] = line.split(' ');
    const [, major, minor] = deviceNumbers.exec(numbers) ?? [];
    if (major === undefined || minor === undefined) continue;
    const values = new Map<string, number>();
    for (const field of fields) {
      const at = field.indexOf('=');
      const value = at < 0 ? Number.NaN : Number(field.slice(at + 1));
      if (value >= 0) values.set(field.slice(0, at), value);
    }
    const value = (key: string): number => values.get(key) ?? 0;
    found.push({
      major,
      minor,
      bytes: readsAndWrites(value('rbytes'), value('wbytes')),
      operations: readsAndWrites(value('rios'), value('wios')),
      ...(values.has('cost.usage')
        ? {
            cost: {
              usage: value('cost.usage'),
              wait: value('cost.wait'),
              indebt: value('cost.indebt'),
              indelay: value('cost.indelay'),
            },
          }
        : {}),
    });
  }
  return found;
}

function readsAndWrites(reads: number, writes: number): ReadonlyMap<string, number> {
  return new Map([
    ['Read', reads],
    ['Write', writes],
  ]);
}

/** Files that belong together: which scheduler of the kernel writes them. */
export interface BlkioSet {
  readonly prefix: string;
  readonly suffix: '' | '_recursive';
  /** Whether there are sectors, merges, times and queues, too. */
  readonly isFull: boolean;
}

/** The first whose first file has lines counts. */
const allBlkioSets: readonly BlkioSet[] = [
  { prefix: 'blkio.bfq.', suffix: '_recursive', isFull: true },
  { prefix: 'blkio.bfq.', suffix: '_recursive', isFull: false },
  { prefix: 'blkio.', suffix: '_recursive', isFull: true },
  { prefix: 'blkio.throttle.', suffix: '_recursive', isFull: false },
  { prefix: 'blkio.throttle.', suffix: '', isFull: false },
];

function firstFile({ prefix, suffix, isFull }: BlkioSet): string {
  return `${prefix}${isFull ? 'sectors' : 'io_serviced'}${suffix}`;
}

/** The sets that this machine has at all, so that no other is looked for in each cgroup. */
export function blkioSetsOf(root: CgroupText): BlkioSet[] {
  return allBlkioSets.filter((set) => root(firstFile(set)) !== undefined);
}

export function blkioDevices(read: CgroupText, sets: readonly BlkioSet[] = allBlkioSets): DeviceIo[] {
  for (const set of sets) {
    const first = read(firstFile(set));
    if (first === undefined || first.trim() === '') continue;
    // Both files of such a set count the same requests.
    if (!set.isFull && !deviceLine.test(first)) return [];
    const figures = (name: string): ReadonlyMap<string, Map<string, number>> =>
      blkioFigures(read(`${set.prefix}${name}${set.suffix}`) ?? '');
    const bytes = figures('io_service_bytes');
    const operations = figures('io_serviced');
    const full = set.isFull
      ? {
          sectors: blkioFigures(first),
          merged: figures('io_merged'),
          serviceTime: figures('io_service_time'),
          queued: figures('io_queued'),
        }
      : undefined;
    const devices = [...new Set([...bytes.keys(), ...operations.keys()])].slice(0, statsLimits.devices);
    return devices.map((device) => {
      const [major = '', minor = ''] = device.split(':');
      return {
        major,
        minor,
        bytes: bytes.get(device) ?? new Map(),
        operations: operations.get(device) ?? new Map(),
        ...(full === undefined
          ? {}
          : {
              sectors: full.sectors.get(device),
              merged: full.merged.get(device),
              serviceTime: full.serviceTime.get(device),
              queued: full.queued.get(device),
            }),
      };
    });
  }
  return [];
}

/** `8:0 Read 123` and `8:0 123`; the last line is the total of all devices. */
function blkioFigures(text: string): Map<string, Map<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const line of text.split('\n')) {
    const [device = '', ...rest] = line.split(' ');
    const [operation, value] = rest.length === 1 ? ['Count', rest[0]] : rest;
    if (!deviceNumbers.test(device) || operation === undefined || !/^\d{1,20}$/.test(value ?? '')) continue;
    const of = found.get(device) ?? new Map<string, number>();
    of.set(operation, Number(value));
    found.set(device, of);
  }
  return found;
}
