/** Draws how many pods of a burst are ready, or gone, over time: one line a side. */

export interface PlotLine {
  readonly name: string;
  readonly colour: string;
  /** When each pod was there, in milliseconds, in any order. */
  readonly atMs: readonly number[];
}

export interface PlotPanel {
  readonly title: string;
  readonly lines: readonly PlotLine[];
}

const panel = { width: 420, height: 300, left: 48, top: 40, right: 12, bottom: 40 };
const legendRow = 18;
const ticks = 5;

export function burstPlot(panels: readonly PlotPanel[]): string {
  const names = [...new Map(panels.flatMap(({ lines }) => lines).map((line) => [line.name, line])).values()];
  const width = panel.width * panels.length;
  const height = panel.height + legendRow * names.length + 10;
  const legend = names.map(({ name, colour }, row) => {
    const y = panel.height + legendRow * row + 8;
    return `<rect x="${panel.left}" y="${y}" width="18" height="4" fill="${colour}"/><text x="${panel.left + 26}" y="${y + 6}">${escaped(name)}</text>`;
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#222" role="img">`,
    `<title>${escaped(panels.map(({ title }) => title).join('; '))}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...panels.map((one, index) => panelText(one, panel.width * index)),
    ...legend,
    '</svg>',
  ].join('\n')}\n`;
}

function panelText({ title, lines }: PlotPanel, offset: number): string {
  const pods = Math.max(1, ...lines.map(({ atMs }) => atMs.length));
  const endMs = Math.max(1, ...lines.flatMap(({ atMs }) => atMs));
  const [right, bottom] = [panel.width - panel.right, panel.height - panel.bottom];
  const x = (ms: number): string => (offset + panel.left + (ms / endMs) * (right - panel.left)).toFixed(1);
  const y = (count: number): string => (bottom - (count / pods) * (bottom - panel.top)).toFixed(1);
  const grid = Array.from({ length: ticks + 1 }, (_, tick) => {
    const [ms, count] = [(endMs * tick) / ticks, (pods * tick) / ticks];
    return (
      `<line x1="${x(0)}" x2="${x(endMs)}" y1="${y(count)}" y2="${y(count)}" stroke="#ddd"/>` +
      `<text x="${offset + panel.left - 6}" y="${y(count)}" text-anchor="end" dominant-baseline="middle">${Math.round(count)}</text>` +
      `<text x="${x(ms)}" y="${bottom + 16}" text-anchor="middle">${(ms / 1000).toFixed(1)} s</text>`
    );
  });
  const drawn = lines.map(({ colour, atMs }) => {
    const sorted = [...atMs].sort((a, b) => a - b);
    // A step: the number holds until the next pod is there.
    const points = sorted.flatMap((ms, index) => [`${x(ms)},${y(index)}`, `${x(ms)},${y(index + 1)}`]);
    return `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${x(0)},${y(0)} ${points.join(' ')}"/>`;
  });
  const heading = `<text x="${offset + panel.left}" y="${panel.top - 16}" font-weight="bold">${escaped(title)}</text>`;
  return [heading, ...grid, ...drawn].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
