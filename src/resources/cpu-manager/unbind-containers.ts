/** Lets containers use all CPUs again that policy `static` had bound to some, after the policy has become `none`. */
import { type Clock, errorText, isCancelled, sleep } from '../../async/index.js';
import type { CpuSet } from '../../kube/index.js';
import type { PodRef, Timeline } from '../../timeline/index.js';

/** A container that runs now. */
export interface BoundToCpus {
  readonly containerId: string;
  readonly pod: PodRef;
  readonly name: string;
  /** As the runtime tells; empty for a container that nobody has bound, undefined if the runtime does not tell. */
  readonly cpus: string | undefined;
}

export interface UnbindOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** How long to wait before those are tried again that failed. */
  readonly periodMs: number;
  readonly onlineCpus: () => Promise<CpuSet>;
  readonly running: () => Promise<readonly BoundToCpus[]>;
  /** Changes the CPUs of a container, and nothing else of it. */
  readonly update: (containerId: string, cpus: string, signal: AbortSignal) => Promise<void>;
}

/** A container that still refuses then keeps its CPUs until it restarts. */
const mostRounds = 10;

/** Each container is set free once. What fails is told, and tried again for a while; it rejects only if cancelled. */
export async function unbindContainers(options: UnbindOptions, signal: AbortSignal): Promise<void> {
  const { clock, timeline, periodMs } = options;
  const done = new Set<string>();
  for (let round = 0; round < mostRounds; round++) {
    if (round > 0) await sleep(clock, periodMs, signal);
    try {
      if (await unbindRound(options, done, signal)) return;
    } catch (error) {
      if (isCancelled(error)) throw error;
      const message = 'containers could not be set free from the CPUs that they were bound to';
      timeline.record({ kind: 'problem', what: 'cpu.reconcile', message, error });
    }
  }
}

/** Whether a container has to be told that it may use all CPUs. */
export function isHeldBack(cpus: string | undefined, online: string): boolean {
  return cpus !== '' && cpus !== online;
}

/** Resolves with whether nothing is left to do. */
async function unbindRound(
  { timeline, onlineCpus, running, update }: UnbindOptions,
  done: Set<string>,
  signal: AbortSignal,
): Promise<boolean> {
  const cpus = String(await onlineCpus());
  let isAllDone = true;
  for (const { containerId, pod, name, cpus: bound } of await running()) {
    if (done.has(containerId) || !isHeldBack(bound, cpus)) continue;
    const entry = { what: 'cpu.update', pod, container: name, data: { containerId, cpus } } as const;
    try {
      await update(containerId, cpus, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      isAllDone = false;
      const message = `could not let ${name} use all CPUs: ${errorText(error)}`;
      timeline.record({ kind: 'problem', message, level: 'warn', ...entry, error });
      continue;
    }
    done.add(containerId);
    const because = 'cpuManagerPolicy is none now, and no container has CPUs of its own any more';
    timeline.record({ kind: 'effect', message: `let ${name} use all CPUs: ${cpus}`, because, ...entry });
  }
  return isAllDone;
}
