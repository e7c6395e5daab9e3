/** Passes the pod CIDRs to the runtime when the cluster assigns them. */
import { errorText } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import type { Node } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface PodCidrOptions {
  readonly runtime: Pick<CriRuntime, 'updateRuntimeConfig'>;
  readonly timeline: Timeline;
}

export class PodCidr {
  readonly #options: PodCidrOptions;
  #accepted = '';

  constructor(options: PodCidrOptions) {
    this.#options = options;
  }

  /** The CIDRs the runtime last accepted, comma-separated; empty before. */
  get current(): string {
    return this.#accepted;
  }

  /** Returns whether there was a change. Ignores removed CIDRs; retries a failure at the next call. */
  async follow({ spec }: Pick<Node, 'spec'>): Promise<boolean> {
    const { podCIDRs = [], podCIDR = '' } = spec ?? {};
    return await this.set((podCIDRs.length > 0 ? podCIDRs : [podCIDR]).join(','));
  }

  async set(podCidr: string): Promise<boolean> {
    if (podCidr === '' || podCidr === this.#accepted) return false;
    const { runtime, timeline } = this.#options;
    try {
      await runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } });
      timeline.record({
        kind: 'transition',
        what: 'node.podCIDR',
        message: `the runtime got the pod range ${podCidr}`,
        because: this.#accepted === '' ? 'it has none yet' : `it was ${this.#accepted}`,
        data: { from: this.#accepted, to: podCidr },
      });
      this.#accepted = podCidr;
    } catch (error) {
      const message = `the runtime did not take the pod range ${podCidr}: ${errorText(error)}`;
      timeline.record({
        kind: 'problem',
        what: 'node.podCIDR',
        message,
        data: { from: this.#accepted, to: podCidr },
      });
    }
    return true;
  }
}
