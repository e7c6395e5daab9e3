/** Asks the API server who owns a token, once for concurrent and repeated uses of it. */
import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, withTimeout } from '../../async/index.js';
import type { KubeApi, TokenReview } from '../../kube-client/index.js';
import { resources } from '../../kube-client/resources.js';
import { ExpiringCache } from './expiring-cache.js';
import type { UserIdentity } from './identity.js';
import { askForReview } from './review-retry.js';

export interface TokenReviewsOptions {
  readonly api: Pick<KubeApi, 'create'>;
  readonly clock: Clock;
  readonly cacheTtlMs: number;
  readonly random?: () => number;
}

const mostTokens = 4096;
const reviewLimitMs = 30_000;
const callTimeoutMs = 10_000;
/**
 * A client with a token is not yet authenticated, and must not block the agent's API access with many tokens.
 */
const mostUnderway = 64;

type TokenVerdict = { readonly identity: UserIdentity } | { readonly why: string };

export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #cache: ExpiringCache<TokenVerdict>;
  readonly #underway = new Map<string, Promise<TokenVerdict>>();
  /** Keyed hashes, so that a memory dump of the cache reveals no tokens. */
  readonly #key = randomBytes(32);

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#cache = new ExpiringCache(options.clock, mostTokens);
  }

  /** Rejects when the token is invalid, or there is no decision. */
  async identityOf(token: string): Promise<UserIdentity> {
    const key = createHmac('sha256', this.#key).update(token).digest('base64');
    const verdict = this.#cache.get(key) ?? (await this.#shared(key, token));
    if ('identity' in verdict) return verdict.identity;
    throw new Error(verdict.why);
  }

  #shared(key: string, token: string): Promise<TokenVerdict> {
    const known = this.#underway.get(key);
    if (known !== undefined) return known;
    if (this.#underway.size >= mostUnderway) throw new Error('too many tokens are under review');
    const { clock, cacheTtlMs } = this.#options;
    const review = withTimeout(clock, reviewLimitMs, undefined, (signal) => this.#review(token, signal))
      .then((verdict) => {
        this.#cache.set(key, verdict, cacheTtlMs);
        return verdict;
      })
      .finally(() => this.#underway.delete(key));
    this.#underway.set(key, review);
    return review;
  }

  async #review(token: string, signal: AbortSignal): Promise<TokenVerdict> {
    const { api, clock, random = Math.random } = this.#options;
    const review: TokenReview = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: {},
      spec: { token },
    };
    const { status } = await askForReview(clock, random, signal, () =>
      // After the agent's own requests, for the same reason.
      api.create(resources.tokenReviews, review, { signal, timeoutMs: callTimeoutMs, priority: 'normal' }),
    );
    if (status?.error !== undefined && status.error !== '') throw new Error(status.error);
    if (status?.authenticated !== true) return { why: 'invalid bearer token' };
    const { username = '', uid, groups = [], extra } = status.user ?? {};
    return {
      identity: {
        user: username,
        ...(uid === undefined || uid === '' ? {} : { uid }),
        groups,
        ...(extra === undefined ? {} : { extra }),
      },
    };
  }
}
