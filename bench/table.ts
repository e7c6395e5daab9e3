/** Shows measures as a table for people. */
import { type Measure, met, type Unit } from './measure.js';

function formatValue(value: number, unit: Unit): string {
  const digits =
    unit === 'count' ? countDigits(value) : Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  switch (unit) {
    case 'ratio':
      return `${value.toFixed(2)} ×`;
    case 'count':
      return text;
    default:
      return `${text} ${unit}`;
  }
}

/** A count of something per pod need not be whole. */
function countDigits(value: number): number {
  return Number.isInteger(value) ? 0 : 1;
}

/** `8.21 s / 17.4 s`: what a ratio is made of. */
function formatCompared({ compared }: Measure): string {
  if (compared === undefined) return '';
  const { ours, theirs, unit } = compared;
  return `${formatValue(ours, unit)} / ${formatValue(theirs, unit)}`;
}

function formatTarget({ target, unit }: Measure): string {
  switch (target?.kind) {
    case undefined:
      return '';
    case 'atMost':
      return `≤ ${formatValue(target.limit, unit)}`;
    case 'below':
      return `< ${formatValue(target.limit, unit)}`;
  }
}

/** `1.02–1.31 of 3`: the range of the samples and their number. */
function formatSamples({ samples, unit }: Measure): string {
  if (samples === undefined || samples.length < 2) return '';
  const [low, high] = [Math.min(...samples), Math.max(...samples)];
  return `${formatValue(low, unit)} … ${formatValue(high, unit)} (${samples.length})`;
}

interface Column {
  readonly title: string;
  readonly cell: (measure: Measure) => string;
}

const columns: readonly Column[] = [
  { title: 'measure', cell: ({ name }) => name },
  { title: 'value', cell: ({ value, unit }) => formatValue(value, unit) },
  { title: 'target', cell: formatTarget },
  { title: 'met', cell: formatMet },
  { title: 'nodelet / reference', cell: formatCompared },
  { title: 'lowest … highest (samples)', cell: formatSamples },
];

/** Columns as wide as what is in them; what a ratio is made of has one only where ratios say it. */
export function formatTable(measures: readonly Measure[]): string {
  const isCompared = measures.some(({ compared }) => compared !== undefined);
  const shown = columns.filter(({ cell }) => isCompared || cell !== formatCompared);
  const header = shown.map(({ title }) => title);
  const rows = measures.map((measure) => shown.map(({ cell }) => cell(measure)));
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `  ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  const rule = widths.map((width) => '-'.repeat(width));
  return `${[header, rule, ...rows].map(line).join('\n')}\n`;
}

function formatMet(measure: Measure): string {
  switch (met(measure)) {
    case undefined:
      return '';
    case true:
      return 'yes';
    case false:
      return 'NO';
  }
}
