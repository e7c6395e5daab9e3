/**
 * The API as many nodes of one process use it: calls go through, watches that many nodes have in common are opened once.
 * A kubelet has five watches at rest, each with a connection: a thousand nodes would cost the API server five thousand.
 */
import type { Clock, TaskGroup } from '../../async/index.js';
import type { KubeObject } from '../../kube/index.js';
import {
  type KubeApi,
  qualifiedPlural,
  type Resource,
  resources,
  type WatchEvent,
  type WatchOptions,
} from '../../kube-client/index.js';
import { SharedObjects, tooOld } from './shared-objects.js';

export interface SharedApiOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: () => number;
  /** Whether a node is one of ours; others' objects are not kept. */
  readonly isOurs: (nodeName: string) => boolean;
  /** Runs the shared watches. */
  readonly tasks: TaskGroup;
}

/** Owns objects that concern every node. */
const everyone = '';

/** What of a watch is shared, decided from its selection. */
export interface SharedWatch {
  /** Watches with the same key share one. */
  readonly key: string;
  /** What is asked of the server; the selections of all nodes are parts of it. */
  readonly fieldSelector: string | undefined;
  /** Whose objects the watch wants: a node's name, or everybody's. */
  readonly owner: string;
  /** The field that names the node. */
  readonly by: 'metadata.name' | 'spec.nodeName' | undefined;
}

/** Undefined for a watch that a node has for itself. */
export function sharedWatchOf(
  resource: Resource,
  { namespace, fieldSelector, labelSelector }: WatchOptions,
): SharedWatch | undefined {
  if (namespace !== undefined || labelSelector !== undefined) return undefined;
  const key = `${qualifiedPlural(resource)}/${resource.version}`;
  if (fieldSelector === undefined) return { key, fieldSelector, owner: everyone, by: undefined };
  const [, by, owner = ''] = /^(metadata\.name|spec\.nodeName)=([^,=!]+)$/.exec(fieldSelector) ?? [];
  if (by === 'metadata.name' && resource.plural === resources.nodes.plural && resource.group === '')
    return { key: `${key} by name`, fieldSelector: undefined, owner, by };
  // Pods of no node concern nobody here, and a large cluster may have very many.
  if (by === 'spec.nodeName') return { key: `${key} by node`, fieldSelector: 'spec.nodeName!=', owner, by };
  return undefined;
}

export class SharedApi {
  readonly #options: SharedApiOptions;
  readonly #shared = new Map<string, SharedObjects<KubeObject>>();

  constructor(options: SharedApiOptions) {
    this.#options = options;
  }

  get api(): KubeApi {
    return this.#options.api;
  }

  /** Watches open at the server, and watches of nodes that they serve. */
  get counts(): { readonly opened: number; readonly served: number } {
    let served = 0;
    for (const objects of this.#shared.values()) served += objects.readers;
    return { opened: this.#shared.size, served };
  }

  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    const shared = sharedWatchOf(resource, options);
    if (shared === undefined) return this.#options.api.watch(resource, { ...options, signal });
    // A node begins with all objects; from a version on it cannot, so that it begins again.
    if (options.sendInitialEvents !== true) return refused();
    return this.#sharedObjects(resource, shared).watch(shared.owner, signal);
  }

  #sharedObjects<T extends KubeObject>(resource: Resource<T>, shared: SharedWatch): SharedObjects<T> {
    const known = this.#shared.get(shared.key);
    // The key names the resource, and with it the type of its objects.
    if (known !== undefined) return known as unknown as SharedObjects<T>;
    const { api, clock, random, isOurs, tasks } = this.#options;
    const { by, fieldSelector } = shared;
    const objects = new SharedObjects<T>({
      api,
      clock,
      random,
      resource,
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ownerOf: (object) => {
        if (by === undefined) return everyone;
        const name = by === 'metadata.name' ? object.metadata.name : nodeNameOf(object);
        return name !== undefined && isOurs(name) ? name : undefined;
      },
    });
    this.#shared.set(shared.key, objects as unknown as SharedObjects<KubeObject>);
    tasks.start(`the watch of all ${resource.plural}`, (signal) => objects.run(signal));
    return objects;
  }
}

function nodeNameOf(object: KubeObject): string | undefined {
  const spec = 'spec' in object ? object.spec : undefined;
  const name = typeof spec === 'object' && spec !== null && 'nodeName' in spec ? spec.nodeName : undefined;
  return typeof name === 'string' ? name : undefined;
}

// biome-ignore lint/correctness/useYield: a watch that only says that it cannot be
async function* refused(): AsyncGenerator<never, void, undefined> {
  throw tooOld();
}
