/** Decides what a source's new snapshot means for its earlier pods. */
import {
  configMirrorAnnotation,
  configSeenAnnotation,
  configSourceAnnotation,
  type Pod,
  podFullName,
  semanticEqual,
  unreadableField,
} from '../../kube/index.js';
import type { ConfigUpdate, PodOp, Snapshot } from './types.js';

/** Annotations that this agent sets itself; differences in them do not count. */
const localAnnotations = [configSourceAnnotation, configMirrorAnnotation, configSeenAnnotation];

export interface DuplicatePod {
  readonly pod: Pod;
  /** Such as `pod name "web"`. */
  readonly what: string;
}

export interface Merge {
  /** The source's pods by UID after the merge. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** The same as in the snapshot, for the next merge. */
  readonly snapshot: ReadonlyMap<string, Pod>;
  /** In the order in which they must be handled. */
  readonly updates: readonly ConfigUpdate[];
  /** Pods of the snapshot dropped because an earlier one has their full name or UID. */
  readonly duplicates: readonly DuplicatePod[];
  /** Pods of the snapshot that nobody could read. A known one keeps the spec that it had; a new one is dropped. */
  readonly unreadable: readonly UnreadablePod[];
}

export interface UnreadablePod {
  readonly pod: Pod;
  /** Such as `spec.priority is "high", not a whole number`. */
  readonly what: string;
}

export interface MergeSnapshotInput {
  /** The source's pods by UID before the merge. */
  readonly known: ReadonlyMap<string, Pod>;
  /** The pods of the source's last snapshot by UID: the same object again means no change. */
  readonly last?: ReadonlyMap<string, Pod>;
  readonly snapshot: Snapshot;
  /** The source has never delivered before. */
  readonly first: boolean;
  /** The value of `kubernetes.io/config.seen` for new pods. */
  readonly seen: string;
}

const order: readonly PodOp[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'];

export function mergeSnapshot({ known, last, snapshot, first, seen }: MergeSnapshotInput): Merge {
  const { source } = snapshot;
  const { unique, duplicates } = dropDuplicates(snapshot.pods);
  const changes: Record<PodOp, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  const pods = new Map<string, Pod>();
  const taken = new Map<string, Pod>();
  const unreadable: UnreadablePod[] = [];

  for (const given of unique) {
    const uid = given.metadata.uid;
    const existing = known.get(uid);
    taken.set(uid, given);
    const what = last?.get(uid) === given && existing !== undefined ? undefined : unreadableField(given);
    if (what !== undefined) unreadable.push({ pod: given, what });
    if (what !== undefined && existing === undefined) continue;
    const incoming = what === undefined || existing === undefined ? given : readable(existing, given);
    if (existing === undefined) {
      const added = withAnnotations(incoming, {
        [configSourceAnnotation]: source,
        [configSeenAnnotation]: seen,
      });
      pods.set(uid, added);
      changes.ADD.push(added);
      continue;
    }
    // A source with one changed pod among many must not cost a comparison of each.
    const op = last?.get(uid) === given ? undefined : classify(existing, incoming);
    if (op === undefined) {
      pods.set(uid, existing);
      continue;
    }
    const merged = op === 'RECONCILE' ? { ...existing, status: incoming.status } : update(existing, incoming);
    pods.set(uid, merged);
    changes[op].push(merged);
  }
  for (const [uid, pod] of known) if (!pods.has(uid)) changes.REMOVE.push(pod);

  const updates: ConfigUpdate[] = [];
  for (const op of order) {
    if (changes[op].length > 0) updates.push({ op, source, pods: changes[op] });
    // The first snapshot must be delivered even if empty, so that the source counts as ready.
    else if (op === 'DELETE' && first && !updates.some((made) => made.op !== 'REMOVE')) {
      updates.push({ op: 'ADD', source, pods: [] });
    }
  }
  return { pods, snapshot: taken, updates, duplicates, unreadable };
}

/** The new pod with the spec that it had before, so that its end is not missed. */
function readable(existing: Pod, { metadata, status }: Pod): Pod {
  const { deletionGracePeriodSeconds: grace, ...rest } = metadata;
  return {
    ...existing,
    metadata: Number.isSafeInteger(grace) ? metadata : rest,
    status,
  };
}

function classify(existing: Pod, incoming: Pod): 'UPDATE' | 'DELETE' | 'RECONCILE' | undefined {
  if (!isSameForUs(existing, incoming)) {
    return incoming.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
  }
  return semanticEqual(existing.status, incoming.status) ? undefined : 'RECONCILE';
}

function isSameForUs(a: Pod, b: Pod): boolean {
  return (
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    a.metadata.deletionGracePeriodSeconds === b.metadata.deletionGracePeriodSeconds &&
    semanticEqual(a.metadata.labels, b.metadata.labels) &&
    semanticEqual(foreignAnnotations(a), foreignAnnotations(b)) &&
    semanticEqual(a.spec, b.spec)
  );
}

function foreignAnnotations(pod: Pod): Record<string, string> {
  const rest = { ...pod.metadata.annotations };
  for (const name of localAnnotations) delete rest[name];
  return rest;
}

/** The existing pod with the mutable fields of the incoming one; other metadata stay as first seen. */
function update(existing: Pod, incoming: Pod): Pod {
  const local: Record<string, string> = {};
  for (const name of localAnnotations) {
    const value = existing.metadata.annotations?.[name];
    if (value !== undefined) local[name] = value;
  }
  const { labels, deletionTimestamp, deletionGracePeriodSeconds, generation } = incoming.metadata;
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      generation,
      annotations: { ...incoming.metadata.annotations, ...local },
    },
    spec: incoming.spec,
    status: incoming.status,
  };
}

function withAnnotations(pod: Pod, added: Record<string, string>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...added } } };
}

function dropDuplicates(pods: readonly Pod[]): { unique: Pod[]; duplicates: DuplicatePod[] } {
  const names = new Set<string>();
  const uids = new Set<string>();
  const unique: Pod[] = [];
  const duplicates: DuplicatePod[] = [];
  for (const pod of pods) {
    const fullName = podFullName(pod);
    const uid = pod.metadata.uid;
    if (names.has(fullName)) duplicates.push({ pod, what: `pod name "${pod.metadata.name}"` });
    else if (uids.has(uid)) duplicates.push({ pod, what: `UID "${uid}"` });
    else unique.push(pod);
    names.add(fullName);
    uids.add(uid);
  }
  return { unique, duplicates };
}
