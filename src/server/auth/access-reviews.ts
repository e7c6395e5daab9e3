/** Asks the API server whether a user may access this node, and caches the decision. */
import type { Clock } from '../../async/index.js';
import type { KubeApi, SubjectAccessReview } from '../../kube-client/index.js';
import { resources } from '../../kube-client/resources.js';
import { type AuthMetrics, createAuthMetrics } from '../metrics.js';
import type { NodeAttributes } from './attributes.js';
import { ExpiringCache } from './expiring-cache.js';
import type { UserIdentity } from './identity.js';
import { askForReview } from './review-retry.js';

export interface AccessReviewsOptions {
  readonly api: Pick<KubeApi, 'create'>;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
  readonly random?: () => number;
  /** Default: metrics that nobody reads. */
  readonly metrics?: AuthMetrics;
}

const maxCachedReviews = 8192;
/** Longer attributes come from the client and are not worth caching. */
const cachedAttributesBytes = 10_000;
const callTimeoutMs = 10_000;

export class AccessReviews {
  readonly #options: AccessReviewsOptions;
  readonly #metrics: AuthMetrics;
  readonly #cache: ExpiringCache<boolean>;

  constructor(options: AccessReviewsOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createAuthMetrics();
    this.#cache = new ExpiringCache(options.clock, maxCachedReviews);
  }

  /** Rejects when there is no decision. */
  async isAllowed(
    identity: UserIdentity,
    attributes: NodeAttributes,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { allowedTtlMs, deniedTtlMs, nodeName } = this.#options;
    const spec = reviewSpec(identity, attributes, nodeName);
    const key = JSON.stringify(spec);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const allowed = await this.#review(spec, signal);
    const asked = Buffer.byteLength(`${attributes.verb}v1nodes${attributes.subresource}${nodeName}${path}`);
    if (asked < cachedAttributesBytes) this.#cache.set(key, allowed, allowed ? allowedTtlMs : deniedTtlMs);
    return allowed;
  }

  async #review(spec: SubjectAccessReview['spec'], signal: AbortSignal | undefined): Promise<boolean> {
    const { api, clock, random = Math.random } = this.#options;
    const review: SubjectAccessReview = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      spec,
    };
    const { status } = await askForReview(
      { clock, random, signal, metrics: this.#metrics.accessReviews },
      () =>
        api.create(resources.subjectAccessReviews, review, {
          timeoutMs: callTimeoutMs,
          priority: 'urgent',
          ...(signal === undefined ? {} : { signal }),
        }),
    );
    const { allowed = false, denied = false } = status ?? {};
    if (allowed && denied) throw new Error('the review says both allowed and denied');
    return allowed;
  }
}

export function reviewSpec(
  { user, uid, groups, extra }: UserIdentity,
  { verb, subresource }: NodeAttributes,
  nodeName: string,
): SubjectAccessReview['spec'] {
  return {
    user,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.entries(extra).map(([name, values]) => [name, [...values]])) }),
    resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
  };
}
