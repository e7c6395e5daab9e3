/** Answers what is posted and not stored: reviews of tokens and of access, tokens, evictions, bindings. */
import type { KubeObject, Pod } from '../../kube/types/index.js';
import { formatTimestamp } from '../../kube/values/go-format.js';
import { ApiError } from '../../kube-client/api-error.js';
import type {
  ServiceAccount,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
} from '../../kube-client/api-objects.js';
import { isMapping, member } from '../../kube-client/patches/json.js';
import type { ObjectRef } from '../../kube-client/port.js';
import {
  type PostedSubresource,
  type Resource,
  resources,
  subresources,
} from '../../kube-client/resources.js';
import { isDryRun, readDeleteOptions } from '../http/parameters.js';
import { conflict } from '../objects/server-errors.js';
import type { ServedApi } from '../server.js';
import { decideAccess } from './authorizer.js';
import type { ApiUser, PostedResponder } from './contracts.js';

/** Makes and reads the tokens of service accounts. */
export interface TokenIssuer {
  issue(request: {
    readonly account: ServiceAccount;
    readonly audiences: readonly string[];
    readonly lifeSeconds: number;
    readonly pod?: Pod;
  }): { readonly token: string; readonly expiresMs: number };
  /** The user of a token; undefined when it is not valid for one of the audiences. */
  verify(
    token: string,
    audiences: readonly string[],
  ): { readonly user: ApiUser; readonly audiences: readonly string[] } | undefined;
}

const success = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Success' };
const shortestTokenSeconds = 600;
const longestTokenSeconds = 365 * 24 * 3600;
/** Tokens travel in headers. */
const mostAudienceChars = 4096;

export class PostedObjects implements PostedResponder {
  readonly #api: ServedApi;
  readonly #tokens: TokenIssuer;

  constructor(api: ServedApi, tokens: TokenIssuer) {
    this.#api = api;
    this.#tokens = tokens;
  }

