/** Decides which static pods that were refused are judged again, and when: nobody else would make them anew. */

/** What can change the answer: room on the node, the node itself, or nothing. */
export type RefusalRemedy = 'room' | 'node' | 'none';

const nodeReasons = new Set([
  'NodeAffinity',
  'PodOSSelectorNodeLabelDoesNotMatch',
  "node(s) had taints that the pod didn't tolerate",
  'InvalidNodeInfo',
]);
const roomReasons = new Set([
  // Devices, CPUs or memory that others have, or that no plugin offers yet.
  'UnexpectedAdmissionError',
  'TopologyAffinityError',
  'SMTAlignmentError',
  'NodePorts',
  // The node is under pressure.
  'Evicted',
]);

export function remedyOf(reason: string): RefusalRemedy {
  if (reason.startsWith('OutOf') || roomReasons.has(reason)) return 'room';
  return nodeReasons.has(reason) ? 'node' : 'none';
}

export interface RefusedBefore {
  readonly remedy: RefusalRemedy;
  /** How often it was refused. */
  readonly refusals: number;
  readonly refusedAtMs: number;
}

/** When room last appeared, and when the node last changed; undefined: not yet. */
export interface LastChanges {
  readonly roomAtMs: number | undefined;
  readonly nodeAtMs: number | undefined;
}

const firstPauseMs = 2_000;
const longestPauseMs = 5 * 60_000;

/** Twice as long after each refusal. */
export function pauseMs(refusals: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(20, Math.max(0, refusals - 1)));
}

export type RefusalRetry =
  | { readonly kind: 'now'; readonly because: string }
  | { readonly kind: 'later' }
  | { readonly kind: 'never' };

/** A change that nobody tells of, such as a device that appears, is noticed by trying after the longest pause. */
export function retryDecision(
  { remedy, refusals, refusedAtMs }: RefusedBefore,
  { roomAtMs, nodeAtMs }: LastChanges,
  nowMs: number,
): RefusalRetry {
  if (remedy === 'none') return { kind: 'never' };
  const waitedMs = nowMs - refusedAtMs;
  const isSince = (atMs: number | undefined): boolean => atMs !== undefined && atMs >= refusedAtMs;
  if (waitedMs >= pauseMs(refusals)) {
    if (isSince(nodeAtMs)) return { kind: 'now', because: 'the node has changed' };
    if (remedy === 'room' && isSince(roomAtMs)) return { kind: 'now', because: 'another pod has made room' };
  }
  if (waitedMs >= longestPauseMs) return { kind: 'now', because: 'it was refused a while ago' };
  return { kind: 'later' };
}
