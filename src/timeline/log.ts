/** The log: a reader of the timeline that writes one structured line per entry. */
import type { EntryLevel, TimelineEntry } from './entry.js';
import type { DataValue } from './entry-data.js';
import type { TimelineReader } from './timeline.js';

/** `*` in the pattern stands for any characters, `?` for one. */
export interface NameVerbosity {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface TimelineLogOptions {
  readonly format: 'text' | 'json';
  /** As the `-v` flag: 0 shows info and above, 4 debug, 6 and more everything. */
  readonly verbosity: number;
  /** The verbosity of entries by their names; the first pattern that matches counts, before the verbosity of all. */
  readonly byName?: readonly NameVerbosity[];
  readonly write: (line: string, level: EntryLevel) => void;
}

const verbosityOf: Readonly<Record<EntryLevel, number>> = { error: 0, warn: 0, info: 0, debug: 4, trace: 6 };

export function logReader(options: TimelineLogOptions): TimelineReader {
  const format = options.format === 'json' ? formatJson : formatText;
  const byName = (options.byName ?? []).map(({ filePattern, verbosity }) => ({
    pattern: patternOf(filePattern),
    verbosity,
  }));
  return (entry) => {
    const named = byName.find(({ pattern }) => pattern.test(entry.what));
    if (verbosityOf[entry.level] <= (named ?? options).verbosity)
      options.write(`${format(entry)}\n`, entry.level);
  };
}

function patternOf(text: string): RegExp {
  const escaped = text.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\*+/g, '.*').replaceAll('?', '.')}$`);
}

type LogFields = Record<string, Exclude<DataValue, undefined>>;

function fieldsOf(entry: TimelineEntry): LogFields {
  const fields: LogFields = {};
  if (entry.pod !== undefined) fields.pod = `${entry.pod.namespace}/${entry.pod.name}`;
  if (entry.container !== undefined) fields.container = entry.container;
  if (entry.event !== undefined) fields.event = entry.event.type;
  if (entry.because !== undefined) fields.because = entry.because;
  if (entry.durationMs !== undefined) fields.ms = Math.round(entry.durationMs);
  if (entry.error !== undefined) fields.err = entry.error;
  // Every value of every entry is one that a field can show: this assignment makes the compiler check it.
  const data: Readonly<Record<string, DataValue>> = entry.data ?? {};
  for (const [key, value] of Object.entries(data)) {
    if (value === undefined) continue;
    fields[key] = typeof value === 'number' ? Math.round(value * 10) / 10 : value;
  }
  return fields;
}

function formatJson(entry: TimelineEntry): string {
  return JSON.stringify({
    ts: new Date(entry.timeMs).toISOString(),
    level: entry.level,
    what: entry.what,
    msg: entry.message,
    ...fieldsOf(entry),
    ...(entry.pod === undefined ? {} : { podUID: entry.pod.uid }),
  });
}

function formatText(entry: TimelineEntry): string {
  const time = new Date(entry.timeMs).toISOString();
  const fields = Object.entries(fieldsOf(entry)).map(([key, value]) =>
    // The message tells the steps of a plan.
    typeof value === 'object' ? '' : ` ${key}=${quote(value)}`,
  );
  return `${time} ${entry.level.toUpperCase().padEnd(5)} ${entry.what}: ${oneLine(entry.message)}${fields.join('')}`;
}

function quote(value: string | number | boolean): string {
  const text = String(value);
  return /^[\w./:@%+-]+$/.test(text) ? text : JSON.stringify(text);
}

function oneLine(text: string): string {
  return text.includes('\n') ? JSON.stringify(text) : text;
}
