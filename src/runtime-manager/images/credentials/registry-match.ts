/** Matches keyring entries to an image: by host with globs, port and path prefix. */
import { globMatches } from './glob.js';

/** The default registry's entry, under the name that tools have always used. */
const defaultRegistryKey = 'index.docker.io';

interface HostPath {
  readonly labels: readonly string[];
  readonly port: string;
  readonly path: string;
}

/** An entry's lookup key: host and path, without scheme and registry API version. */
export function entryKey(registry: string): string {
  const [host = '', ...rest] = registry.replace(/^https?:\/\//, '').split(/(?=\/)/);
  const path = rest.join('').replace(/^\/v[12](?=\/)/, '');
  return path === '' || path === '/' ? host : `${host}${path}`;
}

/** `pattern` is an entry's key or an image pattern, `image` a repository with its host. */
export function matchesImage(pattern: string, image: string): boolean {
  const wanted = split(pattern);
  const given = split(image);
  return (
    wanted.port === given.port &&
    wanted.labels.length === given.labels.length &&
    given.path.startsWith(wanted.path) &&
    wanted.labels.every((label, index) => globMatches(label, given.labels[index] ?? ''))
  );
}

/**
 * All matching entries, the most specific first. If none matches, images of the default registry use its
 * entry. `image` is the full name of a repository: `docker.io/library/busybox`.
 */
export function lookUp<T>(entries: ReadonlyMap<string, readonly T[]>, image: string): readonly T[] {
  const keys = [...entries.keys()].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  const found = keys.flatMap((key) => (matchesImage(key, image) ? (entries.get(key) ?? []) : []));
  if (found.length > 0 || !isOnDefaultRegistry(image)) return found;
  return entries.get(defaultRegistryKey) ?? [];
}

function isOnDefaultRegistry(image: string): boolean {
  const slash = image.indexOf('/');
  if (slash < 0) return true;
  const first = image.slice(0, slash);
  return first === 'docker.io' || first === defaultRegistryKey || !/[.:]/.test(first);
}

function split(text: string): HostPath {
  const slash = text.indexOf('/');
  const authority = slash < 0 ? text : text.slice(0, slash);
  const [, host = authority, port = ''] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  return { labels: host.split('.'), port, path: slash < 0 ? '' : text.slice(slash) };
}
