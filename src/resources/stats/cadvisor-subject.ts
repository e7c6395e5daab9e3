/** What `/metrics/cadvisor` has to say of the machine, of one cgroup or of one container. */
import type { DeviceIo } from './block-io.js';
import { workingSetOf } from './cgroup.js';
import type { DetailedSample } from './cgroup-sampler.js';
import { escaped, timeMsOf } from './exposition.js';
import { type InterfaceCounters, pressure } from './machine-files.js';
import type { DiskCounters, FilledFileSystem } from './mounted-file-systems.js';
import type {
  CpuStats,
  IoStats,
  MemoryStats,
  NetworkStats,
  PsiFigures,
  PsiStats,
  SwapStats,
} from './summary-types.js';

export interface CadvisorSubject {
  /** `container` is a container or a sandbox, `cgroup` any other: a pod's, a slice. */
  readonly kind: 'root' | 'cgroup' | 'container';
  /** In the text form. */
  readonly labels: string;
  readonly id: string;
  readonly createdMs: number | undefined;
  readonly startMs: number | undefined;
  readonly basics: CadvisorBasics;
  /** Undefined where only the runtime measures. */
  readonly sample: DetailedSample | undefined;
  readonly network: CadvisorNetwork | undefined;
  /** By the name of the device. */
  readonly devices: ReadonlyMap<string, DeviceIo>;
  readonly allDevices: readonly (DeviceIo & { readonly label: string })[];
  readonly fileSystems: readonly (FilledFileSystem & { readonly disk: DiskCounters | undefined })[];
}

/** What the kernel and the runtime both tell. */
export interface CadvisorBasics {
  readonly atMs: number | undefined;
  readonly cpuSeconds?: number | undefined;
  readonly usageBytes?: number | undefined;
  readonly workingSetBytes?: number | undefined;
  readonly rssBytes?: number | undefined;
  readonly swapBytes?: number | undefined;
  readonly pageFaults?: number | undefined;
  readonly majorPageFaults?: number | undefined;
  readonly stalls?: { readonly [R in 'cpu' | 'memory' | 'io']?: PsiStats | undefined } | undefined;
}

export interface CadvisorNetwork {
  readonly atMs: number | undefined;
  readonly interfaces: readonly (Pick<InterfaceCounters, 'name'> & {
    readonly receive: Partial<InterfaceCounters['receive']>;
    readonly transmit: Partial<InterfaceCounters['transmit']>;
  })[];
}

export interface SubjectLabels {
  readonly namespace?: string;
  readonly pod?: string;
  readonly container?: string;
  readonly image?: string;
  readonly name?: string;
  readonly id: string;
}

/** Always all six. */
export function subjectLabels({
  namespace = '',
  pod = '',
  container = '',
  image = '',
  name = '',
  id,
}: SubjectLabels): string {
  return `namespace="${escaped(namespace)}",pod="${escaped(pod)}",container="${escaped(container)}",image="${escaped(image)}",name="${escaped(name)}",id="${escaped(id)}"`;
}

export function basicsOfSample({ atMs, numbers, hasPressure }: DetailedSample): CadvisorBasics {
  return {
    atMs,
    cpuSeconds: Number(numbers.usageCoreNanoSeconds) / 1e9,
    usageBytes: numbers.usageBytes,
    workingSetBytes: workingSetOf(numbers),
    rssBytes: numbers.rssBytes,
    swapBytes: numbers.swapUsageBytes ?? 0,
    pageFaults: numbers.pageFaults,
    majorPageFaults: numbers.majorPageFaults,
    stalls: hasPressure
      ? {
          cpu: pressure(numbers.cpuPressure),
          memory: pressure(numbers.memoryPressure),
          io: pressure(numbers.ioPressure),
        }
      : undefined,
  };
}

export interface SummaryFigures {
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly io?: IoStats | undefined;
}

export function basicsOfSummary({ cpu, memory, swap, io }: SummaryFigures): CadvisorBasics {
  const nanoSeconds = cpu?.usageCoreNanoSeconds;
  return {
    atMs: timeMsOf(cpu?.time ?? memory?.time ?? null),
    cpuSeconds: nanoSeconds === undefined ? undefined : nanoSeconds / 1e9,
    usageBytes: memory?.usageBytes,
    workingSetBytes: memory?.workingSetBytes,
    rssBytes: memory?.rssBytes,
    swapBytes: swap?.swapUsageBytes,
    pageFaults: memory?.pageFaults,
    majorPageFaults: memory?.majorPageFaults,
    stalls: { cpu: told(cpu?.psi), memory: told(memory?.psi), io: told(io?.psi) },
  };
}

/** Zeros stand for a kernel without pressure figures. */
function told(psi: PsiStats | undefined): PsiStats | undefined {
  const isZero = ({ total, avg10, avg60, avg300 }: PsiFigures): boolean =>
    total + avg10 + avg60 + avg300 === 0;
  return psi === undefined || (isZero(psi.some) && isZero(psi.full)) ? undefined : psi;
}

export function networkOfSummary(network: NetworkStats | undefined): CadvisorNetwork | undefined {
  if (network === undefined) return undefined;
  return {
    atMs: timeMsOf(network.time),
    interfaces: network.interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
      name,
      receive: {
        ...(rxBytes === undefined ? {} : { bytes: rxBytes }),
        ...(rxErrors === undefined ? {} : { errors: rxErrors }),
      },
      transmit: {
        ...(txBytes === undefined ? {} : { bytes: txBytes }),
        ...(txErrors === undefined ? {} : { errors: txErrors }),
      },
    })),
  };
}
