/** The entry of the timeline about a known fault of the runtime. */
import { BoundedMap } from '../async/index.js';
import {
  CriError,
  type CriMethodName,
  criLabels,
  faultText,
  type KnownFaultId,
  knownFaults,
  type ObservedContainerStatus,
  recogniseFault,
} from '../cri/index.js';
import type { EntryInit, PodRef, Timeline } from '../timeline/index.js';

/** The oldest container beyond this is forgotten, and told of once more. */
const maxTold = 1_000;

export interface FaultSubject {
  readonly pod?: PodRef | undefined;
  readonly container?: string | undefined;
  readonly error?: unknown;
}

export function faultEntry(
  fault: KnownFaultId,
  { pod, container, error }: FaultSubject = {},
): EntryInit<'runtime.fault'> {
  return {
    kind: 'problem',
    what: 'runtime.fault',
    message: faultText(fault),
    level: knownFaults[fault].level,
    data: { fault },
    ...(pod === undefined ? {} : { pod }),
    ...(container === undefined ? {} : { container }),
    ...(error === undefined ? {} : { error }),
  };
}

/** Records the known fault that explains why the call failed, if one does. */
export function recordFailure(
  timeline: Pick<Timeline, 'record'>,
  call: CriMethodName,
  error: unknown,
  subject: Omit<FaultSubject, 'error'>,
): void {
  if (!(error instanceof CriError)) return;
  const fault = recogniseFault({ seen: 'failure', call, error });
  if (fault !== undefined) timeline.record(faultEntry(fault, { ...subject, error }));
}

/** Records the fault that readings of a container show, once for each container. */
export function faultOfContainer(
  timeline: Pick<Timeline, 'record'>,
): (fault: KnownFaultId, status: ObservedContainerStatus) => void {
  const told = new BoundedMap<string, KnownFaultId>({ maxEntries: maxTold });
  return (fault, { id, name, labels }) => {
    if (told.get(id) === fault) return;
    told.set(id, fault);
    const pod = {
      uid: labels[criLabels.podUid] ?? '',
      name: labels[criLabels.podName] ?? '',
      namespace: labels[criLabels.podNamespace] ?? '',
    };
    timeline.record(faultEntry(fault, { pod, container: name }));
  };
}
