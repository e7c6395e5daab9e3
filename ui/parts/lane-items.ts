/** What a lane shows between two moments: its spans and marks in the order of time, with their places as parts of the width. */
import type { PodLane, SpanKind } from '../../src/timeline/pod-lanes.js';

export interface LaneItem {
  /** Stays the same while the item lasts. */
  readonly key: string;
  readonly kind: SpanKind | 'mark';
  readonly problem: boolean;
  readonly label: string;
  readonly because: string | undefined;
  readonly fromMs: number;
  /** Undefined while it lasts; that of a mark is when it was. */
  readonly toMs: number | undefined;
  readonly leftPart: number;
  readonly widthPart: number;
}

/** Marks that stand closer are told by the list of steps. */
const mostMarks = 60;

export function laneItems({ spans, marks }: PodLane, fromMs: number, toMs: number): readonly LaneItem[] {
  const allMs = Math.max(1, toMs - fromMs);
  const partOf = (ms: number): number => Math.min(1, Math.max(0, (ms - fromMs) / allMs));
  const shownSpans = spans
    .filter((span) => span.fromMs <= toMs && (span.toMs ?? toMs) >= fromMs)
    .map((span): LaneItem => {
      const leftPart = partOf(span.fromMs);
      return {
        ...span,
        key: `${span.kind} ${span.fromMs}`,
        problem: false,
        leftPart,
        widthPart: Math.max(0, partOf(span.toMs ?? toMs) - leftPart),
      };
    });
  const shownMarks = marks
    .filter(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs)
    .slice(-mostMarks)
    .map(
      ({ timeMs, label, because, problem }): LaneItem => ({
        key: `mark ${timeMs} ${label}`,
        kind: 'mark',
        problem,
        label,
        because,
        fromMs: timeMs,
        toMs: timeMs,
        leftPart: partOf(timeMs),
        widthPart: 0,
      }),
    );
  return withOwnKeys([...shownSpans, ...shownMarks].sort((a, b) => a.fromMs - b.fromMs));
}

/** The same may be told twice in a millisecond. */
function withOwnKeys(items: readonly LaneItem[]): readonly LaneItem[] {
  const seen = new Map<string, number>();
  return items.map((item) => {
    const before = seen.get(item.key) ?? 0;
    seen.set(item.key, before + 1);
    return before === 0 ? item : { ...item, key: `${item.key} ${before}` };
  });
}

/** Which item a key of the keyboard leads to; undefined for keys that are not of the lane. */
export function itemByKey(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowLeft':
      return Math.max(0, at - 1);
    case 'ArrowRight':
      return Math.min(count - 1, at + 1);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** A finger is no needle: what is narrow is meant when it is this near. */
const nearPx = 8;

/** Which of the boxes is meant by a place: the narrowest one that is near it, else the nearest. */
export function boxAt(boxes: readonly Box[], x: number, y: number): number | undefined {
  const placed = boxes.map(({ left, right, top, bottom }, at) => ({
    at,
    width: right - left,
    distance: Math.max(left - x, x - right, top - y, y - bottom, 0),
  }));
  const near = placed.filter(({ distance }) => distance <= nearPx).sort((a, b) => a.width - b.width);
  return (near[0] ?? placed.sort((a, b) => a.distance - b.distance)[0])?.at;
}
