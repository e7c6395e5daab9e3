/** Computes what a run shows of a pod, for the live table and for lines. */
import { isTerminalPhase } from '../../kube/index.js';
import { type PodRow, podRow } from '../../kube/pods/pod-row.js';
import { type Explanation, explainPod, type Timeline } from '../../timeline/index.js';
import type { ShownPod } from './run-pods.js';
import type { Cell } from './table.js';

export interface PodView extends PodRow {
  /** The name, with its namespace unless that is the default. */
  readonly fullName: string;
  /** What the pod waits for; empty when it waits for nothing. */
  readonly waitsFor: string;
  /** Why it ends, where the manifests decided that. */
  readonly because?: string;
}

export function viewPod(
  { pod, state, because }: ShownPod,
  timeline: Pick<Timeline, 'ofPod' | 'ofNode'>,
  nowMs: number,
): PodView {
  const row = podRow(pod, nowMs);
  const fullName = row.namespace === 'default' ? row.name : `${row.namespace}/${row.name}`;
  switch (state) {
    case 'waiting':
      return {
        ...row,
        fullName,
        age: '',
        waitsFor:
          because === undefined
            ? 'its turn, after other pods of the same Job'
            : `the end of the pod whose place it takes, as ${because}`,
      };
    case 'gone':
      return {
        ...row,
        fullName,
        status: row.status === 'Terminating' || row.status === 'Pending' ? 'Stopped' : row.status,
        ready: row.ready.replace(/^\d+/, '0'),
        waitsFor: '',
      };
    case 'active':
    case 'stopping': {
      const entries = timeline.ofPod(pod.metadata.uid);
      const hasEnded = isTerminalPhase(pod.status?.phase) && pod.status?.containerStatuses !== undefined;
      const all = entries.length === 0 ? [] : waitsOf(explainPod(entries, timeline.ofNode(), nowMs), nowMs);
      // A pod that has ended waits for nothing but drivers that do not let go of its volumes.
      const waits = hasEnded ? all.filter(({ volume }) => volume !== undefined) : all;
      const age = pod.status?.startTime === undefined ? '' : row.age;
      // While a pod stops, what its containers waited for no longer matters.
      const shown = state === 'active' ? waits : waits.filter(({ container }) => container === undefined);
      const isRefused = pod.status?.phase === 'Failed' && pod.status.containerStatuses === undefined;
      return {
        ...row,
        fullName,
        age,
        ...(because === undefined ? {} : { because }),
        // Nothing more happens to a refused pod, so what would help belongs beside it.
        waitsFor: [
          ...(because === undefined ? [] : [`its end: ${because}`]),
          ...shown.flatMap(({ brief, waitsFor, unblock }) => [
            brief ?? waitsFor,
            ...(isRefused && unblock !== undefined ? [unblock] : []),
          ]),
        ].join('; '),
      };
    }
  }
}

/** Progress is shown only when a step takes this long. */
const longMs = 10_000;

function waitsOf({ waits, inProgress }: Explanation, nowMs: number): Explanation['waits'] {
  const isLong = inProgress !== undefined && nowMs - inProgress.sinceMs >= longMs;
  return isLong ? [{ waitsFor: inProgress.text }] : waits;
}

export const tableHeader = ['POD', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'WAITS FOR'] as const;

export function tableCells(view: PodView): Cell[] {
  return [
    { text: view.fullName },
    { text: view.ready },
    { text: view.status, tone: toneOf(view.status) },
    { text: view.restarts },
    { text: view.age },
    { text: view.waitsFor },
  ];
}

/** Describes the state of a pod in one line. The text stays the same while only time passes. */
export function changeLine(view: PodView): string {
  const restarts =
    view.restartCount === 0 ? '' : `, ${view.restartCount} restart${view.restartCount === 1 ? '' : 's'}`;
  // A countdown in the text would make every line differ.
  const waits =
    view.status === 'Terminating' ? '' : view.waitsFor.replace(/ \(in \d+s\)/, '').replace(/\s*\n\s*/g, ' ');
  const why = view.because === undefined ? '' : `; ${view.because}`;
  const waited = waits === '' ? why : `; waits for ${waits}`;
  return `${view.fullName}: ${view.status}, ${view.ready} ready${restarts}${waited}`;
}

export function toneOf(status: string): Cell['tone'] {
  if (status === 'Running' || status === 'Completed') return 'good';
  if (/Error|BackOff|Failed|^OOM|Invalid|ErrImage|ExitCode|Signal|^NodePorts|^OutOf/.test(status))
    return 'bad';
  return status === 'Stopped' ? 'quiet' : 'busy';
}
