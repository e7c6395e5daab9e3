/** Builds the request of an httpGet action: where it goes and what headers it has. */
import { isIPv6 } from 'node:net';
import type { Container, HTTPGetAction } from '../kube/index.js';
import type { HttpGetRequest, HttpUrl } from './contracts.js';
import { containerPort } from './port.js';

export interface HttpGetTarget {
  readonly container: Container;
  /** Where the request goes when the action names no host. */
  readonly podIp: string;
  readonly userAgent: string;
}

/** Fails when the port that the action names is none. */
export function httpGetRequest(
  action: HTTPGetAction,
  { container, podIp, userAgent }: HttpGetTarget,
): HttpGetRequest {
  const url: HttpUrl = {
    scheme: (action.scheme || 'http').toLowerCase(),
    hostname: action.host || podIp,
    port: containerPort(action.port, container),
    target: requestTarget(action.path ?? ''),
  };
  return { url, ...requestHeaders(action, userAgent) };
}

/** `http://[::1]:80/path?query` */
export function formatUrl(url: HttpUrl): string {
  return `${url.scheme}://${formatHost(url)}${url.target}`;
}

/** `10.0.0.1:80`, `[::1]:80`, or the host alone where no port was given. */
export function formatHost({ hostname, port }: Pick<HttpUrl, 'hostname' | 'port'>): string {
  const host = isIPv6(hostname) ? `[${hostname}]` : hostname;
  return port === undefined ? host : `${host}:${port}`;
}

/** A path as a URL reference, of which path and query are sent. One that is none is sent as it stands. */
function requestTarget(path: string): string {
  const reference = path.split('#', 1)[0] ?? '';
  const [, afterHost = reference] = /^(?:[A-Za-z][A-Za-z0-9+.-]*:)?\/\/[^/?]*(.*)$/s.exec(reference) ?? [];
  const at = afterHost.indexOf('?');
  const pathPart = at < 0 ? afterHost : afterHost.slice(0, at);
  const isReference = !hasControls(path) && /^(?:[^%]|%[0-9a-f]{2})*$/i.test(pathPart);
  if (!isReference) return withSlash(escapeText(path, /[A-Za-z0-9\-_.~$&+,/:;=@]/));
  const query = at < 0 ? '' : `?${escapeText(afterHost.slice(at + 1), /[!-~]/)}`;
  return `${withSlash(escapeText(pathPart, /[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]%]/))}${query}`;
}

function withSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

export function hasControls(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function escapeText(text: string, kept: RegExp): string {
  let escaped = '';
  for (const character of text) {
    escaped += kept.test(character)
      ? character
      : [...Buffer.from(character, 'utf8')]
          .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
          .join('');
  }
  return escaped;
}

/** Headers that belong to the connection and its message, which no action decides. */
const ownHeaders = new Set(['Content-Length', 'Transfer-Encoding', 'Trailer']);

/** `User-Agent` and `Accept` have defaults; either is left out when it is given as empty. */
function requestHeaders(
  { httpHeaders = [] }: HTTPGetAction,
  userAgent: string,
): Pick<HttpGetRequest, 'hostHeader' | 'headers'> {
  const given = new Map<string, string[]>();
  for (const { name, value } of httpHeaders) {
    const canonical = canonicalHeaderName(name);
    given.set(canonical, [...(given.get(canonical) ?? []), value ?? '']);
  }
  const hostHeader = given.get('Host')?.[0] || undefined;
  const agent = given.has('User-Agent') ? (given.get('User-Agent')?.[0] ?? '') : userAgent;
  if (!given.has('Accept')) given.set('Accept', ['*/*']);
  else if (given.get('Accept')?.[0] === '') given.delete('Accept');
  given.delete('Host');
  given.delete('User-Agent');
  const isUpgrade = given.has('Upgrade') && given.get('Connection')?.some((value) => /upgrade/i.test(value));
  // One connection for one request, whatever else was asked for.
  if (!isUpgrade) given.delete('Connection');

  const headers: [string, string][] = agent === '' ? [] : [['User-Agent', agent]];
  for (const name of [...given.keys()].sort()) {
    if (ownHeaders.has(name)) continue;
    for (const value of given.get(name) ?? []) headers.push([name, value]);
  }
  if (!isUpgrade) headers.push(['Connection', 'close']);
  return { hostHeader, headers };
}

/** `x-my-header` as `X-My-Header`; what is no header name stays as it is. */
function canonicalHeaderName(name: string): string {
  if (!isHeaderName(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

export function isHeaderName(text: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(text);
}
