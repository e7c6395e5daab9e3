/** This node as the kubelet knows it now: the freshest that the API showed, else as it would be registered. */
import { type Clock, sleep } from '../../async/index.js';
import type { Node, Pod } from '../../kube/index.js';
import type { KubeApi } from '../../kube-client/index.js';
import type { Link } from '../link.js';
import { FreshNodeReader } from './fresh-node-reader.js';
import type { ClusterNode } from './node-options.js';

/** How often to look for a node that the API does not have yet. */
const lookMs = 100;

export interface CurrentNodeOptions {
  readonly api: Pick<KubeApi, 'get'>;
  readonly clock: Clock;
  readonly nodeName: string;
  /** Built when the node joins; until then nothing is known. */
  readonly node: Link<Pick<ClusterNode, 'informer' | 'known' | 'node'>>;
}

export class CurrentNode {
  readonly #options: CurrentNodeOptions;
  readonly #reader: FreshNodeReader;

  constructor(options: CurrentNodeOptions) {
    this.#options = options;
    this.#reader = new FreshNodeReader({ api: options.api, ref: { name: options.nodeName } });
  }

  /** The cluster's own object, as it was last heard of. */
  followed(): Node | undefined {
    const { node, nodeName } = this.#options;
    return node.ifConnected?.informer?.get({ name: nodeName });
  }

  known(): Node | undefined {
    return this.#reader.newest(this.followed()) ?? this.#options.node.ifConnected?.known;
  }

  async get(): Promise<Node> {
    return this.known() ?? (await this.#options.node.target.node());
  }

  /**
   * Resolves once the API has told of the node, so that pods are admitted by what it says. A node that is not there yet
   * has no pods; one that is deleted later keeps those that it has.
   */
  async synced(signal: AbortSignal): Promise<void> {
    const { node, clock } = this.#options;
    const informer = node.ifConnected?.informer;
    if (informer === undefined) return;
    await informer.synced(signal);
    while (this.followed() === undefined) await sleep(clock, lookMs, signal);
  }

  /** Reads the node anew where what is known of it would rule one of these pods out. */
  async refreshFor(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    await this.#reader.beforeAdmission(pods, this.known(), signal);
  }
}
