/** The results of a run as a part of docs/performance.md, and its plot beside it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import path from 'node:path';
import { type Measure, median, met } from '../measure.js';
import {
  type BurstLoad,
  type BurstSide,
  burstSides,
  comparisons,
  endFigures,
  last,
  p99,
  sideTexts,
  startFigures,
} from './figures.js';
import { burstPlot } from './plot.js';

const pagePath = path.join(import.meta.dirname, '..', '..', 'docs', 'performance.md');
const plotName = 'performance-burst.svg';
const [begin, end] = ['<!-- bursts: begin -->', '<!-- bursts: end -->'];
const heading = '# Performance\n\nWhat was measured, on which machine, and how to measure it again.\n';

/** Distinct for people who do not tell all colours apart, as their lightness differs too. */
const colours: Readonly<Record<BurstSide, string>> = {
  bare: '#999999',
  api: '#0072b2',
  files: '#56b4e9',
  reference: '#d55e00',
};

export interface MachineFacts {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly loadBefore: number;
  readonly loadAfter: number;
}

export function machineFacts(loadBefore: number, loadAfter: number): MachineFacts {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown CPU',
    memoryGiB: totalmem() / 1024 ** 3,
    kernel: release(),
    node: process.version,
    loadBefore,
    loadAfter,
  };
}

/** Replaces what an earlier run wrote; the rest of the page stays. */
export function writePage(loads: readonly BurstLoad[], machine: MachineFacts): string {
  const text = existsSync(pagePath) ? readFileSync(pagePath, 'utf8') : heading;
  writeFileSync(pagePath, withSection(text, burstSection(loads, machine)));
  writeFileSync(path.join(path.dirname(pagePath), plotName), plotOf(loads));
  return pagePath;
}

export function withSection(page: string, section: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  const marked = `${begin}\n\n${section}\n${end}`;
  if (from < 0 || to < from) return `${page.trimEnd()}\n\n${marked}\n`;
  return page.slice(0, from) + marked + page.slice(to + end.length);
}

export function burstSection(loads: readonly BurstLoad[], machine: MachineFacts): string {
  const rounds = Math.max(...loads.map(({ api }) => api.length));
  const { cores, cpu, memoryGiB, kernel, node, loadBefore, loadAfter } = machine;
  return [
    '## Bursts of pods',
    '',
    'Pods that are created at once: by nodelet through the API of a real control plane and from files, and by the bare CRI calls',
    'that start the same pods. Every pod has the token of its account and resources. `npx tsx bench/run.ts burst --write` measures',
    'again and writes this part of the page.',
    '',
    `${cores} cores (${cpu}), ${memoryGiB.toFixed(0)} GiB, Linux ${kernel}, Node ${node}; load ${loadBefore.toFixed(1)} before and ${loadAfter.toFixed(1)} after; ${rounds} rounds.`,
    'Medians of the rounds, with the lowest and the highest in brackets. Ratios are of neighbours in one run.',
    '',
    `![Pods ready and gone over time](${plotName})`,
    '',
    table(
      [
        'side',
        'pods',
        'ready p50',
        'ready p99',
        'all ready',
        'gone p50',
        'all gone',
        'CPU to start',
        'CPU to end',
      ],
      loads.flatMap(sideRows),
    ),
    '',
    table(['compared', 'ratio', 'target', 'met'], loads.flatMap(comparisons).map(comparedRow)),
    '',
    "Where the time of a pod goes, through the API, p50 / p99. `queue` is what is left of it: turns, and the agent's own steps.",
    '',
    ...stepTable('start', loads, startFigures),
    '',
    ...stepTable('end', loads, endFigures),
    '',
  ].join('\n');
}

function sideRows(load: BurstLoad): string[][] {
  return burstSides
    .filter((side) => load[side].length > 0)
    .map((side) => {
      const bursts = load[side];
      const seconds = (of: (burst: (typeof bursts)[number]) => number): string =>
        spread(
          bursts.map((burst) => of(burst) / 1000),
          's',
        );
      const cpu = bursts.flatMap(({ cpuMs }) => cpuMs ?? []);
      return [
        sideTexts[side],
        String(load.pods),
        seconds(({ readyMs }) => median(readyMs)),
        seconds(({ readyMs }) => p99(readyMs)),
        seconds(({ readyMs }) => last(readyMs)),
        seconds(({ goneMs }) => median(goneMs)),
        seconds(({ goneMs }) => last(goneMs)),
        spread(
          cpu.map(({ start }) => start),
          'ms',
        ),
        spread(
          cpu.map(({ end: ended }) => ended),
          'ms',
        ),
      ];
    });
}

function comparedRow(measure: Measure): string[] {
  const { name, samples = [], target } = measure;
  const isMet = met(measure);
  return [
    name,
    spread(samples, '×'),
    target === undefined ? '' : `≤ ${target.limit.toFixed(2)} ×`,
    isMet === undefined ? '' : isMet ? 'yes' : 'no',
  ];
}

function stepTable(
  what: string,
  loads: readonly BurstLoad[],
  of: (
    bursts: BurstLoad['api'],
  ) => readonly { readonly step: string; readonly p50Ms: number; readonly p99Ms: number }[],
): string[] {
  const shown = loads
    .map(({ pods, api }) => ({ pods, figures: of(api) }))
    .filter(({ figures }) => figures.length > 0);
  const [first] = shown;
  if (first === undefined) return [];
  const header = [`step of the ${what}`, ...shown.map(({ pods }) => `${pods} pods`)];
  const rows = first.figures.map(({ step }, row) => [
    step,
    ...shown.map(({ figures }) => {
      const figure = figures[row];
      return figure === undefined ? '' : `${figure.p50Ms.toFixed(0)} / ${figure.p99Ms.toFixed(0)} ms`;
    }),
  ]);
  return [table(header, rows)];
}

function spread(samples: readonly number[], unit: string): string {
  if (samples.length === 0) return '';
  const value = `${median(samples).toFixed(2)} ${unit}`;
  if (samples.length === 1) return value;
  return `${value} (${Math.min(...samples).toFixed(2)}–${Math.max(...samples).toFixed(2)})`;
}

/** Columns as wide as what is in them, as all tables of the docs. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, at) =>
    Math.max(3, title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`;
  return [
    line(header),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n');
}

/** The last round of the largest load. */
function plotOf(loads: readonly BurstLoad[]): string {
  const largest = [...loads].sort((a, b) => b.pods - a.pods)[0];
  const lines = (of: 'readyMs' | 'goneMs') =>
    burstSides.flatMap((side) => {
      const burst = largest?.[side].at(-1);
      return burst === undefined ? [] : [{ name: sideTexts[side], colour: colours[side], atMs: burst[of] }];
    });
  const pods = largest?.pods ?? 0;
  return burstPlot([
    { title: `${pods} pods created at once: ready`, lines: lines('readyMs') },
    { title: `${pods} pods deleted at once: gone`, lines: lines('goneMs') },
  ]);
}
