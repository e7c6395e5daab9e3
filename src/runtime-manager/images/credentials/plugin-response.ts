/** Parses a credential provider plugin's response, and tells which other images it applies to. */
import { parseDuration, parseJson } from '../../../kube/index.js';
import type { RegistryAuth } from './docker-config.js';
import { entryKey } from './registry-match.js';

export type CacheKeyType = 'Image' | 'Registry' | 'Global';

export interface CredentialProviderResponse {
  readonly cacheKeyType: CacheKeyType;
  /** Undefined: the plugin's configured default; 0: do not cache. */
  readonly cacheDurationMs: number | undefined;
  readonly auth: ReadonlyMap<string, readonly RegistryAuth[]>;
}

/** Errors never quote the response, which is full of passwords. */
export function parsePluginAnswer(text: string, apiVersion: string): CredentialProviderResponse {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new Error('error decoding credential provider plugin response from stdout');
  }
  const answer = fieldsOf(value);
  if (answer.kind !== 'CredentialProviderResponse') {
    throw new Error('failed to convert credential provider response to the internal type: unexpected kind');
  }
  if (answer.apiVersion !== apiVersion) {
    throw new Error(
      `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}`,
    );
  }
  const { cacheKeyType } = answer;
  if (cacheKeyType !== 'Image' && cacheKeyType !== 'Registry' && cacheKeyType !== 'Global') {
    throw new Error('credential provider plugin did not return a valid cacheKeyType');
  }
  const auth = new Map<string, RegistryAuth[]>();
  for (const [pattern, entry] of Object.entries(fieldsOf(answer.auth ?? {}))) {
    const { username = '', password = '' } = fieldsOf(entry);
    const key = entryKey(pattern);
    auth.set(key, [...(auth.get(key) ?? []), { username: String(username), password: String(password) }]);
  }
  return { cacheKeyType, cacheDurationMs: durationOf(answer.cacheDuration), auth };
}

/**
 * The cache key of a response for an image: `image` is a repository with its host, `identity` tells apart those that
 * the plugin was asked for.
 */
export function cacheKey(type: CacheKeyType, image: string, identity = ''): string {
  const key = imageKey(type, image);
  return identity === '' ? key : JSON.stringify([key, identity]);
}

function imageKey(type: CacheKeyType, image: string): string {
  switch (type) {
    case 'Image':
      return `image ${image}`;
    case 'Registry':
      return `registry ${image.split('/', 1).join()}`;
    case 'Global':
      return 'global';
  }
}

/** All cache keys under which a response for the image may be found. */
export function cacheKeysOf(image: string, identity = ''): readonly string[] {
  return (['Image', 'Registry', 'Global'] as const).map((type) => cacheKey(type, image, identity));
}

function durationOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  try {
    return Math.max(0, parseDuration(String(value)));
  } catch {
    throw new Error('credential provider plugin did not return a valid cacheDuration');
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('error decoding credential provider plugin response from stdout');
  }
  // A non-array object can be read by field name.
  return value as Record<string, unknown>;
}
