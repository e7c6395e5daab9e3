/** What a process with hollow nodes is told to do, as plain data that a thread can be given; and what it is asked later. */
import type { KubeletConfiguration } from '../../config/index.js';
import type { HollowNodeRequest, HollowNodeStatus, HollowOutcome } from '../fleet/contracts.js';
import type { HollowNodeState } from '../node/contracts.js';
import type { HollowKubeletApi } from '../node/kubelet-api.js';

export interface HollowSettings {
  readonly kubeconfig: string;
  /** @default the current one */
  readonly context?: string | undefined;
  readonly nodesPerSecond: number;
  readonly sharesWatches: boolean;
  /** Whether events are written to the API. */
  readonly recordsEvents: boolean;
  /** How many calls a second go to the API server, leases and node statuses beside; undefined: no limit. */
  readonly callsPerSecond: number | undefined;
  /** The address of this machine that nodes report. */
  readonly nodeIp: string;
  /** Undefined: the nodes answer nobody. */
  readonly kubeletApi: HollowKubeletApi | undefined;
  readonly config: Partial<KubeletConfiguration>;
}

export type HollowAction = 'remove' | 'kill' | 'cut' | 'restore';

export interface HollowReport {
  readonly nodes: readonly HollowNodeStatus[];
  readonly watches: { readonly opened: number; readonly served: number };
}

/** A fleet wherever it runs: in this thread or in others. */
export interface HollowControl {
  add(nodes: readonly HollowNodeRequest[]): Promise<void>;
  act(action: HollowAction, names: readonly string[], keepsNodes: boolean): Promise<HollowOutcome[]>;
  report(): Promise<HollowReport>;
  stop(deletesNodes: boolean): Promise<HollowOutcome[]>;
}

/** Nodes by state. */
export function countStates(nodes: readonly HollowNodeStatus[]): Record<HollowNodeState, number> {
  const counts = { waiting: 0, starting: 0, ready: 0, cut: 0, dead: 0, failed: 0, gone: 0 };
  for (const { state } of nodes) counts[state]++;
  return counts;
}
