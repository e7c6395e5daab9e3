/** One kind that this API serves: its names, and what is decided about its objects. */
import type { FieldError } from '../../kube/manifests/validation/field-errors.js';
import type { KubeObject } from '../../kube/types/index.js';
import type { DeleteOptions, ObjectRef } from '../../kube-client/port.js';
import type { ObjectSubresource, Resource } from '../../kube-client/resources.js';
import type { AssignedIdentity, Deletion } from '../objects/object-rules.js';
import type { ServiceAllocator } from './network/service-allocator.js';

/** What rules may ask of the other objects, and of the node. */
export interface ServerFacts {
  find<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): T | undefined;
  list<T extends KubeObject>(resource: Resource<T>): readonly T[];
  readonly nowMs: number;
  /** Completes a name that nobody chose. */
  randomSuffix(): string;
  /** Undefined where nobody gives Services addresses. */
  readonly serviceAddresses: ServiceAllocator | undefined;
}

export interface ServedKind<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Of a kind that is only read: what clients may do with its objects. Absent: everything. */
  readonly verbs?: readonly ('get' | 'list')[];
  /** Subresources at which the object itself is read and written. */
  readonly subresources: readonly ObjectSubresource[];
  /** Whether changes of the spec are counted in `metadata.generation`. */
  readonly countsGenerations?: boolean;
  /** Whether a new object may come with a status, as nodes do. */
  readonly takesStatusOnCreate?: boolean;
  /** Whether what a new object needs is there; a creation waits for it a moment, before it is refused. */
  readonly isReadyToCreate?: (
    object: T,
    namespace: string | undefined,
    facts: Pick<ServerFacts, 'find'>,
  ) => boolean;
  /** Completes a new object in place, after identity and before validation. Throws `ApiError` to refuse it. */
  readonly admit?: (object: T, facts: ServerFacts) => void;
  /** Fills in place what a client left out, on create and on update. */
  readonly defaults?: (object: T) => void;
  /** Keeps in place what this write may not change, for example the addresses of a Service. */
  readonly keep?: (
    next: T,
    current: T,
    subresource: ObjectSubresource | undefined,
    facts: ServerFacts,
  ) => void;
  /** `current` is undefined when the object is new. */
  readonly validate?: (object: T, current: T | undefined) => readonly FieldError[];
  readonly validateUpdate?: (
    next: T,
    current: T,
    subresource: ObjectSubresource | undefined,
  ) => readonly FieldError[];
  /** Absent: removed at once, or marked while finalizers are left. */
  readonly deletion?: (object: T, options: DeleteOptions, nowMs: number) => Deletion | undefined;
  /** What else than finalizers and its grace period a deleted object waits for. */
  readonly isHeld?: (object: T) => boolean;
}

export type { AssignedIdentity };

/** A row of the table, whatever its type of objects. */
export function served<T extends KubeObject>(kind: ServedKind<T>): ServedKind {
  // The server calls a row's functions only with objects that are stored under the row's own resource.
  return kind as unknown as ServedKind;
}