  async review<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    user?: ApiUser,
  ): Promise<T | undefined> {
    const status = this.#reviewStatus(resource.kind, object, user);
    return status === undefined ? undefined : { ...object, status };
  }

  async post<In, Out>(subresource: PostedSubresource<In, Out>, ref: ObjectRef, body: In): Promise<Out> {
    // Each branch returns what its own subresource promises.
    return (await this.#respond(subresource.name, ref, body)) as Out;
  }

  #reviewStatus(kind: string, object: KubeObject, user: ApiUser | undefined): unknown {
    const spec = member(object, 'spec');
    switch (kind) {
      case 'TokenReview':
        return this.#tokenStatus(isMapping(spec) ? spec : {});
      case 'SubjectAccessReview':
      case 'LocalSubjectAccessReview': {
        const {
          user: name = '',
          groups = [],
          resourceAttributes,
          nonResourceAttributes,
        } = (isMapping(spec) ? spec : {}) as SubjectAccessReview['spec'];
        if (!areTexts(groups) || typeof name !== 'string')
          throw new ApiError({ code: 400, message: 'the user of the review is malformed' });
        return accessStatus({ name, groups }, resourceAttributes, nonResourceAttributes);
      }
      case 'SelfSubjectAccessReview': {
        const { resourceAttributes, nonResourceAttributes } = (
          isMapping(spec) ? spec : {}
        ) as SubjectAccessReview['spec'];
        return accessStatus(user ?? nobody, resourceAttributes, nonResourceAttributes);
      }
      case 'SelfSubjectReview': {
        const { name, uid, groups, extra } = user ?? nobody;
        return {
          userInfo: {
            username: name,
            ...(uid === undefined ? {} : { uid }),
            groups,
            ...(extra === undefined ? {} : { extra }),
          },
        };
      }
      case 'SelfSubjectRulesReview':
        return rulesOf(user ?? nobody);
      default:
        return undefined;
    }
  }

  #tokenStatus({ token, audiences }: TokenReview['spec']): TokenReview['status'] {
    const found = this.#tokens.verify(
      typeof token === 'string' ? token : '',
      Array.isArray(audiences) ? audiences : [],
    );
    if (found === undefined) return { authenticated: false, error: 'the token is not valid here' };
    const { name, uid, groups, extra } = found.user;
    return {
      authenticated: true,
      user: {
        username: name,
        ...(uid === undefined ? {} : { uid }),
        groups: [...groups],
        ...(extra === undefined
          ? {}
          : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
      },
      audiences: [...found.audiences],
    };
  }

  #respond(name: string, ref: ObjectRef, body: unknown): unknown {
    switch (name) {
      case subresources.token.name:
        return this.#token(ref, body as TokenRequest);
      case subresources.eviction.name: {
        const options = member(body, 'deleteOptions');
        return this.#api
          .delete(resources.pods, ref, readDeleteOptions(options), { dryRun: isDryRun(options) })
          .then(() => success);
      }
      case subresources.binding.name:
        return this.#bind(ref, String(member(member(body, 'target'), 'name') ?? ''));
      default:
        throw new ApiError({ code: 404, message: 'the server could not find the requested resource' });
    }
  }

  #token(ref: ObjectRef, request: TokenRequest): TokenRequest {
    const account = this.#api.get(resources.serviceAccounts, ref);
    const spec = isMapping(request.spec) ? request.spec : {};
    const { expirationSeconds = 3600, audiences = [], boundObjectRef } = spec as TokenRequest['spec'];
    if (!areTexts(audiences) || audiences.join('').length > mostAudienceChars)
      throw tokenRefused(ref, 'spec.audiences: Invalid value: it is no list of names');
    if (!Number.isSafeInteger(expirationSeconds) || expirationSeconds < shortestTokenSeconds)
      throw tokenRefused(
        ref,
        'spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes',
      );
    const pod = this.#boundPod(ref, boundObjectRef);
    const { token, expiresMs } = this.#tokens.issue({
      account,
      audiences,
      lifeSeconds: Math.min(expirationSeconds, longestTokenSeconds),
      ...(pod === undefined ? {} : { pod }),
    });
    return { ...request, status: { token, expirationTimestamp: formatTimestamp(expiresMs) } };
  }

  /** A token must not outlive what its client has bound it to. */
  #boundPod(ref: ObjectRef, bound: TokenRequest['spec']['boundObjectRef'] | null): Pod | undefined {
    if (bound === undefined || bound === null) return undefined;
    const { kind, name = '', uid } = bound;
    if (kind !== 'Pod')
      throw tokenRefused(
        ref,
        `spec.boundObjectRef: Invalid value: cannot bind token to object of type ${JSON.stringify(kind)}`,
      );
    const pod = this.#api.get(resources.pods, { ...ref, name: String(name) });
    const { serviceAccountName: account = '' } = pod.spec;
    if (account !== ref.name)
      throw tokenRefused(
        ref,
        `spec.boundObjectRef: Invalid value: cannot bind token for serviceaccount ${JSON.stringify(ref.name)} to pod running with different serviceaccount name`,
      );
    if (uid !== undefined && uid !== pod.metadata.uid)
      throw conflict(
        resources.pods,
        name,
        `the UID in the bound object reference (${uid}) does not match the UID in record (${pod.metadata.uid ?? ''})`,
      );
    return pod;
  }

  async #bind(ref: ObjectRef, nodeName: string): Promise<unknown> {
    const pod = this.#api.get(resources.pods, ref);
    if (pod.spec.nodeName)
      throw conflict(
        resources.pods,
        ref.name,
        `pod ${ref.name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`,
      );
    if (pod.metadata.deletionTimestamp !== undefined)
      throw conflict(
        resources.pods,
        ref.name,
        `pod ${ref.name} is being deleted, cannot be assigned to a host`,
      );
    const lastTransitionTime = formatTimestamp(this.#api.clock.now());
    const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
    this.#api.objects.bind(pod, {
      ...pod,
      spec: { ...pod.spec, nodeName },
      status: {
        ...pod.status,
        conditions: [...conditions, { type: 'PodScheduled', status: 'True', lastTransitionTime }],
      },
    });
    return success;
  }
}

const nobody: ApiUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

function accessStatus(
  user: ApiUser,
  resource: SubjectAccessReview['spec']['resourceAttributes'],
  other: SubjectAccessReview['spec']['nonResourceAttributes'],
): { allowed: boolean; reason: string } {
  return resource === undefined
    ? decideAccess(user, { verb: String(other?.verb ?? ''), path: String(other?.path ?? '') })
    : decideAccess(user, { verb: String(resource?.verb ?? ''), resource: String(resource?.resource ?? '') });
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function rulesOf(user: ApiUser): unknown {
  const everything = decideAccess(user, { verb: '*', resource: '*' }).allowed;
  return {
    resourceRules: everything ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] : [],
    nonResourceRules: [
      {
        verbs: everything ? ['*'] : ['get'],
        nonResourceURLs: everything ? ['*'] : ['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/version'],
      },
    ],
    incomplete: false,
  };
}

function tokenRefused(ref: ObjectRef, why: string): ApiError {
  return new ApiError({
    code: 422,
    reason: 'Invalid',
    message: `TokenRequest.authentication.k8s.io ${JSON.stringify(ref.name)} is invalid: ${why}`,
  });
}
