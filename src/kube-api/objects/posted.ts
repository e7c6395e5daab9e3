/** The simulated server's responses to posts that are not stored: reviews, tokens, evictions, bindings. */

import type { KubeObject, Pod } from '../../kube/types/index.js';
import { clone } from '../../kube/values/deep-equal.js';
import { formatTimestamp } from '../../kube/values/go-format.js';
import { ApiError } from '../../kube-client/api-error.js';
import type { SubjectAccessReview, TokenRequest, TokenReview } from '../../kube-client/api-objects.js';
import type { DeleteOptions, ObjectRef } from '../../kube-client/port.js';
import { type Resource, resources, subresources } from '../../kube-client/resources.js';
import type { ObjectServer } from './object-server.js';
import { conflict } from './server-errors.js';

export interface Reviewers {
  /** Default: no token is valid. */
  readonly reviewToken?: (spec: TokenReview['spec']) => NonNullable<TokenReview['status']>;
  /** Default: nothing is allowed. */
  readonly reviewAccess?: (spec: SubjectAccessReview['spec']) => NonNullable<SubjectAccessReview['status']>;
}

export function isReview({ kind }: Resource): boolean {
  return kind === 'TokenReview' || kind === 'SubjectAccessReview';
}

export function respondToReview<T extends KubeObject>(
  resource: Resource<T>,
  given: T,
  reviewers: Reviewers,
): T {
  const { reviewToken = () => ({ authenticated: false }), reviewAccess = () => ({ allowed: false }) } =
    reviewers;
  const object = clone(given);
  // A review's spec is that of its kind.
  if (resource.kind === 'TokenReview') {
    Reflect.set(object, 'status', reviewToken((object as unknown as TokenReview).spec));
  } else Reflect.set(object, 'status', reviewAccess((object as unknown as SubjectAccessReview).spec));
  return object;
}

const success = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Success' };

export function respondToPost(server: ObjectServer, name: string, ref: ObjectRef, body: unknown): unknown {
  switch (name) {
    case subresources.token.name: {
      const account = server.existing(resources.serviceAccounts, ref);
      const request = clone(body as TokenRequest);
      const uid = request.metadata?.uid ?? account.metadata.uid;
      if (uid !== account.metadata.uid) {
        throw conflict(
          resources.serviceAccounts,
          ref.name,
          `the UID in the token request (${uid}) does not match the UID of the service account`,
        );
      }
      const seconds = request.spec.expirationSeconds ?? 3600;
      const expirationTimestamp = formatTimestamp(server.clock.now() + seconds * 1000);
      return {
        ...request,
        status: { token: `token-${ref.name}-${server.nextSerial()}`, expirationTimestamp },
      };
    }
    case subresources.eviction.name: {
      const { deleteOptions = {} } = body as { deleteOptions?: DeleteOptions };
      server.delete(resources.pods, ref, deleteOptions);
      return success;
    }
    case subresources.binding.name: {
      const pod: Pod = server.existing(resources.pods, ref);
      const { target } = body as { target: { name?: string } };
      if (pod.spec.nodeName)
        throw conflict(
          resources.pods,
          ref.name,
          `pod ${ref.name} is already assigned to node "${pod.spec.nodeName}"`,
        );
      const scheduled = {
        type: 'PodScheduled',
        status: 'True',
        lastTransitionTime: formatTimestamp(server.clock.now()),
      } as const;
      const bound = {
        ...pod,
        spec: { ...pod.spec, ...(target.name === undefined ? {} : { nodeName: target.name }) },
      };
      const placed = server.replace(resources.pods, pod, bound);
      const status = { ...placed.status, conditions: [...(placed.status?.conditions ?? []), scheduled] };
      server.replace(resources.pods, placed, { ...placed, status }, { subresource: 'status' });
      return success;
    }
    default:
      throw new ApiError({ code: 404, message: 'the server could not find the requested resource' });
  }
}
