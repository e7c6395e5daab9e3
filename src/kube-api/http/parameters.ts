/** The query of a request as options, with a clear refusal of what is wrong. */
import { ApiError } from '../../kube-client/api-error.js';
import { member } from '../../kube-client/patches/json.js';
import type { DeleteOptions, ListOptions, WatchOptions } from '../../kube-client/port.js';
import { kubeApiLimits } from '../limits.js';
import type { ObjectWrite } from '../objects/write-rules.js';
import type { ApiRequest } from './contracts.js';

const { selectorChars: longestSelector } = kubeApiLimits;
const longestManager = 128;
const longestTimeoutSeconds = 3600;

export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value === '' || value === 'true' || value === '1';
}

function whole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text)) throw badParameter(name, text, 'it is not a whole number');
  return Number(text);
}

function selector(query: URLSearchParams, name: 'fieldSelector' | 'labelSelector'): Record<string, string> {
  const text = query.get(name);
  if (text === null || text === '') return {};
  if (text.length > longestSelector) throw badParameter(name, `${text.slice(0, 32)}…`, 'it is too long');
  return { [name]: text };
}

function version(query: URLSearchParams): { resourceVersion?: string } {
  const text = query.get('resourceVersion');
  if (text === null || text === '') return {};
  if (!/^\d{1,15}$/.test(text))
    throw badParameter('resourceVersion', text, 'it is not a version of this server');
  return { resourceVersion: text };
}

export function listParameters(
  query: URLSearchParams,
  namespace: string | undefined,
): ListOptions & { readonly resourceVersionMatch?: string } {
  const limit = whole(query, 'limit');
  const token = query.get('continue') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  if (match !== '') refuseMatch(match, query);
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...selector(query, 'fieldSelector'),
    ...selector(query, 'labelSelector'),
    ...version(query),
    ...(limit === undefined ? {} : { limit }),
    ...(token === '' ? {} : { continue: token }),
    ...(match === '' ? {} : { resourceVersionMatch: match }),
  };
}

function refuseMatch(match: string, query: URLSearchParams): void {
  const field = 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch';
  const refuse = (why: string): ApiError =>
    new ApiError({ code: 422, reason: 'Invalid', message: `${field}: ${why}` });
  if (match !== 'Exact' && match !== 'NotOlderThan')
    throw refuse(`Unsupported value: ${JSON.stringify(match.slice(0, 32))}`);
  if ((query.get('resourceVersion') ?? '') === '')
    throw refuse('Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided');
  if ((query.get('continue') ?? '') !== '')
    throw refuse('Forbidden: resourceVersionMatch is forbidden when continue is provided');
  if (match === 'Exact' && query.get('resourceVersion') === '0')
    throw refuse('Forbidden: resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
}

export function watchParameters(query: URLSearchParams, namespace: string | undefined): WatchOptions {
  const timeoutSeconds = whole(query, 'timeoutSeconds');
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...selector(query, 'fieldSelector'),
    ...selector(query, 'labelSelector'),
    ...version(query),
    ...(timeoutSeconds === undefined || timeoutSeconds === 0
      ? {}
      : { timeoutSeconds: Math.min(timeoutSeconds, longestTimeoutSeconds) }),
    allowBookmarks: flag(query, 'allowWatchBookmarks'),
    ...(query.get('sendInitialEvents') === 'true' ? { sendInitialEvents: true } : {}),
  };
}

export function writeParameters({ query, headers }: ApiRequest): ObjectWrite {
  const dryRun = query.getAll('dryRun');
  if (dryRun.some((value) => value !== 'All'))
    throw badParameter('dryRun', dryRun.join(','), 'the only value is "All"');
  const given = query.get('fieldManager') ?? '';
  if (given.length > longestManager)
    throw badParameter('fieldManager', `${given.slice(0, 32)}…`, `it is longer than ${longestManager}`);
  // Who does not name itself is known by its program.
  const program = String(headers['user-agent'] ?? '').split('/', 1)[0] ?? '';
  return {
    ...(dryRun.length > 0 ? { dryRun: true } : {}),
    fieldManager: given === '' ? program.slice(0, longestManager) || 'unknown' : given,
  };
}

/** A deletion may say in its body that it is only tried. */
export function deleteWrite(request: ApiRequest, body: unknown): ObjectWrite {
  const write = writeParameters(request);
  return isDryRun(body) ? { ...write, dryRun: true } : write;
}

export function isDryRun(options: unknown): boolean {
  const given = member(options, 'dryRun');
  if (given === undefined || given === null || (Array.isArray(given) && given.length === 0)) return false;
  if (!Array.isArray(given) || given.some((value) => value !== 'All'))
    throw badParameter('dryRun', JSON.stringify(given).slice(0, 64), 'the only value is "All"');
  return true;
}

/** From the body, or from the query when there is none. */
export function deleteParameters(query: URLSearchParams, body: unknown): DeleteOptions {
  const given = readDeleteOptions(body);
  const grace = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  return {
    ...given,
    ...(grace === null || !/^-?\d{1,9}$/.test(grace) ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(isPolicy(policy) ? { propagationPolicy: policy } : {}),
  };
}

export function readDeleteOptions(body: unknown): DeleteOptions {
  if (typeof body !== 'object' || body === null) return {};
  const { gracePeriodSeconds, preconditions, propagationPolicy, orphanDependents } = body as Record<
    string,
    unknown
  >;
  const { uid, resourceVersion } = (
    typeof preconditions === 'object' && preconditions !== null ? preconditions : {}
  ) as Record<string, unknown>;
  return {
    ...(Number.isSafeInteger(gracePeriodSeconds) ? { gracePeriodSeconds: Number(gracePeriodSeconds) } : {}),
    ...(isPolicy(propagationPolicy)
      ? { propagationPolicy }
      : orphanDependents === true
        ? { propagationPolicy: 'Orphan' }
        : {}),
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
  };
}

function isPolicy(value: unknown): value is NonNullable<DeleteOptions['propagationPolicy']> {
  return value === 'Orphan' || value === 'Background' || value === 'Foreground';
}

function badParameter(name: string, value: string, why: string): ApiError {
  return new ApiError({ code: 400, message: `${name}=${JSON.stringify(value)}: ${why}` });
}
