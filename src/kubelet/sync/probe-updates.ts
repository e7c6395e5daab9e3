/** What a probe result that changed leads to. */
import type { ProbeKind, ProbeUpdate } from '../../probes/index.js';

export interface ProbeUpdateOptions {
  readonly statuses: {
    setContainerReadiness(podUid: string, containerId: string, isReady: boolean): unknown;
    setContainerStarted(podUid: string, containerId: string, isStarted: boolean): unknown;
  };
  readonly sync: (uids: readonly string[]) => void;
}

/** Readiness and start show in the status at once; the sync that follows starts, restarts or ends containers. */
export function handleProbeUpdate(
  kind: ProbeKind,
  { podUid, containerId, result }: ProbeUpdate,
  { statuses, sync }: ProbeUpdateOptions,
): void {
  switch (kind) {
    case 'liveness':
      // Only a failure changes what must be done.
      if (result !== 'failure') return;
      break;
    case 'readiness':
      statuses.setContainerReadiness(podUid, containerId, result === 'success');
      break;
    case 'startup':
      statuses.setContainerStarted(podUid, containerId, result === 'success');
      break;
  }
  sync([podUid]);
}
