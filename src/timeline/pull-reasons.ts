/** What a pod waits for with its images: which container's, since when, and how far the pull is. */
import type { TimelineEntry } from './entry.js';
import { lastOfContainer } from './last-entry.js';

export interface PullInProgress {
  readonly text: string;
  readonly sinceMs: number;
}

const pullReasons: ReadonlySet<string> = new Set(['Pulling', 'Pulled', 'Failed']);

/** Undefined while nothing is pulled. The first event of a pull tells when it began; later ones tell how far it is, as the entries do. */
export function pullInProgress(entries: readonly TimelineEntry[]): PullInProgress | undefined {
  const last = entries.findLast(({ event }) => pullReasons.has(event?.reason ?? ''));
  if (last?.event?.reason !== 'Pulling') return undefined;
  const { container = '' } = last;
  const isOfPull = ({ event, container: of }: TimelineEntry): boolean =>
    of === container && pullReasons.has(event?.reason ?? '');
  const ended = entries.findLast((entry) => isOfPull(entry) && entry.event?.reason !== 'Pulling')?.seq ?? -1;
  const begun = entries.find((entry) => isOfPull(entry) && entry.seq > ended) ?? last;
  const progress = lastOfContainer(entries, container, 'image.progress');
  const isKnown = progress?.data.doneBytes !== undefined && progress.seq > begun.seq;
  const howFar = isKnown ? `: ${progress.message}` : '';
  return { text: `the image of container ${container}${howFar}`, sinceMs: begun.timeMs };
}
