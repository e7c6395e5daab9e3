/** What the timeline records: one entry for each decision, transition and effect, with its cause. */
import { errorText } from '../async/index.js';
import type { EntryData, EntryName, NoData, TimelineEntries } from './entry-data.js';

/** The pod that an entry is about. */
export interface PodRef {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/**
 * decision: what was chosen; transition: a state that changed; effect: something done to the outside;
 * observation: something seen outside; event: meant for users of the cluster as a Kubernetes event;
 * problem: something that went wrong; notice: about the agent itself.
 */
export type EntryKind = 'decision' | 'transition' | 'effect' | 'observation' | 'event' | 'problem' | 'notice';

export type EntryLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

export interface EventInfo {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  /** The part of the pod it is about, such as `spec.containers{app}`. */
  readonly fieldPath?: string;
  /** The object the event is about, when it is not the entry's pod. */
  readonly node?: string;
  /** The same for a PersistentVolumeClaim. */
  readonly claim?: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** The same for a PersistentVolume. */
  readonly volume?: { readonly name: string; readonly uid: string };
  /** Annotations of the Kubernetes event. */
  readonly annotations?: Readonly<Record<string, string>>;
}

interface CommonFields {
  readonly kind: EntryKind;
  /** For people; programs read `what` and `data`. */
  readonly message: string;
  /** Why it happened, in words a user understands. */
  readonly because?: string;
  readonly pod?: PodRef;
  readonly container?: string;
  readonly durationMs?: number;
  readonly event?: EventInfo;
}

interface InitFields extends CommonFields {
  /** Default: by `kind`. */
  readonly level?: EntryLevel;
  readonly error?: unknown;
}

interface RecordedFields extends CommonFields {
  /** Grows by one with every entry of one timeline. */
  readonly seq: number;
  /** Wall-clock milliseconds. */
  readonly timeMs: number;
  readonly level: EntryLevel;
  /** The error's message with those of its causes. */
  readonly error?: string;
  /** The work was cancelled: the error is no failure. */
  readonly cancelled?: true;
}

/** `what` with the data that belongs to it: required, optional or none, as the table has it. */
type TypedEntryData<Name extends EntryName> = { readonly what: Name } & ([TimelineEntries[Name]] extends [
  NoData,
]
  ? { readonly data?: undefined }
  : undefined extends TimelineEntries[Name]
    ? { readonly data?: EntryData<Name> }
    : { readonly data: EntryData<Name> });

/** An entry of one of the given names; a switch over `what` tells its data. */
export type EntryOf<Name extends EntryName> = Name extends EntryName
  ? RecordedFields & TypedEntryData<Name>
  : never;

export type TimelineEntry = EntryOf<EntryName>;

/** What is recorded: the compiler refuses a name that is not in the table, and data that is not the name's. */
export type EntryInit<Name extends EntryName = EntryName> = Name extends EntryName
  ? InitFields & TypedEntryData<Name>
  : never;

/** Whether the entry has one of the names. */
export function isEntry<Name extends EntryName>(
  entry: TimelineEntry,
  ...names: readonly Name[]
): entry is EntryOf<Name> {
  const known: readonly string[] = names;
  return known.includes(entry.what);
}

/** An error's message followed by those of its causes, as far as they say something new. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current !== undefined && current !== null; depth++) {
    const text = errorText(current);
    if (text !== '' && !isSaid(text, parts) && !isSaid(detailsOf(current), parts)) parts.push(text);
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(': ');
}

/** What a gRPC error says without the prefix of the wire; undefined for other errors. */
function detailsOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('details' in error)) return undefined;
  return typeof error.details === 'string' && error.details !== '' ? error.details : undefined;
}

/** Whether the text stands in what was said before, bare or behind the number and name that gRPC gives a failure. */
function isSaid(text: string | undefined, parts: readonly string[]): boolean {
  if (text === undefined) return false;
  const bare = text.replace(/^\d+ [A-Z_]+: /, '');
  return parts.some((part) => part.includes(text) || part.includes(bare));
}
