/** Samples in the Prometheus text form, each with its timestamp. */

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** Omitted for the time of the scrape. */
  readonly timeMs?: number | undefined;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

/** Sorted by name; families without samples are omitted. */
export function expositionText(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(
      ({ name, help, type, samples }) =>
        `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.map((sample) => line(name, sample)).join('')}`,
    )
    .join('');
}

function line(name: string, { labels = {}, value, timeMs }: Sample): string {
  const parts = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  const set = parts.length === 0 ? '' : `{${parts.join(',')}}`;
  return `${name}${set} ${value}${timeMs === undefined ? '' : ` ${Math.round(timeMs)}`}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** A time of the summary in milliseconds. */
export function timeMsOf(time: string | null): number | undefined {
  return time === null ? undefined : Date.parse(time);
}
