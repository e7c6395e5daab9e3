/** How a ConfigMap or Secret that pods refer to is kept: watched, cached for a time, or fetched each time. */
import type { Clock } from '../../../async/index.js';
import { type KubeObject, ObjectNotFound } from '../../../kube/index.js';
import { isNotFound, type KubeApi, type Resource } from '../../../kube-client/index.js';

/** One object, for as long as some pod refers to it. */
export interface HeldObject<T> {
  read(signal: AbortSignal | undefined): Promise<T>;
  /** A pod that refers to it was registered, for the first time or again. */
  registered(): void;
  /** No pod refers to it any more. */
  close(): void;
}

export interface HeldObjectOptions<T extends KubeObject> {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly resource: Resource<T>;
  readonly namespace: string;
  readonly name: string;
}

/** The kind as in messages: `configmap`. */
export function kindWord({ kind }: Resource): string {
  return kind.toLowerCase();
}

/** Fetches from the API; a missing object gives the usual error. */
export async function fetchObject<T extends KubeObject>(
  { api, resource, namespace, name }: HeldObjectOptions<T>,
  options: { readonly signal?: AbortSignal; readonly resourceVersion?: string } = {},
): Promise<T> {
  try {
    return await api.get(resource, { namespace, name }, options);
  } catch (error) {
    if (isNotFound(error)) throw new ObjectNotFound(kindWord(resource), name);
    throw error;
  }
}

/** Fetched at each read. */
export function fetchedObject<T extends KubeObject>(options: HeldObjectOptions<T>): HeldObject<T> {
  return {
    read: (signal) => fetchObject(options, signal === undefined ? {} : { signal }),
    registered: () => undefined,
    close: () => undefined,
  };
}
