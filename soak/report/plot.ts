/** Draws one figure over time as SVG: its samples, its quiet points with the fitted rise, lives and faults. Pure. */

export interface PlotPoint {
  readonly atMs: number;
  readonly value: number;
}

export interface PlotMark {
  readonly atMs: number;
  /** A class of the style sheet: its colour. */
  readonly kind: string;
}

export interface Plot {
  readonly title: string;
  /** Beside the title: the verdict with its figures. */
  readonly note: string;
  readonly state: 'flat' | 'grows' | 'unknown' | 'shown';
  readonly samples: readonly PlotPoint[];
  readonly quiet: readonly PlotPoint[];
  readonly marks: readonly PlotMark[];
  readonly endMs: number;
  /** Quiet points before are not judged. */
  readonly judgedFromMs: number | undefined;
  /** Bytes are round in binary, all else in tens. */
  readonly base: 2 | 10;
  readonly format: (value: number) => string;
}

export const plotSize = { width: 620, height: 170 } as const;
const area = { left: 74, top: 30, right: 12, bottom: 24 } as const;

export function drawPlot(plot: Plot): string {
  const { width, height } = plotSize;
  const inner = { width: width - area.left - area.right, height: height - area.top - area.bottom };
  const [low, high] = rangeOf([...plot.samples, ...plot.quiet].map(({ value }) => value));
  const x = (atMs: number): number => area.left + (plot.endMs === 0 ? 0 : (atMs / plot.endMs) * inner.width);
  const y = (value: number): number => area.top + inner.height * (1 - (value - low) / (high - low));
  const bottom = area.top + inner.height;
  const parts = [
    ...(plot.judgedFromMs === undefined
      ? []
      : [
          `<rect class="warm-up" x="${area.left}" y="${area.top}" width="${fixed(x(plot.judgedFromMs) - area.left)}" height="${inner.height}"/>`,
        ]),
    ...plot.marks.map(
      ({ atMs, kind }) =>
        `<line class="mark ${escapeText(kind)}" x1="${fixed(x(atMs))}" x2="${fixed(x(atMs))}" y1="${area.top}" y2="${bottom}"/>`,
    ),
    ...ticksOf(low, high, plot.base).map(
      (value) =>
        `<line class="grid" x1="${area.left}" x2="${width - area.right}" y1="${fixed(y(value))}" y2="${fixed(y(value))}"/>` +
        `<text class="tick" x="${area.left - 6}" y="${fixed(y(value) + 4)}" text-anchor="end">${escapeText(plot.format(value))}</text>`,
    ),
    ...minutesOf(plot.endMs).map(
      (minutes) =>
        `<text class="tick" x="${fixed(x(minutes * 60_000))}" y="${height - 8}" text-anchor="middle">${timeText(minutes)}</text>`,
    ),
    ...pieces(plot.samples, plot.endMs).map(
      (piece) =>
        `<polyline class="samples" points="${piece.map(({ atMs, value }) => `${fixed(x(atMs))},${fixed(y(value))}`).join(' ')}"/>`,
    ),
    ...plot.quiet.map(
      ({ atMs, value }) => `<circle class="quiet" cx="${fixed(x(atMs))}" cy="${fixed(y(value))}" r="3.2"/>`,
    ),
    `<text class="title" x="4" y="17">${escapeText(plot.title)}</text>`,
    `<text class="note ${plot.state}" x="${width - area.right}" y="17" text-anchor="end">${escapeText(plot.note)}</text>`,
  ];
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(plot.title)}">${parts.join('')}</svg>`;
}

/** With room above and below, so that a line that is flat runs in the middle and noise looks as small as it is. */
export function rangeOf(values: readonly number[]): [low: number, high: number] {
  if (values.length === 0) return [0, 1];
  const least = values.reduce((a, b) => Math.min(a, b));
  const most = values.reduce((a, b) => Math.max(a, b));
  const room = Math.max((most - least) * 0.1, Math.abs(most) * 0.1, most === 0 ? 1 : 0);
  return [least >= 0 ? Math.max(0, least - room) : least - room, most + room];
}

/** Two to five round values within; of bytes they are round in binary. */
export function ticksOf(low: number, high: number, base: 2 | 10 = 10): number[] {
  const rough = (high - low) / 4;
  const power = base ** Math.floor(Math.log(rough) / Math.log(base));
  const factors = base === 2 ? [1, 2] : [1, 2, 2.5, 5, 10];
  const step = factors.map((factor) => factor * power).find((size) => size >= rough * 0.999) ?? rough;
  const ticks: number[] = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) ticks.push(value);
  return ticks;
}

/** About six moments of the time. */
export function minutesOf(endMs: number): number[] {
  const all = endMs / 60_000;
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440].find((size) => all / size <= 7) ?? 2880;
  return Array.from({ length: Math.floor(all / step) + 1 }, (_, at) => at * step);
}

function timeText(minutes: number): string {
  return minutes >= 120 && minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}

/** The line is broken where there was nothing to measure for a while. */
function pieces(samples: readonly PlotPoint[], endMs: number): PlotPoint[][] {
  const gapMs = Math.max(20_000, endMs / 60);
  const found: PlotPoint[][] = [];
  for (const sample of samples) {
    const last = found.at(-1);
    const before = last?.at(-1);
    if (last === undefined || before === undefined || sample.atMs - before.atMs > gapMs) found.push([sample]);
    else last.push(sample);
  }
  return found;
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}

export function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
