/** Who answers what is posted and not stored: reviews, tokens, evictions, bindings. */
import type { KubeObject } from '../../kube/types/index.js';
import type { ObjectRef } from '../../kube-client/port.js';
import type { PostedSubresource, Resource } from '../../kube-client/resources.js';

/** The user of a request, as authentication found it. */
export interface ApiUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface PostedResponder {
  /** The reviewed object; undefined when the resource is none that is reviewed. */
  review<T extends KubeObject>(resource: Resource<T>, object: T, user?: ApiUser): Promise<T | undefined>;
  post<In, Out>(subresource: PostedSubresource<In, Out>, ref: ObjectRef, body: In): Promise<Out>;
}
