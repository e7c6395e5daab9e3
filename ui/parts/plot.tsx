/** A plot of what is used over time, beside what was asked for and what may be used; in words for those who do not see it. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { clockTime } from '../../src/timeline/clock-time.js';

export interface PlotLine {
  readonly label: string;
  /** Names a colour of the page's own. */
  readonly color: '--accent' | '--good' | '--bad' | '--busy' | '--soft';
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
}

export interface PlotProps {
  readonly title: string;
  readonly timesMs: readonly number[];
  readonly lines: readonly PlotLine[];
  readonly format: (value: number) => string;
  /** Steps of the axis are powers of two, as those of bytes. */
  readonly binary?: boolean;
}

const heightPx = 150;
/** From a KiB on. */
const binarySteps = Array.from({ length: 40 }, (_, at) => 2 ** (at + 10));

export function Plot({ title, timesMs, lines, format, binary = false }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shape = lines.map(({ label }) => label).join('\n');
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const make = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(current, lines, format, binary), dataOf(timesMs, lines), current);
    };
    make();
    const sizes = new ResizeObserver(() =>
      plot.current?.setSize({ width: current.clientWidth, height: heightPx }),
    );
    sizes.observe(current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', make);
    return () => {
      sizes.disconnect();
      dark.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(dataOf(timesMs, lines)), [timesMs.at(-1), timesMs.length, shape]);
  const words = lines.map(({ label, values }) => {
    const now = values.at(-1);
    return `${label} ${now === undefined || now === null ? 'unknown' : format(now)}`;
  });
  return (
    <figure class="plot-figure" aria-label={`${title}: ${words.join(', ')}`}>
      <figcaption>
        <h3>{title}</h3>
        {lines.map(({ label, color }, at) => (
          <span key={label} class="legend">
            <span class="key" style={{ background: `var(${color})` }} aria-hidden="true" />
            {words[at]}
          </span>
        ))}
      </figcaption>
      <div class="plot" ref={place} aria-hidden="true" />
    </figure>
  );
}

function dataOf(timesMs: readonly number[], lines: readonly PlotLine[]): uPlot.AlignedData {
  return [timesMs.map((ms) => ms / 1000), ...lines.map(({ values }) => [...values])];
}

function optionsOf(
  place: HTMLElement,
  lines: readonly PlotLine[],
  format: PlotProps['format'],
  binary: boolean,
): uPlot.Options {
  const look = getComputedStyle(place);
  const color = (name: string): string => look.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--soft'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(200, place.clientWidth),
    height: heightPx,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, _least, most) => [0, most > 0 ? most * 1.1 : binary ? 2 ** 20 : 1] } },
    axes: [
      { ...axis, space: 90, size: 28, values: (_, ticks) => ticks.map((second) => clockTime(second * 1000)) },
      {
        ...axis,
        size: 74,
        values: (_, ticks) => ticks.map(format),
        ...(binary ? { incrs: binarySteps } : {}),
      },
    ],
    series: [
      {},
      ...lines.map(
        ({ label, color: name, dashed }): uPlot.Series => ({
          label,
          stroke: color(name),
          width: 1.6,
          points: { show: false },
          ...(dashed ? { dash: [5, 4] } : {}),
        }),
      ),
    ],
  };
}
