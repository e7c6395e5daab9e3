/**
 * `/flagz` and `/statusz`: the flags and the status of the process, for people and, on exact request, for
 * programs.
 */
import { stringify } from 'yaml';
import type { RouteResponse } from '../responses.js';
import type { Route } from '../routes.js';

export interface ZPagesOptions {
  readonly flags: Readonly<Record<string, string>>;
  readonly version: string;
  readonly startedAtMs: number;
  readonly nowMs: () => number;
  readonly random?: () => number;
}

type ZpageKind = 'Flagz' | 'Statusz';
const group = 'config.k8s.io';
const separators = [':', ': ', '=', ' '];

/** The first segments of the paths that are served as they are written, and stand for no resource. */
export function plainPaths(routes: readonly Route[]): readonly string[] {
  const served = routes.filter(({ kind, path }) => kind === 'plain' && !path.endsWith('/'));
  return [...new Set(served.map(({ path }) => `/${path.split('/', 2)[1] ?? ''}`))].sort();
}

export function flagzRoute(options: ZPagesOptions): Route {
  return page(
    'Flagz',
    options,
    () => ({ flags: options.flags }),
    () => Object.entries(options.flags).sort(),
  );
}

/** `paths`: see `plainPaths`. */
export function statuszRoute(options: ZPagesOptions, paths: readonly string[]): Route {
  const { version, startedAtMs, nowMs } = options;
  const uptimeSeconds = (): number => Math.floor((nowMs() - startedAtMs) / 1000);
  return page(
    'Statusz',
    options,
    () => ({
      startTime: `${new Date(startedAtMs).toISOString().slice(0, 19)}Z`,
      uptimeSeconds: uptimeSeconds(),
      // The field is named after Go, the reference kubelet's language; the value says what really runs.
      goVersion: `node${process.version}`,
      binaryVersion: version,
      emulationVersion: version,
      paths,
    }),
    () => [
      ['Started', new Date(startedAtMs).toUTCString()],
      ['Up', upText(uptimeSeconds())],
      ['Go version', `node${process.version}`],
      ['Binary version', version],
      ['Emulation version', version],
      ['Paths', paths.join(' ')],
    ],
  );
}

function upText(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${two(Math.floor(seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
}

function page(
  kind: ZpageKind,
  { random = Math.random }: ZPagesOptions,
  structured: () => Readonly<Record<string, unknown>>,
  lines: () => readonly (readonly [name: string, value: string])[],
): Route {
  const name = kind.toLowerCase();
  return {
    kind: 'plain',
    path: `/${name}`,
    handle: ({ headers }) => {
      const wanted = chosenForm(headers.accept, kind);
      if (wanted === undefined) return notAcceptable(kind);
      if (wanted.kind === 'text') {
        const separator = separators[Math.floor(random() * separators.length)] ?? '=';
        const body = lines().map(([key, value]) => `${key}${separator}${value}\n`);
        return {
          status: 200,
          headers: { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
          body: `\nkubelet ${name}\nWarning: This endpoint is for debugging by people; its form may change, so no program should read it.\n\n${body.join('')}`,
        };
      }
      const object = {
        kind,
        apiVersion: `${group}/${wanted.version}`,
        metadata: { name: 'kubelet' },
        ...structured(),
      };
      return {
        status: 200,
        headers: {
          'Content-Type': wanted.type,
          ...(wanted.version === 'v1alpha1'
            ? { Warning: `299 - "This version of the ${name} endpoint is deprecated. Use v1beta1 instead."` }
            : {}),
        },
        body: wanted.type === 'application/json' ? `${JSON.stringify(object)}\n` : stringify(object),
      };
    },
  };
}

type ZpageForm =
  | { readonly kind: 'text' }
  | { readonly kind: 'structured'; readonly type: string; readonly version: string };

/**
 * The first item of the header that can be served. Programs must name the object, its group and version in
 * full.
 */
export function chosenForm(accept: string | undefined, kind: ZpageKind): ZpageForm | undefined {
  if (accept === undefined || accept.trim() === '') return { kind: 'text' };
  for (const item of accept.split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim());
    if (type === '*/*' || type === 'text/plain' || type === 'text/*') return { kind: 'text' };
    if (type !== 'application/json' && type !== 'application/yaml') continue;
    const given = new Map(
      parameters.map((parameter) => parameter.split('=', 2) as [string, string | undefined]),
    );
    const version = given.get('v') ?? '';
    if (given.get('g') !== group || given.get('as') !== kind) continue;
    if (version === 'v1beta1' || version === 'v1alpha1') return { kind: 'structured', type, version };
  }
  return undefined;
}

function notAcceptable(kind: ZpageKind): RouteResponse {
  const accepted = [
    'text/plain',
    ...['json', 'yaml'].map((type) => `application/${type};g=${group};v=v1beta1;as=${kind}`),
  ];
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `only the following media types are accepted: ${accepted.join(', ')}`,
    reason: 'NotAcceptable',
    code: 406,
  };
  return {
    status: 406,
    headers: { 'Content-Type': 'application/json' },
    body: `${JSON.stringify(status)}\n`,
  };
}
