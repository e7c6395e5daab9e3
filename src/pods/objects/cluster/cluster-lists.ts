/**
 * What every node follows of the whole cluster: the Services for container environments, and runtime classes.
 */
import { type Clock, errorText, TimedOut, withTimeout } from '../../../async/index.js';
import type { RuntimeClass, Service } from '../../../kube/index.js';
import { Informer, type KubeApi, resources } from '../../../kube-client/index.js';
import type { Timeline } from '../../../timeline/index.js';

export interface ClusterListOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly api: KubeApi;
  readonly random?: () => number;
}

export class ApiServices {
  readonly #informer: Informer<Service>;
  /** Built from the list at the first read after a change. */
  #byNamespace: ReadonlyMap<string, readonly Service[]> | undefined;

  constructor(options: ClusterListOptions) {
    this.#informer = new Informer({
      ...informerOptions(options, 'services'),
      resource: resources.services,
      keep: keptOfService,
      onUpdate: () => {
        this.#byNamespace = undefined;
      },
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  hasSynced(): boolean {
    return this.#informer.hasSynced;
  }

  list(namespace: string): readonly Service[] {
    this.#byNamespace ??= byNamespace(this.#informer.list());
    return this.#byNamespace.get(namespace) ?? [];
  }
}

function byNamespace(services: readonly Service[]): ReadonlyMap<string, readonly Service[]> {
  const result = new Map<string, Service[]>();
  for (const service of services) {
    const { namespace = '' } = service.metadata;
    const list = result.get(namespace);
    if (list === undefined) result.set(namespace, [service]);
    else list.push(service);
  }
  return result;
}

/** Only what container environments need; a cluster may have many services. */
function keptOfService({ metadata, spec }: Service): Service {
  const { name, namespace, resourceVersion } = metadata;
  return {
    metadata: { name, namespace, resourceVersion },
    spec: { clusterIP: spec?.clusterIP, ports: spec?.ports },
  };
}

const firstListLimitMs = 1_000;

export class ApiRuntimeClasses {
  readonly #clock: Clock;
  readonly #informer: Informer<RuntimeClass>;

  constructor(options: ClusterListOptions) {
    this.#clock = options.clock;
    this.#informer = new Informer({
      ...informerOptions(options, 'runtime classes'),
      resource: resources.runtimeClasses,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  /** The class's handler; undefined when there is no class of that name. */
  async handler(name: string): Promise<string | undefined> {
    if (!this.#informer.hasSynced) {
      try {
        await withTimeout(this.#clock, firstListLimitMs, undefined, (signal) =>
          this.#informer.synced(signal),
        );
      } catch (cause) {
        if (!(cause instanceof TimedOut)) throw cause;
        throw new Error('the runtime classes have not been read from the API yet', { cause });
      }
    }
    return this.#informer.get({ name })?.handler;
  }
}

/** Reports once when it begins to fail; the writers report a lost connection. */
export function informerOptions({ clock, timeline, api, random }: ClusterListOptions, what: string) {
  let isFailing = false;
  return {
    api,
    clock,
    ...(random === undefined ? {} : { random }),
    onProblem: (error: unknown): void => {
      if (isFailing) return;
      isFailing = true;
      const message = `the ${what} cannot be read from the API: ${errorText(error)}`;
      timeline.record({ kind: 'problem', what: 'objects.watch', message, level: 'warn' });
    },
    onRecovered: (): void => {
      isFailing = false;
    },
  };
}
