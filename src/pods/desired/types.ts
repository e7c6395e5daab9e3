/** What sources deliver, and the resulting updates for the sync loop. */
import type { Pod } from '../../kube/index.js';

export type SourceName = 'file' | 'http' | 'api';

/** All pods of a source at one moment. */
export interface Snapshot {
  readonly source: SourceName;
  readonly pods: readonly Pod[];
}

/**
 * DELETE is a graceful deletion, still an update of the pod; REMOVE means that the source no longer has it.
 */
export type PodOp = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

export interface ConfigUpdate {
  readonly op: PodOp;
  readonly source: SourceName;
  readonly pods: readonly Pod[];
}
