/** Trust bundles by name, or by signer and labels, cached in the form that volumes get. */
import { randomUUID } from 'node:crypto';
import { BoundedMap, type Clock, errorText, textBytes } from '../../async/index.js';
import { type LabelSelector, ObjectNotFound, selectorMatches } from '../../kube/index.js';
import type { TrustBundles } from '../contracts.js';
import { normalizeCertificates } from './pem.js';

/** The used part of a ClusterTrustBundle. */
export interface VolumeTrustBundle {
  readonly name: string;
  readonly signerName: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** PEM text. */
  readonly trustBundle: string;
}

/** The API side. */
export interface TrustBundleSource {
  /** Undefined if no bundle has that name. */
  get(name: string, signal: AbortSignal): Promise<VolumeTrustBundle | undefined>;
  list(signal: AbortSignal): Promise<readonly VolumeTrustBundle[]>;
}

export interface TrustBundleCacheOptions {
  readonly clock: Clock;
  readonly source: TrustBundleSource;
  readonly maxPods: number;
  /** Decides the order of certificates. Default: chance. */
  readonly random?: (() => number) | undefined;
}

const keptMs = 5 * 60_000;
const maxBytes = 4 * 1024 * 1024;

type TrustBundleSelection = Parameters<TrustBundles['bundle']>[0];

export class CachedTrustBundles implements TrustBundles {
  readonly #options: TrustBundleCacheOptions;
  readonly #seed: string;
  #generation = 0;
  readonly #kept: BoundedMap<string, { readonly text: string; readonly untilMs: number }>;

  constructor(options: TrustBundleCacheOptions) {
    this.#options = options;
    this.#seed = options.random === undefined ? randomUUID() : String(options.random());
    this.#kept = new BoundedMap({
      maxEntries: Math.max(1, 2 * options.maxPods),
      maxBytes,
      bytesOf: (key, { text }) => textBytes(key, text),
    });
  }

  async bundle(selection: TrustBundleSelection): Promise<string> {
    const { clock } = this.#options;
    const key = JSON.stringify([selection.name, selection.signerName, selection.labelSelector ?? null]);
    const kept = this.#kept.use(key);
    if (kept !== undefined && kept.untilMs > clock.monotonic()) return kept.text;
    const generation = this.#generation;
    const text = await this.#read(selection);
    // A missing bundle is not cached, so it is found as soon as it exists.
    if (text === undefined) return '';
    if (generation !== this.#generation) return text;
    this.#kept.set(key, { text, untilMs: clock.monotonic() + keptMs });
    return text;
  }

  /** Call whenever a bundle changes. */
  invalidate(): void {
    this.#generation += 1;
    this.#kept.clear();
  }

  /** Undefined if nothing matches and nothing has to. */
  async #read(selection: TrustBundleSelection): Promise<string | undefined> {
    const { source } = this.#options;
    const { name, signerName, labelSelector, optional, signal } = selection;
    if (name !== undefined && name !== '') {
      let found: VolumeTrustBundle | undefined;
      try {
        found = await source.get(name, signal);
        if (found === undefined) throw new ObjectNotFound('clustertrustbundle.certificates.k8s.io', name);
      } catch (error) {
        if (error instanceof ObjectNotFound && optional) return undefined;
        throw new Error(`while getting ClusterTrustBundle: ${errorText(error)}`, { cause: error });
      }
      return normalizeCertificates([found.trustBundle], this.#seed);
    }
    // The contract leaves the selector's shape to the API, which has only this kind.
    const selector = labelSelector as LabelSelector | undefined;
    const matching = (await source.list(signal)).filter(
      (bundle) => bundle.signerName === signerName && selectorMatches(selector, bundle.labels),
    );
    if (matching.length > 0) {
      return normalizeCertificates(
        matching.map(({ trustBundle }) => trustBundle),
        this.#seed,
      );
    }
    if (optional) return undefined;
    throw new Error('combination of signerName and labelSelector matched zero ClusterTrustBundles');
  }
}
