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
      (family) => `${headText(family)}${family.samples.map((sample) => line(family.name, sample)).join('')}`,
    )
    .join('');
}

export function headText({ name, help, type }: Pick<Family, 'name' | 'help' | 'type'>): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, { labels = {}, value, timeMs }: Sample): string {
  const text = labelText(labels);
  const set = text === '' ? '' : `{${text}}`;
  return `${name}${set} ${value}${timeMs === undefined ? '' : ` ${Math.round(timeMs)}`}\n`;
}

/** Labels without their braces. */
function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([label, text]) => `${label}="${escaped(text)}"`)
    .join(',');
}

/** A value of a label between its quotes. */
export function escaped(text: string): string {
  return /["\\\n]/.test(text)
    ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : text;
}

/** A time of the summary in milliseconds. */
export function timeMsOf(time: string | null): number | undefined {
  return time === null ? undefined : Date.parse(time);
}
