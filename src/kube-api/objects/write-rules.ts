/** What a server decides about writes beside storing them: identities, defaults, validation, deletion. */
import type { KubeObject } from '../../kube/types/index.js';
import type { DeleteOptions } from '../../kube-client/port.js';
import type { ObjectSubresource, Resource } from '../../kube-client/resources.js';
import {
  type AssignedIdentity,
  type Deletion,
  decideDeletion,
  isFullyDeleted,
  prepareForCreate,
  prepareForUpdate,
} from './object-rules.js';

/** How a client wrote. */
export interface ObjectWrite {
  /** Everything is checked and nothing is stored. */
  readonly dryRun?: boolean;
  /** Who owns the fields that are written. */
  readonly fieldManager?: string;
  readonly subresource?: ObjectSubresource | undefined;
  /** An apply takes fields from their owners. */
  readonly force?: boolean;
  /** The managed fields of the written object are those that an apply decided. */
  readonly isApplied?: boolean;
  /** Reads a patched object by its schema: refuses it, or leaves out what does not belong there. */
  readonly readPatched?: <T extends KubeObject>(resource: Resource<T>, patched: T) => T;
}

export interface NewIdentity {
  readonly uid: string;
  /** Completes a `generateName`. */
  readonly suffix: string;
}

/** Each rejects a write by throwing an `ApiError`. Objects are given as copies that the rules may change. */
export interface WriteRules {
  /** `serial` counts the identities of this server. */
  newIdentity(serial: number): NewIdentity;
  forCreate<T extends KubeObject>(
    resource: Resource<T>,
    given: T,
    identity: AssignedIdentity,
    write: ObjectWrite,
  ): T;
  /** The object to store when `given` is written over `current`. */
  forUpdate<T extends KubeObject>(
    resource: Resource<T>,
    current: T,
    given: T,
    write: ObjectWrite,
    nowMs: number,
  ): T;
  /** The object with a configuration applied to it; absent where nothing can be applied. */
  forApply?<T extends KubeObject>(
    resource: Resource<T>,
    current: T | undefined,
    config: T,
    write: ObjectWrite,
    nowMs: number,
  ): T;
  forDelete(resource: Resource, object: KubeObject, options: DeleteOptions, nowMs: number): Deletion;
  /** Whether nothing is left that a deleted object waits for. */
  isFullyDeleted(resource: Resource, object: KubeObject): boolean;
}

/** The simulated server's: the same in each run, and without validation. */
export const simulatedRules: WriteRules = {
  newIdentity: (serial) => ({
    uid: `00000000-0000-4000-8000-${serial.toString(16).padStart(12, '0')}`,
    suffix: ((serial * 2_654_435_761) % 2 ** 25).toString(36).padStart(5, '0').slice(-5),
  }),
  forCreate: (resource, given, identity) => prepareForCreate(resource, given, identity),
  forUpdate: (resource, current, given, { subresource }) =>
    prepareForUpdate(resource, current, given, subresource),
  forDelete: (resource, object, { gracePeriodSeconds }, nowMs) =>
    decideDeletion({ resource, object, gracePeriodSeconds, nowMs }),
  isFullyDeleted: (_resource, object) => isFullyDeleted(object),
};
