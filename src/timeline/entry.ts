/** What the timeline records: one entry for each decision, transition and effect, with its cause. */
import { errorText } from '../async/index.js';

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

export type Level = 'error' | 'warn' | 'info' | 'debug' | 'trace';

export interface EventInfo {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  /** The part of the pod it is about, such as `spec.containers{app}`. */
  readonly fieldPath?: string;
  /** The object the event is about, when it is not the entry's pod. */
  readonly node?: string;
}

export interface EntryInit {
  readonly kind: EntryKind;
  /** A dotted name that readers can match on, noun first: `container.start`, `sandbox.create`, `pod.admit`. */
  readonly what: string;
  readonly message: string;
  /** Why it happened, in words a user understands. */
  readonly because?: string;
  readonly pod?: PodRef;
  readonly container?: string;
  readonly durationMs?: number;
  readonly level?: Level;
  readonly error?: unknown;
  readonly data?: Readonly<Record<string, string | number | boolean>>;
  readonly event?: EventInfo;
}

export interface Entry extends Omit<EntryInit, 'error' | 'level'> {
  /** Grows by one with every entry of one timeline. */
  readonly seq: number;
  /** Wall-clock milliseconds. */
  readonly timeMs: number;
  readonly level: Level;
  /** The error's message with those of its causes. */
  readonly error?: string;
}

/** An error's message followed by those of its causes, as far as they say something new. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current !== undefined && current !== null; depth++) {
    const text = errorText(current);
    if (text !== '' && !isSaid(text, parts)) parts.push(text);
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(': ');
}

/** Whether the text stands in what was said before, bare or behind the number and name that gRPC gives a failure. */
function isSaid(text: string, parts: readonly string[]): boolean {
  const bare = text.replace(/^\d+ [A-Z_]+: /, '');
  return parts.some((part) => part.includes(text) || part.includes(bare));
}
