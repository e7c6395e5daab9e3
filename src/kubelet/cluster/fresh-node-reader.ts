/**
 * Reads the node from the API when what is known of it would rule a new pod out: a label may have been given to it just
 * before the pod, and the two are followed by different watches.
 */
import { isCancelled } from '../../async/index.js';
import { matchesNodeAffinity, type Node, type Pod } from '../../kube/index.js';
import { type KubeApi, resources } from '../../kube-client/index.js';

export interface FreshNodeReaderOptions {
  readonly api: Pick<KubeApi, 'get'>;
  readonly ref: { readonly name: string };
}

/** Pods wait meanwhile; without an answer they are judged by what is known. */
const readLimitMs = 5_000;

export class FreshNodeReader {
  readonly #options: FreshNodeReaderOptions;
  /** UIDs of pods for which it was read: each pod is admitted once. */
  readonly #judged = new Set<string>();
  #read: { readonly node: Node; readonly instead: Node | undefined } | undefined;
  #followed: Node | undefined;

  constructor(options: FreshNodeReaderOptions) {
    this.#options = options;
  }

  /** What was read stands until the watch shows something else than it did then. */
  newest(followed: Node | undefined): Node | undefined {
    this.#followed = followed;
    if (this.#read !== undefined && this.#read.instead !== followed) this.#read = undefined;
    return this.#read?.node ?? followed;
  }

  async beforeAdmission(pods: readonly Pod[], known: Node | undefined, signal: AbortSignal): Promise<void> {
    const { api, ref } = this.#options;
    const present = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#judged) if (!present.has(uid)) this.#judged.delete(uid);
    const identity = { name: ref.name, labels: known?.metadata.labels ?? {} };
    const unmeant = pods.filter(
      (pod) => !this.#judged.has(pod.metadata.uid) && !matchesNodeAffinity(pod, identity),
    );
    if (unmeant.length === 0) return;
    for (const { metadata } of unmeant) this.#judged.add(metadata.uid);
    const instead = this.#followed;
    try {
      this.#read = { node: await api.get(resources.nodes, ref, { timeoutMs: readLimitMs, signal }), instead };
    } catch (error) {
      if (isCancelled(error)) throw error;
      // The pods are refused by what is known; that the API does not answer is told by those who follow it.
    }
  }
}
