/** Builds the Kubernetes event of a timeline entry. */
import { randomUUID } from 'node:crypto';
import { type Event, formatTimestamp, type ObjectReference } from '../../kube/index.js';
import { dnsSubdomain } from '../../kube/manifests/validation/names.js';
import type { TimelineEntry } from '../../timeline/index.js';

const component = 'kubelet';
/** The namespace of events about cluster-scoped objects. */
const defaultNamespace = 'default';

export interface EventOrigin {
  readonly nodeName: string;
  /** Names an event; must be unique. */
  readonly nameOf: (objectName: string, timeMs: number) => string;
  /** Of the involved pod, if the API has it. */
  readonly resourceVersion?: string | undefined;
  /** Of the node, once the API has told of it. */
  readonly nodeUid?: string | undefined;
}

/** Undefined for an entry that is not an event. */
export function eventOf(entry: TimelineEntry, origin: EventOrigin): Event | undefined {
  const { nodeName, nameOf } = origin;
  const involvedObject = involvedObjectOf(entry, origin);
  if (entry.event === undefined || involvedObject === undefined) return undefined;
  const timestamp = formatTimestamp(entry.timeMs);
  const { annotations } = entry.event;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: nameOf(involvedObject.name ?? '', entry.timeMs),
      namespace: involvedObject.namespace || defaultNamespace,
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
    },
    involvedObject,
    reason: entry.event.reason,
    message: entry.message,
    source: { component, host: nodeName },
    firstTimestamp: timestamp,
    lastTimestamp: timestamp,
    count: 1,
    type: entry.event.type,
    reportingComponent: component,
    reportingInstance: nodeName,
  };
}

function involvedObjectOf(
  { event, pod }: TimelineEntry,
  { resourceVersion, nodeUid }: Pick<EventOrigin, 'resourceVersion' | 'nodeUid'>,
): ObjectReference | undefined {
  if (event?.node !== undefined) {
    const known = nodeUid === undefined ? {} : { uid: nodeUid };
    return { apiVersion: 'v1', kind: 'Node', name: event.node, ...known };
  }
  if (event?.claim !== undefined) return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...event.claim };
  if (event?.volume !== undefined) return { apiVersion: 'v1', kind: 'PersistentVolume', ...event.volume };
  if (pod === undefined) return undefined;
  const { uid, name, namespace } = pod;
  const fieldPath = event?.fieldPath === undefined ? {} : { fieldPath: event.fieldPath };
  const version = resourceVersion === undefined ? {} : { resourceVersion };
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, ...version, ...fieldPath };
}

/** Names by object and time, unique even within one clock tick. */
export function eventNames(): EventOrigin['nameOf'] {
  let lastNanos = 0n;
  return (objectName, timeMs) => {
    const nanos = BigInt(Math.round(timeMs * 1000)) * 1000n;
    lastNanos = nanos > lastNanos ? nanos : lastNanos + 1n;
    const name = `${objectName}.${lastNanos.toString(16)}`;
    return dnsSubdomain(name) === undefined ? name : randomUUID();
  };
}
