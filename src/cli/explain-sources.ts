/** Where the entries of a pod are: with a run or an agent that lives, or on disk where one has left them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readDiskRing } from '../timeline/disk-ring.js';
import type { PodRef, TimelineEntry } from '../timeline/entry.js';
import { askJson, askLines, type Connection } from './client/connection.js';

export interface KnownPod {
  readonly pod?: PodRef | undefined;
}

export interface RecordedEntries {
  readonly entries: readonly TimelineEntry[];
  /** About the node. */
  readonly node: readonly TimelineEntry[];
  /** Lines that this version cannot read, where entries were kept on disk. */
  readonly skipped?: number;
}

export interface EntrySource {
  /** For messages. */
  readonly place: string;
  /** That nobody keeps these pods any more, and what to do; nothing will follow. */
  readonly gone?: string;
  /** The pods it knows, each as often as it likes, the latest last. */
  pods(): Promise<readonly KnownPod[]>;
  entriesOf(uid: string): Promise<RecordedEntries>;
  /** Entries of the pod that come after those given; ends with what is behind it, or by the signal. */
  follow(uid: string, after: readonly TimelineEntry[], signal: AbortSignal): AsyncIterable<TimelineEntry>;
}

/** A live one, through its socket. */
export function socketSource(connection: Connection): EntrySource {
  const linesOf = (uid: string, more = '', signal?: AbortSignal) =>
    askLines<TimelineEntry | { readonly current: true }>(
      connection,
      `/explain?uid=${encodeURIComponent(uid)}${more}`,
      signal === undefined ? {} : { signal },
    );
  return {
    place: connection.run === undefined ? connection.socketPath : `run ${connection.run.name}`,
    pods: () => askJson<KnownPod[]>(connection, '/explain/pods'),
    async entriesOf(uid) {
      const entries: TimelineEntry[] = [];
      for await (const line of linesOf(uid)) if (!('current' in line)) entries.push(line);
      return split(entries, uid);
    },
    async *follow(uid, after, signal) {
      const seen = after.at(-1)?.seq ?? 0;
      for await (const line of linesOf(uid, '&follow=1', signal)) {
        if (!('current' in line) && line.pod?.uid === uid && line.seq > seen) yield line;
      }
    },
  };
}

const lookAgainMs = 300;

/** What was kept on disk, also after a crash. */
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
        await sleep(lookAgainMs, undefined, { signal });
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
