/** Decides whether a GET follows a redirect, and with which request. */
import { goQuote } from '../kube/index.js';
import { HttpGetError, type HttpGetRequest, type HttpUrl } from './contracts.js';
import { httpGetLimits } from './limits.js';
import { formatUrl, httpUrlOf } from './request.js';

export const maxRedirects = httpGetLimits.redirects;
const followed = new Set([301, 302, 303, 307, 308]);

/** Whether this status is a redirect. */
export function isRedirect(status: number): boolean {
  return followed.has(status);
}

/**
 * The request to the redirect's location; undefined if that is on another host, which makes this response
 * final. `hops` counts the requests made so far.
 */
export function redirectedRequest(
  first: HttpGetRequest,
  current: HttpGetRequest,
  location: string,
  hops: number,
): HttpGetRequest | undefined {
  const url = resolve(current.url, location);
  if (url === undefined) {
    throw new HttpGetError(
      `Get ${goQuote(location)}: failed to parse Location header ${goQuote(location)}: invalid URL`,
    );
  }
  if (url.hostname.toLowerCase() !== first.url.hostname.toLowerCase()) return undefined;
  if (hops >= maxRedirects) {
    throw new HttpGetError(`Get ${goQuote(location)}: stopped after ${maxRedirects} redirects`);
  }
  const isAbsolute = /^[A-Za-z][A-Za-z0-9+.-]*:/.test(location);
  return {
    url,
    // A custom Host header survives only while the location is relative.
    hostHeader: isAbsolute ? undefined : current.hostHeader,
    headers: withReferer(first.headers, current.url, url),
  };
}

function withReferer(
  headers: HttpGetRequest['headers'],
  from: HttpUrl,
  to: HttpUrl,
): HttpGetRequest['headers'] {
  const isGiven = headers.some(([name]) => name === 'Referer');
  if (isGiven || (from.scheme === 'https' && to.scheme === 'http')) return headers;
  return [...headers, ['Referer', formatUrl(from)]];
}

/** An empty host means localhost, which a URL cannot express; this name stands in while a location is resolved. */
const standIn = 'empty-host.invalid';

function resolve(base: HttpUrl, location: string): HttpUrl | undefined {
  let url: URL;
  try {
    url = new URL(location, formatUrl({ ...base, hostname: base.hostname || standIn }));
  } catch {
    return undefined;
  }
  const resolved = httpUrlOf(url);
  return resolved.hostname === standIn ? { ...resolved, hostname: '' } : resolved;
}
