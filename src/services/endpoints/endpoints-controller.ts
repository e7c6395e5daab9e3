/** Keeps the endpoint slices, and the older Endpoints, of every Service with a selector as its pods are. */
import {
  Backoff,
  type Clock,
  isCancelled,
  throwIfCancelled,
  untilAborted,
  WorkQueue,
} from '../../async/index.js';
import type { Pod, Service } from '../../kube/types/index.js';
import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeApi,
  type ObjectRef,
  resources,
} from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ObjectsChange, WatchedObjects } from '../watched-objects.js';
import { planEndpoints } from './endpoints-plan.js';
import { isSelectedBy } from './pod-endpoint.js';
import { managedByLabel, planSlices, serviceNameLabel, slicesManager } from './slice-plan.js';

export interface EndpointsControllerOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly objects: WatchedObjects;
}

/** Changes of several pods of a Service at once become one write. */
const gatherMs = 20;
const retry = { initialMs: 100, maxMs: 30_000, resetAfterMs: 60_000 } as const;
const fieldManager = 'nodelet-endpoints';

export class EndpointsController {
  readonly #options: EndpointsControllerOptions;
  readonly #backoff = new Backoff(retry);
  readonly #queue: WorkQueue<string>;
  #wake: () => void = () => undefined;
  /** The pods that each Service had when it was last looked at, by name. */
  readonly #members = new Map<string, ReadonlySet<string>>();
  /** Services whose endpoints could not be written, told once. */
  readonly #troubled = new Set<string>();

  constructor(options: EndpointsControllerOptions) {
    this.#options = options;
    this.#queue = new WorkQueue(options.clock, () => this.#wake());
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { objects } = this.#options;
    const unsubscribe = objects.subscribe((change) => this.#onChange(change));
    try {
      await objects.synced(signal);
      this.#enqueueAll();
      for (;;) {
        const due = this.#queue.take();
        if (due.length === 0) await this.#untilDue(signal);
        for (const key of due) await this.#syncOrRetry(key, signal);
      }
    } catch (error) {
      if (!isCancelled(error)) throw error;
    } finally {
      unsubscribe();
      this.#queue.stop();
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const due = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await untilAborted(due, signal);
  }

  #enqueueAll(): void {
    const { services, slices } = this.#options.objects;
    for (const { metadata } of services.list()) this.#enqueue(keyOf(metadata));
    // Slices may be left of Services that went while nobody looked.
    for (const { metadata } of slices.list()) {
      const service = metadata.labels?.[serviceNameLabel];
      const isOurs = metadata.labels?.[managedByLabel] === slicesManager;
      if (service !== undefined && isOurs) this.#enqueue(`${metadata.namespace}/${service}`);
    }
  }

  #enqueue(key: string): void {
    this.#queue.enqueue(key, gatherMs);
  }

  #onChange(event: ObjectsChange): void {
    if (event.update.kind === 'listed') {
      this.#enqueueAll();
      return;
    }
    switch (event.of) {
      case 'services':
        this.#enqueue(keyOf(event.update.change.object.metadata));
        return;
      case 'endpoints':
        this.#enqueue(keyOf(event.update.change.object.metadata));
        return;
      case 'slices': {
        const { labels = {}, namespace } = event.update.change.object.metadata;
        const service = labels[serviceNameLabel];
        if (service !== undefined && labels[managedByLabel] === slicesManager)
          this.#enqueue(`${namespace}/${service}`);
        return;
      }
      case 'pods':
        this.#onPod(event.update.change.object);
    }
  }

  #onPod(pod: Pod): void {
    for (const service of this.#options.objects.services.list()) {
      if (service.metadata.namespace !== pod.metadata.namespace) continue;
      const key = keyOf(service.metadata);
      if (isSelectedBy(service, pod) || this.#members.get(key)?.has(pod.metadata.name) === true)
        this.#enqueue(key);
    }
  }

  async #syncOrRetry(key: string, signal: AbortSignal): Promise<void> {
    const { clock, timeline } = this.#options;
    const data = { service: key };
    try {
      await this.#sync(key, signal);
      this.#backoff.reset(key);
      if (this.#troubled.delete(key)) {
        const message = `the endpoints of the Service ${key} are written again`;
        timeline.record({ kind: 'notice', what: 'services.endpoints', message, data });
      }
    } catch (error) {
      throwIfCancelled(signal);
      const nowMs = clock.monotonic();
      this.#backoff.advance(key, nowMs, nowMs);
      this.#queue.enqueue(key, this.#backoff.delayMs(key));
      // The copy was older than the server's object; the next try has the newer one.
      if (isConflict(error) || isAlreadyExists(error) || this.#troubled.has(key)) return;
      this.#troubled.add(key);
      const message = `the endpoints of the Service ${key} cannot be written`;
      timeline.record({ kind: 'problem', level: 'warn', what: 'services.endpoints', message, error, data });
    }
  }

  async #sync(key: string, signal: AbortSignal): Promise<void> {
    const ref = refOf(key);
    const service = this.#options.objects.services.get(ref);
    const pods = service === undefined ? [] : this.#podsOf(service);
    if (service === undefined) this.#members.delete(key);
    else this.#members.set(key, new Set(pods.map(({ metadata }) => metadata.name)));
    await this.#syncSlices(ref, service, pods, signal);
    await this.#syncEndpoints(ref, service, pods, signal);
  }

  #podsOf(service: Service): readonly Pod[] {
    return this.#options.objects.pods.list().filter((pod) => isSelectedBy(service, pod));
  }

  async #syncSlices(
    { namespace = '', name }: ObjectRef,
    service: Service | undefined,
    pods: readonly Pod[],
    signal: AbortSignal,
  ): Promise<void> {
    const { api, objects } = this.#options;
    const slices = objects.slices
      .list()
      .filter(
        ({ metadata: { namespace: of, labels = {}, deletionTimestamp } }) =>
          of === namespace &&
          labels[serviceNameLabel] === name &&
          labels[managedByLabel] === slicesManager &&
          deletionTimestamp === undefined,
      );
    const gone: Service = { metadata: { namespace, name } };
    for (const action of planSlices(service ?? gone, pods, slices)) {
      switch (action.do) {
        case 'create':
          await api.create(resources.endpointSlices, action.slice, { signal, fieldManager });
          break;
        case 'update':
          await api.update(resources.endpointSlices, action.slice, { signal, fieldManager });
          break;
        case 'delete':
          await goneIsFine(
            api.delete(resources.endpointSlices, { namespace, name: action.name }, { signal }),
          );
      }
    }
  }

  async #syncEndpoints(
    ref: ObjectRef,
    service: Service | undefined,
    pods: readonly Pod[],
    signal: AbortSignal,
  ): Promise<void> {
    const { api, objects } = this.#options;
    const action = planEndpoints(service, pods, objects.endpoints.get(ref));
    switch (action.do) {
      case 'nothing':
        return;
      case 'create':
        await api.create(resources.endpoints, action.endpoints, { signal, fieldManager });
        return;
      case 'update':
        await api.update(resources.endpoints, action.endpoints, { signal, fieldManager });
        return;
      case 'delete':
        await goneIsFine(api.delete(resources.endpoints, ref, { signal }));
    }
  }
}

async function goneIsFine(deleted: Promise<unknown>): Promise<void> {
  try {
    await deleted;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function keyOf({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string;
  readonly name?: string;
}): string {
  return `${namespace}/${name}`;
}

function refOf(key: string): ObjectRef {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
