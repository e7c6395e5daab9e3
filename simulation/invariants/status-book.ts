/** Judges each status that the kubelet writes: it never goes back, and it tells of nothing that was not. */
import type { ContainerStatus, Pod } from '../../src/kube/index.js';
import type { KnownContainer } from './runtime-book.js';
import type { Report } from './violation.js';

const terminal: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

interface Seen {
  phase: string;
  readonly restarts: Map<string, number>;
  readonly generations: Map<string, number>;
}

export interface StatusBookOptions {
  readonly report: Report;
  readonly container: (id: string) => KnownContainer | undefined;
}

export class StatusBook {
  readonly #options: StatusBookOptions;
  readonly #seen = new Map<string, Seen>();

  constructor(options: StatusBookOptions) {
    this.#options = options;
  }

  /** Why the pod has ended for ever. */
  isOver(uid: string): string | undefined {
    const phase = this.#seen.get(uid)?.phase;
    return phase === 'Succeeded' || phase === 'Failed' ? `its phase was reported ${phase}` : undefined;
  }

  /** A pod as the API has it after a write of its status. */
  written(pod: Pod): void {
    const { uid, name, annotations } = pod.metadata;
    // A mirror tells of one static pod of its name after another.
    if (annotations?.['kubernetes.io/config.mirror'] !== undefined) return;
    const { phase = 'Pending' } = pod.status ?? {};
    const seen = this.#seen.get(uid) ?? { phase: 'Pending', restarts: new Map(), generations: new Map() };
    this.#seen.set(uid, seen);
    const problems = [
      ...phaseProblems(seen.phase, phase),
      ...restartProblems(seen.restarts, pod),
      ...generationProblems(seen.generations, pod),
    ];
    for (const problem of problems)
      this.#options.report('a status never goes back', `pod ${name}: ${problem}`);
    seen.phase = phase;
    for (const status of statusesOf(pod)) {
      for (const problem of untrue(status, this.#options.container))
        this.#options.report('the API never sees a state that was not', `pod ${name}: ${problem}`);
    }
  }
}

function statusesOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** A pod whose containers all wait for their next start counts as Pending again, as the reference kubelet has it. */
export function phaseProblems(before: string, after: string): string[] {
  return terminal.has(before) && after !== before ? [`its phase went from ${before} to ${after}`] : [];
}

function restartProblems(seen: Map<string, number>, pod: Pod): string[] {
  const statuses = statusesOf(pod);
  // As the reference kubelet does, nodelet tells of no container of a pod that it refuses, and so forgets what there was. The
  // status that says so may be overtaken by the next one.
  if (statuses.length === 0 || pod.status?.message?.startsWith('Pod was rejected')) seen.clear();
  return statuses.flatMap(({ name, restartCount = 0 }) => {
    const before = seen.get(name) ?? 0;
    seen.set(name, restartCount);
    return restartCount < before ? [`the restarts of ${name} went from ${before} to ${restartCount}`] : [];
  });
}

function generationProblems(seen: Map<string, number>, { status }: Pod): string[] {
  const told: [string, number | undefined][] = [
    ['the pod', status?.observedGeneration],
    ...(status?.conditions ?? []).map(({ type, observedGeneration }): [string, number | undefined] => [
      `condition ${type}`,
      observedGeneration,
    ]),
  ];
  return told.flatMap(([what, generation]) => {
    if (generation === undefined) return [];
    const before = seen.get(what) ?? 0;
    seen.set(what, generation);
    return generation < before ? [`the generation of ${what} went from ${before} to ${generation}`] : [];
  });
}

/** What a status tells of containers that the runtime never had so. */
function untrue(status: ContainerStatus, find: StatusBookOptions['container']): string[] {
  const problems: string[] = [];
  const { name, state, lastState } = status;
  const idOf = (text: string | undefined): string => text?.replace(/^.*:\/\//, '') ?? '';
  if (state?.running !== undefined && find(idOf(status.containerID))?.everRan !== true)
    problems.push(`container ${name} is told to run as ${status.containerID}, which never ran`);
  for (const ended of [state?.terminated, lastState?.terminated]) {
    // One that was lost is made up, and says so.
    if (ended === undefined || ended.reason === 'ContainerStatusUnknown') continue;
    const id = idOf(ended.containerID);
    if (id === '') continue;
    const known = find(id);
    if (known?.exitCode === undefined)
      problems.push(`container ${name} is told to have ended as ${id.slice(0, 8)}, which has not`);
    else if (known.exitCode !== ended.exitCode)
      problems.push(
        `container ${name} ${id.slice(0, 8)} is told to have ended with ${ended.exitCode}, not ${known.exitCode}`,
      );
  }
  return problems;
}
