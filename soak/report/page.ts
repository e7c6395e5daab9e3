/** The report of a soak as one page: the verdict, what was found, and a plot of every figure. Pure. */
import type { Finding } from '../journal.js';
import { type Figure, figures, type JudgedFigure } from '../judge/figures.js';
import { amount } from './amount.js';
import { drawPlot, escapeText, type Plot } from './plot.js';
import type { Report } from './report.js';
import { verdictOf } from './text.js';

/** Of the marks in the plots. */
const markKinds: Readonly<Record<string, string>> = {
  'kill-agent': 'agent killed',
  'stop-agent': 'agent stopped',
  'agent ended': 'agent ended by itself',
  'kill-runtime': 'containerd killed',
  'freeze-runtime': 'containerd stopped for a while',
  'fill-disk': 'disk full',
  'cut-api': 'API cut',
};

export function pageOf(report: Report): string {
  const { options, result } = report;
  const { findings, remarks } = result.journal;
  const seen = new Set(result.journal.events.map(({ what }) => what));
  const legend = Object.entries(markKinds)
    .filter(([kind]) => seen.has(kind))
    .map(
      ([kind, text]) =>
        `<span><svg width="14" height="12"><line class="mark ${classOf(kind)}" x1="7" x2="7" y1="0" y2="12"/></svg> ${text}</span>`,
    );
  const plots = figures.map((figure) => drawPlot(plotOf(figure, report)));
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>nodelet soak, seed ${options.seed}</title>
<style>${style}</style>
<h1>Soak of ${Math.round(result.tookMs / 60_000)} minutes, seed ${options.seed}</h1>
<p class="verdict">${escapeText(verdictOf(report))}</p>
<p>${result.points.length} quiet points, ${result.lives} lives of the agent. Dots are quiet points (those of the heap
after a garbage collection, its line without one); the grey part is the
warm-up, which is not judged. “Rise” is what a fitted line rises over the judged time.</p>
<p class="legend">${legend.join(' ')}</p>
${listOf('Found', findings)}
${listOf('Left by the runtime, which does not list it', remarks)}
<div class="plots">
${plots.join('\n')}
</div>
</html>
`;
}

function listOf(title: string, found: readonly Finding[]): string {
  if (found.length === 0) return '';
  const items = found.map(
    ({ atMs, text }) => `<li><b>${Math.round(atMs / 1000)} s</b> <code>${escapeText(text)}</code></li>`,
  );
  return `<h2>${title}</h2><ul>${items.join('\n')}</ul>`;
}

function plotOf(figure: Figure, { schedule, result, judged }: Report): Plot {
  const { samples, points, journal, tookMs } = result;
  const found = judged.find((one) => one.figure.name === figure.name);
  const firstJudged = points.find(({ cycle }) => cycle >= schedule.warmUpCycles);
  const lastOfWarmUp = points.findLast(({ cycle }) => cycle < schedule.warmUpCycles);
  return {
    title: figure.title,
    note: noteOf(figure, found),
    state: found?.drift.verdict ?? 'shown',
    samples: samples.rows.flatMap(({ atMs, values }) => pointOf(atMs, values[figure.name])),
    quiet: points.flatMap(({ atMs, values }) => pointOf(atMs, values[figure.name])),
    marks: journal.events.map(({ atMs, what }) => ({ atMs, kind: classOf(what) })),
    endMs: tookMs,
    judgedFromMs: firstJudged === undefined ? undefined : lastOfWarmUp?.atMs,
    base: figure.unit === 'bytes' ? 2 : 10,
    format: (value) => amount(value, figure.unit),
  };
}

function pointOf(
  atMs: number,
  value: number | undefined,
): { readonly atMs: number; readonly value: number }[] {
  return value === undefined ? [] : [{ atMs, value }];
}

function noteOf({ unit }: Figure, judged: JudgedFigure | undefined): string {
  if (judged === undefined) return 'not judged';
  const { verdict, rise, allowedRise } = judged.drift;
  if (verdict === 'unknown') return 'too few quiet points';
  return `${verdict}: rise ${amount(rise, unit)}, allowed ${amount(allowedRise, unit)}`;
}

function classOf(kind: string): string {
  return kind.replaceAll(' ', '-');
}

const style = `
body { font: 14px/1.45 system-ui, sans-serif; margin: 24px auto; max-width: 1280px; color: #1d2733; background: #fff; }
h1 { font-size: 21px; margin: 0 0 6px; } h2 { font-size: 16px; }
.verdict { font-size: 16px; font-weight: 600; }
.legend span { margin-right: 16px; white-space: nowrap; }
.plots { display: flex; flex-wrap: wrap; gap: 14px; }
.plots > svg { border: 1px solid #dfe4ea; border-radius: 6px; }
code { white-space: pre-wrap; }
.title { font: 600 13px system-ui, sans-serif; fill: #1d2733; }
.note { font: 12px system-ui, sans-serif; fill: #5a6673; }
.note.grows { fill: #c21d1d; font-weight: 700; } .note.flat { fill: #1a7f37; }
.tick { font: 11px system-ui, sans-serif; fill: #5a6673; }
.grid { stroke: #e6eaee; } .warm-up { fill: #f1f3f5; }
.samples { fill: none; stroke: #7aa7d9; stroke-width: 1.2; }
.quiet { fill: #0b4f9e; }
.mark { stroke-width: 1.4; opacity: .6; }
.kill-agent, .agent-ended { stroke: #c21d1d; } .stop-agent { stroke: #e07b00; } .kill-runtime { stroke: #8a3ffc; }
.freeze-runtime { stroke: #1192a6; } .fill-disk { stroke: #946200; } .cut-api { stroke: #d02670; }
`;
