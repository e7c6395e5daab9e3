/** The families of file systems and block devices. */
import type { DeviceIo } from './block-io.js';
import type { CadvisorFamily } from './cadvisor-families.js';
import { escaped } from './exposition.js';
import type { DiskCounters, FilledFileSystem } from './mounted-file-systems.js';

function deviceText(device: string): string {
  return `device="${escaped(device)}"`;
}

/** Of the file systems of the machine. */
const filled = (
  name: string,
  help: string,
  field: Exclude<keyof FilledFileSystem, 'label' | 'target' | 'device'>,
): CadvisorFamily => ({
  name: `container_fs_${name}`,
  help,
  type: 'gauge',
  write({ fileSystems, basics }, emit) {
    for (const each of fileSystems) emit(each[field], basics.atMs, deviceText(each.label));
  },
});

interface BlockSource {
  /** The column of the kernel's disk counters, for the file systems of the machine. */
  readonly disk: Exclude<keyof DiskCounters, 'name'>;
  /** Of a cgroup's use of a device; undefined where it is not told. */
  readonly cgroup?: (io: DeviceIo) => number | undefined;
  readonly diskDivisor?: number;
}

/** The machine's file systems first; a device that has one is not shown twice. */
function block(
  name: string,
  type: CadvisorFamily['type'],
  help: string,
  source: BlockSource,
): CadvisorFamily {
  const { disk, cgroup, diskDivisor = 1 } = source;
  return {
    name: `container_fs_${name}`,
    help,
    type,
    write({ fileSystems, devices, basics: { atMs } }, emit) {
      for (const each of fileSystems)
        emit((each.disk?.[disk] ?? 0) / diskDivisor, atMs, deviceText(each.label));
      if (cgroup === undefined) return;
      for (const [device, io] of devices) {
        if (fileSystems.some(({ label }) => label === device)) continue;
        const value = cgroup(io);
        if (value !== undefined) emit(value, atMs, deviceText(device));
      }
    },
  };
}

/** The reference takes milliseconds for nanoseconds here, and dashboards are made for it. */
const millisecondsShown = 1e9;

function seconds(nanoseconds: number | undefined): number | undefined {
  return nanoseconds === undefined ? undefined : nanoseconds / 1e9;
}

const costs = (['usage', 'wait', 'indebt', 'indelay'] as const).map(
  (kind): CadvisorFamily => ({
    name: `container_fs_io_cost_${kind}_seconds_total`,
    help: `What the kernel's model of a device's cost charged as ${kind}, in seconds.`,
    type: 'counter',
    write({ devices, basics: { atMs } }, emit) {
      for (const [device, { cost }] of devices)
        if (cost !== undefined) emit(cost[kind] / 1e6, atMs, deviceText(device));
    },
  }),
);

export const blockFamilies: readonly CadvisorFamily[] = [
  filled('usage_bytes', 'Bytes of the file system that are in use.', 'usedBytes'),
  filled('limit_bytes', 'Bytes of the file system.', 'capacityBytes'),
  filled('inodes_free', 'Free inodes of the file system.', 'inodesFree'),
  filled('inodes_total', 'Inodes of the file system.', 'inodes'),
  block('reads_total', 'counter', 'Reads that were completed.', {
    disk: 'reads',
    cgroup: ({ operations }) => operations.get('Read'),
  }),
  block('writes_total', 'counter', 'Writes that were completed.', {
    disk: 'writes',
    cgroup: ({ operations }) => operations.get('Write'),
  }),
  ...(
    [
      ['reads', 'Read'],
      ['writes', 'Write'],
    ] as const
  ).map(
    ([name, operation]): CadvisorFamily => ({
      name: `container_fs_${name}_bytes_total`,
      help: `Bytes of ${name}.`,
      type: 'counter',
      write({ devices, basics: { atMs } }, emit) {
        for (const [device, { bytes }] of devices) {
          const value = bytes.get(operation);
          if (value !== undefined) emit(value, atMs, deviceText(device));
        }
      },
    }),
  ),
  block('sector_reads_total', 'counter', 'Sectors that were read.', {
    disk: 'sectorsRead',
    cgroup: ({ sectors }) => sectors?.get('Read'),
  }),
  block('sector_writes_total', 'counter', 'Sectors that were written.', {
    disk: 'sectorsWritten',
    cgroup: ({ sectors }) => sectors?.get('Write'),
  }),
  block('reads_merged_total', 'counter', 'Reads that were made one with others.', {
    disk: 'readsMerged',
    cgroup: ({ merged }) => merged?.get('Read'),
  }),
  block('writes_merged_total', 'counter', 'Writes that were made one with others.', {
    disk: 'writesMerged',
    cgroup: ({ merged }) => merged?.get('Write'),
  }),
  block('read_seconds_total', 'counter', 'Time spent reading, in seconds.', {
    disk: 'readMs',
    diskDivisor: millisecondsShown,
    cgroup: ({ serviceTime }) => seconds(serviceTime?.get('Read')),
  }),
  block('write_seconds_total', 'counter', 'Time spent writing, in seconds.', {
    disk: 'writeMs',
    diskDivisor: millisecondsShown,
    cgroup: ({ serviceTime }) => seconds(serviceTime?.get('Write')),
  }),
  block('io_time_seconds_total', 'counter', 'Time spent reading or writing, in seconds.', {
    disk: 'ioMs',
    diskDivisor: millisecondsShown,
    cgroup: ({ serviceTime }) => seconds(serviceTime?.get('Total')),
  }),
  block('io_current', 'gauge', 'Reads and writes in progress.', {
    disk: 'inProgress',
    cgroup: ({ queued }) => queued?.get('Total'),
  }),
  block(
    'io_time_weighted_seconds_total',
    'counter',
    'Time spent reading or writing, times those in progress, in seconds.',
    {
      disk: 'weightedIoMs',
      diskDivisor: millisecondsShown,
    },
  ),
  ...costs,
  {
    name: 'container_blkio_device_usage_total',
    help: 'Bytes of each operation on each device.',
    type: 'counter',
    write({ allDevices, basics: { atMs } }, emit) {
      for (const { label, major, minor, bytes } of allDevices)
        for (const [operation, value] of bytes)
          emit(
            value,
            atMs,
            `${deviceText(label)},major="${major}",minor="${minor}",operation="${escaped(operation)}"`,
          );
    },
  },
];
