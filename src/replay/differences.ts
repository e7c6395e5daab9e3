/** What a replayed kubelet does otherwise than the recorded one: the first differences, and how many there are. */
import type { TimelineEntry } from '../timeline/index.js';
import { recordLimits } from './limits.js';

export interface Difference {
  /** The turn of the record, counted from one, and its wall-clock time. */
  readonly turn: number;
  readonly timeMs: number;
  /** A decision or another entry of the timeline, a call to a port, or an input that the kubelet cannot take. */
  readonly what: 'entry' | 'call' | 'input';
  /** In words: what was recorded, and what the kubelet does now. */
  readonly recorded: string;
  readonly now: string;
  readonly recordedEntry?: TimelineEntry;
  readonly nowEntry?: TimelineEntry;
}

export class Differences {
  /** The first ones. */
  readonly kept: Difference[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(difference: Difference): void {
    this.#count++;
    if (this.kept.length < recordLimits.differences) this.kept.push(difference);
  }

  /** Compares what was recorded in one turn with what was said in it now, entry by entry. */
  compareEntries(
    place: Pick<Difference, 'turn' | 'timeMs'>,
    recorded: readonly TimelineEntry[],
    said: readonly TimelineEntry[],
  ): void {
    for (let index = 0; index < Math.max(recorded.length, said.length); index++) {
      const [then, now] = [recorded[index], said[index]];
      if (then !== undefined && now !== undefined && comparable(then) === comparable(now)) continue;
      this.add({
        ...place,
        what: 'entry',
        recorded: then === undefined ? 'nothing' : entryText(then),
        now: now === undefined ? 'nothing' : entryText(now),
        ...(then === undefined ? {} : { recordedEntry: then }),
        ...(now === undefined ? {} : { nowEntry: now }),
      });
    }
  }
}

/** What counts of an entry: all but its place in one timeline. */
export function comparable(entry: TimelineEntry): string {
  const { seq: _, timeMs: __, ...rest } = entry;
  return JSON.stringify(sorted(rest));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}

function entryText({ kind, what, message, because, error }: TimelineEntry): string {
  const why = because === undefined ? '' : `, because ${because}`;
  const failure = error === undefined ? '' : `: ${error}`;
  return `${kind} ${what}: ${message}${why}${failure}`;
}
