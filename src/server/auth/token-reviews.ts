/** Asks the API server who owns a token, once for concurrent and repeated uses of it. */
import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, withTimeout } from '../../async/index.js';
import type { KubeApi, TokenReview } from '../../kube-client/index.js';
import { resources } from '../../kube-client/resources.js';
import { type AuthMetrics, createAuthMetrics } from '../metrics.js';
import { ExpiringCache } from './expiring-cache.js';
import type { UserIdentity } from './identity.js';
import { askForReview } from './review-retry.js';

export interface TokenReviewsOptions {
  readonly api: Pick<KubeApi, 'create'>;
  readonly clock: Clock;
  readonly cacheTtlMs: number;
  readonly random?: () => number;
  /** Default: metrics that nobody reads. */
  readonly metrics?: AuthMetrics;
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
  readonly #metrics: AuthMetrics;
  readonly #cache: ExpiringCache<TokenVerdict>;
  readonly #underway = new Map<string, Promise<TokenVerdict>>();
  /** Keyed hashes, so that a memory dump of the cache reveals no tokens. */
  readonly #key = randomBytes(32);

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createAuthMetrics();
    this.#cache = new ExpiringCache(options.clock, mostTokens);
  }

  /** Rejects when the token is invalid, or there is no decision. */
  async identityOf(token: string): Promise<UserIdentity> {
    const key = createHmac('sha256', this.#key).update(token).digest('base64');
    const verdict = await this.#verdictOn(key, token);
    if ('identity' in verdict) return verdict.identity;
    throw new Error(verdict.why);
  }

  async #verdictOn(key: string, token: string): Promise<TokenVerdict> {
    const { clock } = this.#options;
    const { requests, duration } = this.#metrics.tokens;
    const startMs = clock.monotonic();
    const known = this.#cache.get(key);
    const status = known === undefined ? 'miss' : 'hit';
    requests.inc({ status });
    try {
      return known ?? (await this.#shared(key, token));
    } finally {
      duration.observe((clock.monotonic() - startMs) / 1000, { status });
    }
  }

  #shared(key: string, token: string): Promise<TokenVerdict> {
    const known = this.#underway.get(key);
    const { active, fetches } = this.#metrics.tokens;
    if (known !== undefined) {
      active.inc({ status: 'blocked' });
      return known.finally(() => active.inc({ status: 'blocked' }, -1));
    }
    if (this.#underway.size >= mostUnderway) throw new Error('too many tokens are under review');
    const { clock, cacheTtlMs } = this.#options;
    const review = withTimeout(clock, reviewLimitMs, undefined, (signal) => this.#review(token, signal))
      .then(
        (verdict) => {
          fetches.inc({ status: 'ok' });
          this.#cache.set(key, verdict, cacheTtlMs);
          return verdict;
        },
        (error: unknown) => {
          fetches.inc({ status: 'error' });
          throw error;
        },
      )
      .finally(() => {
        active.inc({ status: 'in_flight' }, -1);
        this.#underway.delete(key);
      });
    active.inc({ status: 'in_flight' });
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
    const { status } = await askForReview(
      { clock, random, signal, metrics: this.#metrics.tokenReviews },
      () =>
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
