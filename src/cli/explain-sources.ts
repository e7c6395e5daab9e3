/** Reads the timeline entries of a pod: from a live run through its socket, or from disk. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readDiskRing } from '../timeline/disk-ring.js';
import type { PodRef, TimelineEntry } from '../timeline/entry.js';
import type { ExitLog } from '../timeline/explain-text.js';
import { type Connection, requestJson, requestLines } from './client/connection.js';

export interface KnownPod {
  readonly pod?: PodRef | undefined;
}

export interface RecordedEntries {
  readonly entries: readonly TimelineEntry[];
  /** About the node. */
  readonly node: readonly TimelineEntry[];
  /** Lines on disk that this version cannot read. */
  readonly skipped?: number;
}

export interface EntrySource {
  /** Names the source in messages. */
  readonly place: string;
  /** Set when the run is gone: says so and what to do. No entries will follow. */
  readonly gone?: string;
  /** The known pods, the latest last. A pod may occur more than once. */
  pods(): Promise<readonly KnownPod[]>;
  entriesOf(uid: string): Promise<RecordedEntries>;
  /** What containers of the pod printed before they ended; absent where nobody could be asked. */
  exits?(uid: string): Promise<readonly ExitLog[]>;
  /** Yields entries of the pod that come after the given ones, until the source ends or the signal aborts. */
  follow(uid: string, after: readonly TimelineEntry[], signal: AbortSignal): AsyncIterable<TimelineEntry>;
}

/** Reads from a live run through its socket. */
export function socketSource(connection: Connection): EntrySource {
  const linesOf = (uid: string, more = '', signal?: AbortSignal) =>
    requestLines<TimelineEntry | { readonly current: true }>(
      connection,
      `/explain?uid=${encodeURIComponent(uid)}${more}`,
      signal === undefined ? {} : { signal },
    );
  return {
    place: connection.run === undefined ? connection.socketPath : `run ${connection.run.name}`,
    pods: () => requestJson<KnownPod[]>(connection, '/explain/pods'),
    async entriesOf(uid) {
      const entries: TimelineEntry[] = [];
      for await (const line of linesOf(uid)) if (!('current' in line)) entries.push(line);
      return split(entries, uid);
    },
    exits: async (uid) => (await import('./explain-exits.js')).exitLogs(connection, uid),
    async *follow(uid, after, signal) {
      const seen = after.at(-1)?.seq ?? 0;
      for await (const line of linesOf(uid, '&follow=1', signal)) {
        if (!('current' in line) && line.pod?.uid === uid && line.seq > seen) yield line;
      }
    },
  };
}

const pollMs = 300;

/** Reads from the ring on disk, also after a crash. */
export function diskSource(dir: string, gone?: string): EntrySource {
  return {
    place: dir,
    ...(gone === undefined ? {} : { gone }),
    pods: async () => (await readDiskRing(dir)).entries,
    entriesOf: async (uid) => {
      const { entries, skipped } = await readDiskRing(dir);
      return { ...split(entries, uid), skipped };
    },
    async *follow(uid, after, signal) {
      let { timeMs = 0, seq = 0 } = after.at(-1) ?? {};
      for (;;) {
        await sleep(pollMs, undefined, { signal });
        const isNew = (entry: TimelineEntry): boolean =>
          entry.timeMs > timeMs || (entry.timeMs === timeMs && entry.seq > seq);
        const { entries } = await readDiskRing(dir);
        const fresh = entries.filter((entry) => entry.pod?.uid === uid && isNew(entry));
        ({ timeMs, seq } = fresh.at(-1) ?? { timeMs, seq });
        yield* fresh;
      }
    },
  };
}

function split(entries: readonly TimelineEntry[], uid: string): RecordedEntries {
  return {
    entries: entries.filter(({ pod }) => pod?.uid === uid),
    node: entries.filter(({ pod }) => pod === undefined),
  };
}
