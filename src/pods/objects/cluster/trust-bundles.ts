/** The cluster's trust bundles, followed from a pod's first request for one. */
import { type Clock, isCancelled, sleep, TimedOut, withTimeout } from '../../../async/index.js';
import {
  type ClusterTrustBundle,
  Informer,
  isNotFound,
  type KubeApi,
  type Resource,
  resources,
} from '../../../kube-client/index.js';
import { type ClusterListOptions, informerOptions } from './cluster-lists.js';

/** What a volume needs of a bundle. */
export interface TrustBundle {
  readonly name: string;
  readonly signerName: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** PEM text. */
  readonly trustBundle: string;
}

export interface ApiTrustBundlesOptions extends ClusterListOptions {
  /** Called when any bundle changed. */
  readonly onChange?: () => void;
}

/** In order of preference. */
const versions = ['v1', 'v1beta1', 'v1alpha1'] as const;
const firstListLimitMs = 10_000;
/** A cluster without trust bundles is asked again, as it may be upgraded while the node runs. */
const rediscoverMs = 60_000;

export class ApiTrustBundles {
  readonly #options: ApiTrustBundlesOptions;
  readonly #clock: Clock;
  /** Resolves at the first request. */
  readonly #asked: Promise<void>;
  #ask: () => void = () => {};
  #informer: Informer<ClusterTrustBundle> | undefined;
  /** Whether the cluster was asked and serves no bundles. */
  #isUnsupported = false;

  constructor(options: ApiTrustBundlesOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#asked = new Promise((resolve) => {
      this.#ask = resolve;
    });
  }

  /** Makes no API call before a pod needs a bundle. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#asked, untilAborted(signal)]);
    const { onChange, api } = this.#options;
    const informing = informerOptions(this.#options, 'trust bundles');
    while (!signal.aborted) {
      const resource = await this.#discover(api, informing.onProblem, signal);
      if (resource !== undefined) {
        this.#isUnsupported = false;
        this.#informer = new Informer({ ...informing, resource, onUpdate: () => onChange?.() });
        await this.#informer.run(signal);
        return;
      }
      await sleep(this.#clock, rediscoverMs, signal);
    }
  }

  async get(name: string, signal: AbortSignal): Promise<TrustBundle | undefined> {
    const found = (await this.#synced(signal)).get({ name });
    return found && keptOf(found);
  }

  async list(signal: AbortSignal): Promise<readonly TrustBundle[]> {
    return (await this.#synced(signal)).list().map(keptOf);
  }

  async #synced(signal: AbortSignal): Promise<Informer<ClusterTrustBundle>> {
    this.#ask();
    if (this.#informer?.hasSynced === true) return this.#informer;
    if (this.#isUnsupported)
      throw new Error('ClusterTrustBundle projection is not supported by the API server');
    try {
      return await withTimeout(this.#clock, firstListLimitMs, signal, async (limited) => {
        while (this.#informer === undefined) {
          if (this.#isUnsupported)
            throw new Error('ClusterTrustBundle projection is not supported by the API server');
          await sleep(this.#clock, 50, limited);
        }
        await this.#informer.synced(limited);
        return this.#informer;
      });
    } catch (cause) {
      if (!(cause instanceof TimedOut)) throw cause;
      throw new Error('the ClusterTrustBundles have not been read from the API yet', { cause });
    }
  }

  /** The newest version that the API serves; undefined when it serves none, or is unreachable. */
  async #discover(
    api: KubeApi,
    onProblem: (error: unknown) => void,
    signal: AbortSignal,
  ): Promise<Resource<ClusterTrustBundle> | undefined> {
    for (const version of versions) {
      const resource: Resource<ClusterTrustBundle> = { ...resources.clusterTrustBundles, version };
      try {
        await api.list(resource, { limit: 1, signal });
        return resource;
      } catch (error) {
        if (isCancelled(error)) throw error;
        if (isNotFound(error)) continue;
        onProblem(error);
        return undefined;
      }
    }
    this.#isUnsupported = true;
    return undefined;
  }
}

function keptOf({ metadata, spec }: ClusterTrustBundle): TrustBundle {
  return {
    name: metadata.name ?? '',
    signerName: spec.signerName,
    labels: metadata.labels ?? {},
    trustBundle: spec.trustBundle ?? '',
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
