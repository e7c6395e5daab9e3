/** What became of a replay, as text. */
import type { Difference, ReplayOutcome } from '../../replay/index.js';

export interface ReplayReport extends ReplayOutcome {
  /** Which start of the agent was replayed, and which ones the record has. */
  readonly generation: number;
  readonly starts: readonly number[];
}

const shownDifferences = 5;

export function replayText(report: ReplayReport, { all = false }: { readonly all?: boolean } = {}): string {
  const { head, generation, starts, turns, endMs, differences, before, cutAt } = report;
  const others = starts.filter((each) => each !== generation);
  const lines = [
    `Start ${generation} of node ${head.options.nodeName}, recorded by nodelet ${head.agentVersion}`,
    `  from ${timeText(head.startedMs)} to ${timeText(endMs)}, ${turns} turns`,
    ...(others.length === 0 ? [] : [`  the record has the starts ${starts.join(', ')}; --start chooses one`]),
    ...(cutAt === undefined ? [] : [`  it breaks off in ${cutAt}, as after a crash`]),
    '',
  ];
  if (differences.count === 0) {
    lines.push('This nodelet takes the same decisions and makes the same calls.');
    return `${lines.join('\n')}\n`;
  }
  const [first] = differences.kept;
  const more = differences.count === 1 ? '' : `; there are ${differences.count} differences`;
  lines.push(
    `This nodelet decides otherwise, first in turn ${first?.turn} at ${timeText(first?.timeMs ?? 0)}${more}.`,
  );
  if (before.length > 0)
    lines.push(
      '',
      '  before that:',
      ...before.map(({ timeMs, message }) => `    ${timeText(timeMs)} ${message}`),
    );
  const shown = all ? differences.kept : differences.kept.slice(0, shownDifferences);
  for (const each of shown) lines.push('', ...differenceLines(each));
  if (shown.length < differences.kept.length) lines.push('', '  … --all shows more differences');
  return `${lines.join('\n')}\n`;
}

function differenceLines({ turn, timeMs, recorded, now, recordedEntry, nowEntry }: Difference): string[] {
  const pod = (recordedEntry ?? nowEntry)?.pod;
  const about = pod === undefined ? '' : `, pod ${pod.namespace}/${pod.name}`;
  return [`  turn ${turn}, ${timeText(timeMs)}${about}`, `    then: ${recorded}`, `    now:  ${now}`];
}

function timeText(timeMs: number): string {
  return Number.isFinite(timeMs) && Math.abs(timeMs) < 8.64e15
    ? new Date(timeMs).toISOString()
    : String(timeMs);
}
