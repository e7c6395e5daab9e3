/** The summary of a soak for a terminal. */
import type { Finding } from '../journal.js';
import type { JudgedFigure } from '../judge/figures.js';
import { amount } from './amount.js';
import type { Report } from './report.js';

export function summaryOf({ options, schedule, result, judged }: Report): string {
  const { journal, points, tookMs, lives } = result;
  const judgedPoints = points.filter(({ cycle }) => cycle >= schedule.warmUpCycles).length;
  const counts = [...journal.counts].sort().map(([what, count]) => `${what} ${count}`);
  const lines = [
    `soak: seed ${options.seed}, ${Math.round(tookMs / 60_000)} minutes, ${points.length} quiet points (${judgedPoints} judged), ${lives} lives of the agent`,
    `done: ${counts.join(', ')}`,
    '',
    ...table(judged),
    '',
    ...findings('found:', journal.findings, journal.unkept),
    ...findings('left by the runtime, which does not list it:', journal.remarks, 0),
    verdictOf({ options, schedule, result, judged }),
  ];
  return lines.join('\n');
}

export function verdictOf({ options, result, judged }: Report): string {
  const growing = judged.filter(({ drift }) => drift.verdict === 'grows').map(({ figure }) => figure.title);
  const unknown = judged.filter(({ drift }) => drift.verdict === 'unknown').length;
  const found = result.journal.findings.length;
  const parts = [
    found === 0 ? 'every invariant held' : `${found} ${found === 1 ? 'fault' : 'faults'} found`,
    options.quick
      ? 'too short for a verdict on drift'
      : growing.length > 0
        ? `these grow: ${growing.join(', ')}`
        : unknown === judged.length
          ? 'too few quiet points for a verdict on drift'
          : `no figure grows${unknown > 0 ? `, ${unknown} have too few quiet points` : ''}`,
  ];
  return `verdict: ${parts.join('; ')}${result.wasBrokenOff ? ' (broken off)' : ''}`;
}

function table(judged: readonly JudgedFigure[]): string[] {
  const rows = judged.map(({ figure, drift }) => [
    drift.verdict,
    figure.title,
    amount(drift.median, figure.unit),
    `${drift.rise >= 0 ? '+' : ''}${amount(drift.rise, figure.unit)}`,
    amount(drift.allowedRise, figure.unit),
    drift.trend.toFixed(2),
    String(drift.values),
  ]);
  const head = ['', 'figure at quiet points', 'median', 'rise', 'allowed', 'trend', 'points'];
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function findings(head: string, found: readonly Finding[], unkept: number): string[] {
  if (found.length === 0) return [];
  const lines = found.map(({ atMs, text }) => `  ${Math.round(atMs / 1000)} s: ${text}`);
  return [head, ...lines, ...(unkept > 0 ? [`  and ${unkept} more`] : []), ''];
}
