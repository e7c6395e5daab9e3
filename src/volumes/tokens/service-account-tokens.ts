/** Caches service account tokens for pods and refreshes them before they expire. */
import { asError, type Clock, errorText, isCancelled } from '../../async/index.js';
import { goQuote } from '../../kube/index.js';
import type { ServiceAccountTokenRequest, ServiceAccountTokens } from '../contracts.js';
import { type IssuedToken, isExpired, largestJitterMs, needsRefresh } from './token-refresh.js';

/** A request for a token bound to a pod. */
export interface PodTokenRequest {
  readonly namespace: string;
  readonly serviceAccountName: string;
  /** Undefined: whatever account has the name. */
  readonly serviceAccountUid?: string | undefined;
  /** Empty for the API server's own audience. */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly boundPod: { readonly name: string; readonly uid: string };
}

export type RequestToken = (request: PodTokenRequest, signal: AbortSignal) => Promise<IssuedToken>;

/** The error of a `RequestToken` implementation when the API has no such endpoint. */
export const noTokenEndpoint = 'the API server does not have TokenRequest endpoints enabled';

export interface TokenCacheOptions {
  readonly clock: Clock;
  readonly requestToken: RequestToken;
  /** Called when a refresh fails while the old token is still valid; never receives the token. */
  readonly onRefreshFailed?: (request: PodTokenRequest, error: Error) => void;
  readonly random?: () => number;
}

const purgePeriodMs = 60_000;

interface CachedToken {
  readonly podUid: string;
  readonly issued: IssuedToken;
}

export class CachedServiceAccountTokens implements ServiceAccountTokens {
  readonly #options: TokenCacheOptions;
  readonly #random: () => number;
  /** Tokens of this node's pods, until the volume is torn down or the token expires. */
  readonly #entries = new Map<string, CachedToken>();
  #purgedAtMs: number;

  constructor(options: TokenCacheOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#purgedAtMs = options.clock.monotonic();
  }

  get size(): number {
    return this.#entries.size;
  }

  async token(wanted: ServiceAccountTokenRequest): Promise<string> {
    return (await this.issued(wanted)).token;
  }

  async issued(wanted: ServiceAccountTokenRequest): Promise<IssuedToken> {
    const { clock, requestToken, onRefreshFailed } = this.#options;
    const request = tokenRequest(wanted);
    const key = cacheKey(request);
    const known = this.#entries.get(key)?.issued;
    this.#purge();
    const jitterMs = this.#random() * largestJitterMs;
    if (known !== undefined && !needsRefresh(known, clock.now(), jitterMs)) return known;
    try {
      const issued = await requestToken(request, wanted.signal);
      this.#entries.set(key, { podUid: request.boundPod.uid, issued });
      return issued;
    } catch (error) {
      if (isCancelled(error)) throw error;
      if (known === undefined) {
        throw new Error(`failed to fetch token: ${errorText(error)}`, { cause: error });
      }
      if (isExpired(known, clock.now())) {
        throw new Error(`token ${key} expired and refresh failed: ${errorText(error)}`, { cause: error });
      }
      onRefreshFailed?.(request, asError(error));
      return known;
    }
  }

  forget(podUid: string): void {
    for (const [key, entry] of this.#entries) if (entry.podUid === podUid) this.#entries.delete(key);
  }

  #purge(): void {
    const { clock } = this.#options;
    if (clock.monotonic() - this.#purgedAtMs < purgePeriodMs) return;
    this.#purgedAtMs = clock.monotonic();
    for (const [key, { issued }] of this.#entries) {
      if (isExpired(issued, clock.now())) this.#entries.delete(key);
    }
  }
}

function tokenRequest(wanted: ServiceAccountTokenRequest): PodTokenRequest {
  const { pod, audience, expirationSeconds, serviceAccountUid } = wanted;
  const { metadata, spec } = pod;
  return {
    namespace: metadata.namespace,
    serviceAccountName: spec.serviceAccountName || 'default',
    serviceAccountUid,
    audiences: audience === undefined ? [] : [audience],
    expirationSeconds,
    boundPod: { name: metadata.name, uid: metadata.uid },
  };
}

/** Everything that distinguishes two tokens, in the form that messages show. */
function cacheKey({
  namespace,
  serviceAccountName,
  serviceAccountUid = '',
  audiences,
  expirationSeconds,
  boundPod,
}: PodTokenRequest): string {
  const quoted = audiences.map(goQuote).join(', ');
  const list = audiences.length === 0 ? '[]string(nil)' : `[]string{${quoted}}`;
  const bound = `v1.BoundObjectReference{Kind:"Pod", APIVersion:"v1", Name:${goQuote(boundPod.name)}, UID:${goQuote(boundPod.uid)}}`;
  return `${goQuote(serviceAccountName)}/${goQuote(namespace)}/${list}/${expirationSeconds}/${bound}/${goQuote(serviceAccountUid)}`;
}
