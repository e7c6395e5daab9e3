/** Parses a query for the node's logs, and decides whether to serve it. */
import { CommandLine, wordProblem } from '../../programs/index.js';

export interface NodeLogQuery {
  readonly services: readonly string[];
  readonly files: readonly string[];
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly tailLines?: number;
  readonly pattern?: string;
  readonly boot?: number;
}

export type DecodedNodeLogQuery =
  /** Not a query: a plain request for a file. */
  | { readonly kind: 'none' }
  | { readonly kind: 'query'; readonly query: NodeLogQuery }
  | { readonly kind: 'undecodable' | 'invalid'; readonly message: string };

const parameters = ['query', 'sinceTime', 'untilTime', 'tailLines', 'pattern', 'boot'] as const;
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const mostLines = 100_000;
const mostServices = 4;
const longestService = 256;
const servicePattern = /^[a-zA-Z0-9\-_.:@]+$/;

export function decodeNodeLogQuery(values: URLSearchParams): DecodedNodeLogQuery {
  if (parameters.every((name) => values.getAll(name).every((value) => value === ''))) return { kind: 'none' };
  const problems: string[] = [];
  const time = (name: 'sinceTime' | 'untilTime'): number | undefined => {
    const value = values.get(name) ?? '';
    if (value === '') return undefined;
    const ms = rfc3339.test(value) ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(ms))
      problems.push(`${name}: Invalid value: ${JSON.stringify(value)}: invalid time format`);
    return ms;
  };
  const integer = (name: 'tailLines' | 'boot'): number | undefined => {
    const value = values.get(name) ?? '';
    if (value === '') return undefined;
    if (!/^[+-]?\d{1,15}$/.test(value)) {
      problems.push(
        `${name}: Invalid value: ${JSON.stringify(value)}: strconv.Atoi: parsing ${JSON.stringify(value)}: invalid syntax`,
      );
    }
    return Number(value);
  };
  const asked = values.getAll('query');
  const names = asked.map((name) => name.trim()).filter((name) => name !== '');
  if (asked.length > 0 && names.length === 0) {
    problems.push(`query: Invalid value: ${JSON.stringify(asked)}: may not be empty`);
  }
  const sinceMs = time('sinceTime');
  const untilMs = time('untilTime');
  const tailLines = integer('tailLines');
  const boot = integer('boot');
  if (problems.length > 0) return { kind: 'undecodable', message: aggregate(problems) };
  const pattern = values.get('pattern') ?? '';
  const query: NodeLogQuery = {
    services: names.filter((name) => !isFile(name)),
    files: names.filter(isFile),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(pattern === '' ? {} : { pattern }),
    ...(boot === undefined ? {} : { boot }),
  };
  const wrong = queryProblems(query);
  return wrong.length === 0 ? { kind: 'query', query } : { kind: 'invalid', message: aggregate(wrong) };
}

function isFile(name: string): boolean {
  return name.includes('/') || name.includes('\\');
}

export function hasOptions({ sinceMs, untilMs, tailLines, pattern, boot }: NodeLogQuery): boolean {
  return [sinceMs, untilMs, tailLines, pattern, boot].some((value) => value !== undefined);
}

function queryProblems(query: NodeLogQuery): string[] {
  const { services, files, sinceMs, untilMs, tailLines, pattern, boot } = query;
  const problems: string[] = [];
  const invalid = (field: string, value: unknown, why: string): void => {
    problems.push(`${field}: Invalid value: ${JSON.stringify(value)}: ${why}`);
  };
  if (services.length + files.length === 0)
    problems.push('query: Required value: cannot be empty with options');
  if (services.length > 0 && files.length > 0)
    invalid('query', [...files, ...services], 'cannot specify a file and service');
  if (files.length > 1) invalid('query', files, 'cannot specify more than one file');
  if (files.length > 0 && hasOptions(query)) invalid('query', files, 'cannot specify file with options');
  for (const file of files) {
    if (escapes(file)) invalid('query', [file], 'path escapes from parent');
  }
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs) {
    invalid('untilTime', new Date(untilMs).toISOString(), 'must be after `sinceTime`');
  }
  if (boot !== undefined && boot > 0) invalid('boot', boot, 'must be less than 1');
  if (tailLines !== undefined && (tailLines < 0 || tailLines > mostLines)) {
    invalid('tailLines', tailLines, `must be between 0 and ${mostLines}, inclusive`);
  }
  if (pattern !== undefined && !isPattern(pattern)) invalid('pattern', pattern, 'not a regular expression');
  const unfit = pattern === undefined ? undefined : wordProblem(pattern);
  if (unfit !== undefined) problems.push(`pattern: Invalid value: ${unfit}`);
  if (services.length > mostServices)
    invalid('query', services, `cannot specify more than ${mostServices} services`);
  for (const service of services) {
    if (service.length > longestService)
      invalid('query', service, `length must be less than ${longestService}`);
    if (!servicePattern.test(service)) invalid('query', service, 'input contains unsupported characters');
  }
  return problems;
}

/** Names are relative, and must stay below their directory. */
function escapes(file: string): boolean {
  return file.startsWith('/') || file.includes('\\') || file.split('/').includes('..');
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}

function aggregate(problems: readonly string[]): string {
  return problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
}

/** Asks the journal for the services it knows. Every value is joined to its option. */
export function journalCommand(query: NodeLogQuery, services: readonly string[]): CommandLine {
  const { sinceMs, untilMs, tailLines, pattern, boot } = query;
  let line = CommandLine.of('journalctl').literal('--utc', '--no-pager', '--output=short-precise');
  if (sinceMs !== undefined) line = line.option('--since', journalTime(sinceMs));
  if (untilMs !== undefined) line = line.option('--until', journalTime(untilMs));
  if (tailLines !== undefined) line = line.literal('--pager-end').option('--lines', tailLines);
  for (const service of services) line = line.option('--unit', service);
  if (pattern !== undefined) line = line.option('--grep', pattern);
  return boot === undefined ? line : line.option('--boot', boot);
}

function journalTime(ms: number): string {
  const at = new Date(ms);
  return `${at.getUTCFullYear()}-${at.getUTCMonth() + 1}-${at.getUTCDate()} ${at.getUTCHours()}:${at.getUTCMinutes()}:${at.getUTCSeconds()}`;
}
