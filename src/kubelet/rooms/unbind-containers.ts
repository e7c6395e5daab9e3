/** Lets containers use all CPUs or all NUMA nodes again that a static policy had bound to some, after the policy is gone. */
import { type Clock, errorText, isCancelled, sleep } from '../../async/index.js';
import type { PodRef, Timeline } from '../../timeline/index.js';

/** A container that runs now. */
export interface BoundPlace {
  readonly containerId: string;
  readonly pod: PodRef;
  readonly name: string;
  /** As the runtime tells; empty for a container that nobody has bound, undefined if the runtime does not tell. */
  readonly bound: string | undefined;
}

export interface UnbindOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly kind: 'CPUs' | 'NUMA nodes';
  /** How long to wait before those are tried again that failed. */
  readonly periodMs: number;
  /** All that a container may use. */
  readonly all: () => Promise<string>;
  readonly running: () => Promise<readonly BoundPlace[]>;
  /** Changes what a container is bound to, and nothing else of it. */
  readonly update: (containerId: string, all: string, signal: AbortSignal) => Promise<void>;
}

/** A container that still refuses then keeps what it has until it restarts. */
const mostRounds = 10;

/** Each container is set free once. What fails is told, and tried again for a while; it rejects only if cancelled. */
export async function unbindContainers(options: UnbindOptions, signal: AbortSignal): Promise<void> {
  const { clock, timeline, periodMs, kind } = options;
  const done = new Set<string>();
  for (let round = 0; round < mostRounds; round++) {
    if (round > 0) await sleep(clock, periodMs, signal);
    try {
      if (await unbindRound(options, done, signal)) return;
    } catch (error) {
      if (isCancelled(error)) throw error;
      const message = `containers could not be set free from the ${kind} that they were bound to`;
      const what = kind === 'CPUs' ? 'cpu.reconcile' : 'memory.reconcile';
      timeline.record({ kind: 'problem', what, message, error });
    }
  }
}

/** Whether a container has to be told that it may use all. */
export function isHeldBack(bound: string | undefined, all: string): boolean {
  return bound !== '' && bound !== all;
}

/** Resolves with whether nothing is left to do. */
async function unbindRound(
  { timeline, kind, all, running, update }: UnbindOptions,
  done: Set<string>,
  signal: AbortSignal,
): Promise<boolean> {
  const held = (await running()).filter(({ containerId, bound }) => !done.has(containerId) && bound !== '');
  // Nobody needs to know the machine where nobody is bound.
  if (held.length === 0) return true;
  const everything = await all();
  let isAllDone = true;
  for (const { containerId, pod, name, bound } of held) {
    if (!isHeldBack(bound, everything)) continue;
    const entry = {
      pod,
      container: name,
      ...(kind === 'CPUs'
        ? ({ what: 'cpu.update', data: { containerId, cpus: everything } } as const)
        : ({ what: 'memory.update', data: { containerId, mems: everything } } as const)),
    };
    try {
      await update(containerId, everything, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      isAllDone = false;
      const message = `could not let ${name} use all ${kind}: ${errorText(error)}`;
      timeline.record({ kind: 'problem', message, level: 'warn', ...entry, error });
      continue;
    }
    done.add(containerId);
    const because = becauseOf[kind];
    timeline.record({
      kind: 'effect',
      message: `let ${name} use all ${kind}: ${everything}`,
      because,
      ...entry,
    });
  }
  return isAllDone;
}

const becauseOf = {
  CPUs: 'cpuManagerPolicy is none now, and no container has CPUs of its own any more',
  'NUMA nodes': 'memoryManagerPolicy is None now, and no container has memory of certain nodes any more',
} as const;
