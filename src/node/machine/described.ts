/** A machine that is told instead of read: a virtual node describes what it pretends to be. */
import type { HugePages, MachineInfo, PlatformFacts } from './facts.js';

export interface DescribedMachine {
  /** Whole logical CPUs. */
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Size of the file system that pods write to. */
  readonly ephemeralStorageBytes: number;
  /** @default 0 */
  readonly swapBytes?: number;
  /** @default none */
  readonly hugePages?: readonly HugePages[];
  /**
   * Kubernetes' name of the processor: `amd64`, `arm64`.
   * @default amd64
   */
  readonly architecture?: string;
  /** @default nodelet virtual machine */
  readonly osImage?: string;
  /** @default unknown */
  readonly kernelVersion?: string;
  /** @default empty */
  readonly machineId?: string;
  /** @default machineId */
  readonly systemUuid?: string;
  /**
   * Another one than before tells the cluster of a reboot.
   * @default empty
   */
  readonly bootId?: string;
}

/** What the node reports as its capacity and identity. */
export function describedInfo(machine: DescribedMachine): MachineInfo {
  const { machineId = '' } = machine;
  return {
    cpus: machine.cpus,
    memoryBytes: machine.memoryBytes,
    swapBytes: machine.swapBytes ?? 0,
    hugePages: machine.hugePages ?? [],
    rootFilesystemBytes: machine.ephemeralStorageBytes,
    machineId,
    systemUuid: machine.systemUuid ?? machineId,
    bootId: machine.bootId ?? '',
  };
}

export function describedPlatform(machine: DescribedMachine): PlatformFacts {
  return {
    kernelVersion: machine.kernelVersion ?? 'unknown',
    osImage: machine.osImage ?? 'nodelet virtual machine',
    architecture: machine.architecture ?? 'amd64',
  };
}
