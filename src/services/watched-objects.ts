/** Local copies of the objects that Services are made of, shared by the endpoints, the proxy and the names. */
import { type Clock, isCancelled } from '../async/index.js';
import type { EndpointSlice, Endpoints, KubeObject, Pod, Service } from '../kube/types/index.js';
import {
  Informer,
  type InformerUpdate,
  type KubeApi,
  type ObjectCache,
  type Resource,
  resources,
} from '../kube-client/index.js';
import type { Timeline } from '../timeline/index.js';

export interface WatchedObjectsOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

export type ObjectsChange =
  | { readonly of: 'services'; readonly update: InformerUpdate<Service> }
  | { readonly of: 'pods'; readonly update: InformerUpdate<Pod> }
  | { readonly of: 'slices'; readonly update: InformerUpdate<EndpointSlice> }
  | { readonly of: 'endpoints'; readonly update: InformerUpdate<Endpoints> };

export class WatchedObjects {
  readonly services: ObjectCache<Service>;
  readonly pods: ObjectCache<Pod>;
  readonly slices: ObjectCache<EndpointSlice>;
  readonly endpoints: ObjectCache<Endpoints>;
  readonly #informers: readonly Pick<Informer<KubeObject>, 'run' | 'synced'>[];
  readonly #listeners = new Set<(change: ObjectsChange) => void>();
  readonly #options: WatchedObjectsOptions;

  constructor(options: WatchedObjectsOptions) {
    this.#options = options;
    const services = this.#informer(resources.services, (update) => this.#tell({ of: 'services', update }));
    const pods = this.#informer(resources.pods, (update) => this.#tell({ of: 'pods', update }), keptPod);
    const slices = this.#informer(resources.endpointSlices, (update) => this.#tell({ of: 'slices', update }));
    const endpoints = this.#informer(resources.endpoints, (update) =>
      this.#tell({ of: 'endpoints', update }),
    );
    this.services = services;
    this.pods = pods;
    this.slices = slices;
    this.endpoints = endpoints;
    this.#informers = [services, pods, slices, endpoints];
  }

  /** Called after every change, synchronously; returns how to end it. */
  subscribe(listener: (change: ObjectsChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves when every copy has its first list. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.synced(signal)));
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#informers.map(async (informer) => {
        try {
          await informer.run(signal);
        } catch (error) {
          if (!isCancelled(error)) throw error;
        }
      }),
    );
  }

  #tell(change: ObjectsChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  #informer<T extends KubeObject>(
    resource: Resource<T>,
    onUpdate: (update: InformerUpdate<T>) => void,
    keep?: (object: T) => T,
  ): Informer<T> {
    const { api, clock, timeline } = this.#options;
    const data = { resource: resource.plural };
    let isTold = false;
    return new Informer<T>({
      api,
      clock,
      resource,
      onUpdate,
      ...(keep === undefined ? {} : { keep }),
      onProblem: (error) => {
        if (isTold) return;
        isTold = true;
        const message = `Services do not see changes of ${resource.plural} for now`;
        timeline.record({ kind: 'problem', level: 'warn', what: 'services.watch', message, error, data });
      },
      onRecovered: () => {
        if (!isTold) return;
        isTold = false;
        const message = `Services see changes of ${resource.plural} again`;
        timeline.record({ kind: 'notice', what: 'services.watch', message, data });
      },
    });
  }
}

/** What endpoints and names are made of; a whole pod is many times as large. */
function keptPod(pod: Pod): Pod {
  const { name, namespace, uid, labels, deletionTimestamp, resourceVersion } = pod.metadata;
  const { nodeName, hostname, subdomain, containers, initContainers } = pod.spec;
  const { phase, podIP, podIPs, conditions } = pod.status ?? {};
  const restartable = initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always');
  return present<Pod>({
    metadata: present({ name, namespace, uid, labels, deletionTimestamp, resourceVersion }),
    spec: present({
      nodeName,
      hostname,
      subdomain,
      containers: containers.map((one) => present({ name: one.name, ports: one.ports })),
      initContainers: restartable?.map(({ name: of, ports, restartPolicy }) =>
        present({ name: of, ports, restartPolicy }),
      ),
    }),
    status: present({ phase, podIP, podIPs, conditions: conditions?.filter(({ type }) => type === 'Ready') }),
  });
}

/** Without the members that are undefined, so that they do not count as there. */
function present<T extends object>(members: { readonly [Key in keyof T]: T[Key] | undefined }): T {
  // Leaving out undefined members of a T gives a T: only optional ones are ever undefined.
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
