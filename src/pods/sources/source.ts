/** What all pod sources share: they run until stopped and deliver snapshots. */
import { type Clock, errorText } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { Snapshot } from '../desired/index.js';
import type { StaticPodContext } from './static-pod.js';

export interface PodSource {
  run(signal: AbortSignal): Promise<void>;
}

export interface SourceContext {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly pods: StaticPodContext;
  readonly deliver: (snapshot: Snapshot, signal: AbortSignal) => Promise<void>;
}

/** A manifest of this size or more is rejected. */
export const manifestLimitBytes = 10 * 1024 * 1024;

/** What reports are about, as the timeline names it. */
type ReportName = 'manifest' | 'objects' | 'pods.api';

/** Reports what is wrong with each place, once until it changes. */
export class ProblemReports {
  readonly #timeline: Timeline;
  readonly #what: ReportName;
  readonly #last = new Map<string, string>();

  constructor(timeline: Timeline, what: ReportName) {
    this.#timeline = timeline;
    this.#what = what;
  }

  report(place: string, error: unknown, consequence: string): void {
    const message = errorText(error);
    if (this.#last.get(place) === message) return;
    this.#last.set(place, message);
    this.#timeline.record({ kind: 'problem', what: this.#what, message, because: consequence });
  }

  warn(place: string, warnings: readonly string[]): void {
    const key = `${place}\u0000warnings`;
    const message = warnings.join('\n');
    if ((this.#last.get(key) ?? '') === message) return;
    if (message === '') {
      this.#last.delete(key);
      return;
    }
    this.#last.set(key, message);
    this.#timeline.record({ kind: 'problem', what: `${this.#what}.ignored`, message, level: 'warn' });
  }

  /** The place works again. */
  clear(place: string): void {
    if (!this.#last.delete(place)) return;
    this.#timeline.record({
      kind: 'observation',
      what: this.#what,
      message: `${place} works again`,
      level: 'info',
    });
  }

  /** Forgets places that no longer exist. */
  keepOnly(places: ReadonlySet<string>): void {
    for (const key of this.#last.keys()) {
      if (!places.has(key.split('\u0000')[0] ?? '')) this.#last.delete(key);
    }
  }
}
