/** For whom a credential provider plugin is asked: nobody in particular, or the service account of a pod. */
import { createHash } from 'node:crypto';
import type { ServiceAccountSource } from '../../contracts.js';
import type { TokenAttributes } from './token-attributes.js';

/** What a plugin learns of the pod that pulls. */
export interface AskedAccount {
  readonly account: ServiceAccountSource;
  /** Those that the configuration names. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly token: string;
}

export type SelectedAnnotations =
  | { readonly kind: 'selected'; readonly annotations: Readonly<Record<string, string>> }
  | { readonly kind: 'missing'; readonly key: string };

/** An account without a required annotation has not asked for the plugin. */
export function selectAnnotations(
  { requiredAnnotationKeys, optionalAnnotationKeys }: TokenAttributes,
  given: Readonly<Record<string, string>>,
): SelectedAnnotations {
  const missing = requiredAnnotationKeys.find((key) => !Object.hasOwn(given, key));
  if (missing !== undefined) return { kind: 'missing', key: missing };
  const wanted = [...requiredAnnotationKeys, ...optionalAnnotationKeys];
  const annotations = wanted.flatMap((key) => {
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    return value === undefined ? [] : [[key, value] as const];
  });
  return { kind: 'selected', annotations: Object.fromEntries(annotations) };
}

/** Responses are reused for requests of the same identity only; it holds a hash of the token, never the token. */
export function cacheIdentity(
  cacheType: TokenAttributes['cacheType'],
  { account, annotations, token }: AskedAccount,
): string {
  const { namespace, name, uid } = account;
  const identity = [namespace, name, uid, sorted(annotations)];
  return JSON.stringify(cacheType === 'Token' ? [...identity, hashOf(token)] : identity);
}

/** Requests of one key are the same to the plugin, so that one run serves them all. */
export function requestKey(image: string, asked: AskedAccount | undefined): string {
  if (asked === undefined) return image;
  return JSON.stringify([image, hashOf(asked.token), sorted(asked.annotations)]);
}

function sorted(annotations: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(annotations).sort(([a], [b]) => (a < b ? -1 : 1));
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
