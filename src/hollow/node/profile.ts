/** What a hollow node pretends to be, with every default filled in. */

import type { Taint } from '../../kube/index.js';
import type { DescribedMachine } from '../../node/index.js';

export interface NodeProfile {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
  /** How many pods the node takes. */
  readonly pods: number;
  readonly architecture: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

const GiB = 1024 ** 3;

export const defaultProfile: NodeProfile = {
  cpus: 32,
  memoryBytes: 256 * GiB,
  ephemeralStorageBytes: 500 * GiB,
  pods: 110,
  architecture: 'amd64',
  labels: {},
  taints: [],
};

/** The label of every hollow node, so that a cluster can tell them from others. */
export const hollowLabels: Readonly<Record<string, string>> = { 'nodelet.dev/hollow': 'true' };

/** `boots` makes the identity of a boot: a node that comes back from the dead has another one. */
export function describedMachine(profile: NodeProfile, nodeName: string, boots: number): DescribedMachine {
  const { cpus, memoryBytes, ephemeralStorageBytes, architecture } = profile;
  return {
    cpus,
    memoryBytes,
    ephemeralStorageBytes,
    architecture,
    osImage: 'nodelet hollow node',
    kernelVersion: '6.12.0-hollow',
    machineId: nodeName,
    bootId: `${nodeName}-${boots}`,
  };
}
