/** What eviction needs of the rooms around it. */
import type { Pod } from '../../kube/index.js';
import type { PodStatsSummary } from '../stats/index.js';
import type { FileSystemFigures } from './layout.js';
import type { NodeFigures } from './signals.js';

/** One fresh look at the node. Pods cost more than all the rest, so they are measured only for who asks. */
export interface EvictionObservation {
  readonly figures: Omit<NodeFigures, 'nowMs'>;
  /** Measures all pods now. */
  pods(): Promise<readonly PodStatsSummary[]>;
}

export interface EvictionStats {
  observe(): Promise<EvictionObservation>;
  fileSystems(): Promise<FileSystemFigures>;
}

export interface EvictionKill {
  readonly graceSeconds: number;
  readonly message: string;
  /** Whether others are the reason, so that the pod's owner knows to start it elsewhere. */
  readonly isDisruption: boolean;
}

export interface EvictionPods {
  /** All pods that may still use something of the node. */
  active(): readonly Pod[];
  /** Resolves when the pod's containers have stopped; rejects when they do not in time. */
  kill(pod: Pod, kill: EvictionKill, signal: AbortSignal): Promise<void>;
  /** Whether nothing of the pod is left. */
  isFinished(uid: string): boolean;
}
