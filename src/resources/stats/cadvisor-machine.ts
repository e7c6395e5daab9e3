/** The families of the machine, and what is read for them once. */
import { cpus, release, totalmem } from 'node:os';
import path from 'node:path';
import { expositionText, type Family } from './exposition.js';
import type { KernelFiles } from './kernel-files.js';
import { memInfo } from './machine-files.js';

export interface MachineShape {
  readonly cpuCores: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly dimms: readonly MemoryModules[];
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osVersion: string;
}

/** The modules of one type of memory. */
export interface MemoryModules {
  readonly type: string;
  readonly count: number;
  readonly capacityBytes: number;
}

/** Where a machine says what it is; `/` but for tests. */
export function readMachineShape(files: KernelFiles, root = '/'): MachineShape {
  const text = (name: string): string => files.read(path.join(root, name)) ?? '';
  const first = (...names: readonly string[]): string => {
    for (const name of names) {
      const value = text(name).replaceAll('\0', '').trim();
      if (value !== '') return value;
    }
    return '';
  };
  const memory = memInfo(text('proc/meminfo'));
  const topology = cpuTopology(text('proc/cpuinfo'));
  return {
    ...topology,
    cpuCores: topology.cpuCores || cpus().length,
    memoryBytes: memory.get('MemTotal') ?? totalmem(),
    swapBytes: memory.get('SwapTotal') ?? 0,
    dimms: memoryModules(files, path.join(root, 'sys/devices/system/edac/mc')),
    machineId: first('etc/machine-id', 'var/lib/dbus/machine-id'),
    systemUuid: first(
      'sys/class/dmi/id/product_uuid',
      'proc/device-tree/system-id',
      'proc/device-tree/vm,uuid',
      'etc/machine-id',
    ),
    bootId: first('proc/sys/kernel/random/boot_id'),
    kernelVersion: release(),
    osVersion: /^PRETTY_NAME=["']?(.*?)["']?$/m.exec(text('etc/os-release'))?.[1] ?? '',
  };
}

/** `/proc/cpuinfo`: online CPUs, the cores that they are on, and the sockets of those. */
export function cpuTopology(text: string): Pick<MachineShape, 'cpuCores' | 'physicalCores' | 'sockets'> {
  let cpuCores = 0;
  let socket = '';
  const sockets = new Set<string>();
  const cores = new Set<string>();
  for (const line of text.split('\n')) {
    const [, key, value = ''] = /^(processor|physical id|core id)\s*:\s*(\d+)/.exec(line) ?? [];
    if (key === 'processor') cpuCores++;
    if (key === 'physical id') {
      socket = value;
      sockets.add(value);
    }
    if (key === 'core id') cores.add(`${socket}/${value}`);
  }
  // Some machines do not tell: then each CPU is a core, on one socket.
  return { cpuCores, physicalCores: cores.size || cpuCores, sockets: sockets.size || Math.min(cpuCores, 1) };
}

/** Controllers and modules that are looked at. */
const maxControllers = 64;
const maxModules = 64;
const maxListed = 1_024;
const mebibyte = 1024 * 1024;

function memoryModules(files: KernelFiles, directory: string): MemoryModules[] {
  const found = new Map<string, { count: number; capacityBytes: number }>();
  const controllers = files.names(directory, maxListed).filter((name) => /^mc\d+$/.test(name));
  for (const controller of controllers.slice(0, maxControllers)) {
    const modules = files
      .names(path.join(directory, controller), maxListed)
      .filter((name) => /^(dimm|rank)\d+$/.test(name));
    for (const module of modules.slice(0, maxModules)) {
      const read = (name: string): string =>
        (files.read(path.join(directory, controller, module, name)) ?? '').trim();
      const mebibytes = Number(read('size'));
      const type = read('dimm_mem_type');
      if (type === '' || !(mebibytes > 0)) continue;
      const of = found.get(type) ?? { count: 0, capacityBytes: 0 };
      found.set(type, { count: of.count + 1, capacityBytes: of.capacityBytes + mebibytes * mebibyte });
    }
  }
  return [...found].map(([type, figures]) => ({ type, ...figures }));
}

export interface ScrapeErrors {
  readonly containers: boolean;
  readonly machine: boolean;
}

/** `machine` is undefined where it could not be read. */
export function machineText(
  machine: MachineShape | undefined,
  version: string,
  failed: ScrapeErrors,
): string {
  return expositionText([
    gauge(
      'container_scrape_error',
      'Whether the figures of containers could not be read.',
      failed.containers ? 1 : 0,
    ),
    machineError(failed.machine),
    ...(machine === undefined ? [] : machineFamilies(machine, version)),
  ]);
}

/** The machine's own families, for a page whose containers are not ours. */
export function machineOnlyText(machine: MachineShape | undefined): string {
  const families = machine === undefined ? [] : machineFamilies(machine, '');
  return expositionText([
    machineError(machine === undefined),
    ...families.filter(({ name }) => name.startsWith('machine_')),
  ]);
}

function machineError(failed: boolean): Family {
  return gauge(
    'machine_scrape_error',
    'Whether the figures of the machine could not be read.',
    failed ? 1 : 0,
  );
}

function machineFamilies(machine: MachineShape, version: string): Family[] {
  const labels = { boot_id: machine.bootId, machine_id: machine.machineId, system_uuid: machine.systemUuid };
  const of = (name: string, help: string, value: number): Family =>
    gauge(`machine_${name}`, help, value, labels);
  return [
    of('cpu_cores', 'CPUs.', machine.cpuCores),
    of('cpu_physical_cores', 'Cores.', machine.physicalCores),
    of('cpu_sockets', 'Sockets of CPUs.', machine.sockets),
    of('cpu_books', 'Books of CPUs; always 0 here.', 0),
    of('cpu_drawers', 'Drawers of CPUs; always 0 here.', 0),
    of('memory_bytes', 'Memory.', machine.memoryBytes),
    of('swap_bytes', 'Swap.', machine.swapBytes),
    of('nvm_avg_power_budget_watts', 'Power of persistent memory; always 0 here.', 0),
    {
      name: 'machine_nvm_capacity',
      help: 'Persistent memory by mode, in bytes; always 0 here.',
      type: 'gauge',
      samples: ['memory_mode', 'app_direct_mode'].map((mode) => ({ labels: { ...labels, mode }, value: 0 })),
    },
    {
      name: 'machine_dimm_count',
      help: 'Memory modules by type.',
      type: 'gauge',
      samples: machine.dimms.map(({ type, count }) => ({ labels: { ...labels, type }, value: count })),
    },
    {
      name: 'machine_dimm_capacity_bytes',
      help: 'Bytes of memory modules by type.',
      type: 'gauge',
      samples: machine.dimms.map(({ type, capacityBytes }) => ({
        labels: { ...labels, type },
        value: capacityBytes,
      })),
    },
    gauge(
      'cadvisor_version_info',
      'The versions of the kernel, of the system and of this agent; always 1.',
      1,
      {
        cadvisorRevision: '',
        cadvisorVersion: version,
        dockerVersion: '',
        kernelVersion: machine.kernelVersion,
        osVersion: machine.osVersion,
      },
    ),
  ];
}

function gauge(
  name: string,
  help: string,
  value: number,
  labels: Readonly<Record<string, string>> = {},
): Family {
  return { name, help, type: 'gauge', samples: [{ labels, value }] };
}
