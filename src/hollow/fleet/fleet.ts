/** Many hollow nodes in one process: started one after another, and added, removed, killed, cut off and restored while they run. */

import { kubernetesVersion } from '../../agent/version.js';
import {
  asError,
  type Clock,
  errorText,
  Gate,
  isCancelled,
  sleep,
  systemClock,
  TaskGroup,
} from '../../async/index.js';
import { resolveFeatureGates } from '../../config/index.js';
import { isApiError, resources } from '../../kube-client/index.js';
import type { NetworkReader } from '../../node/index.js';
import { SharedApi } from '../api/shared-api.js';
import { hollowLimits } from '../limits.js';
import type { HollowNodeState, HollowSurroundings } from '../node/contracts.js';
import { HollowNode } from '../node/hollow-node.js';
import { hollowKubeletApi } from '../node/kubelet-api.js';
import { defaultProfile } from '../node/profile.js';
import type {
  HollowNodeRequest,
  HollowNodeStatus,
  HollowNodes,
  HollowNodesOptions,
  HollowOutcome,
} from './contracts.js';
import { PodRanges } from './pod-ranges.js';

export function createHollowNodes(options: HollowNodesOptions): HollowNodes {
  const fleet = new Fleet(options);
  fleet.add(options.nodes ?? []);
  return fleet;
}

class Fleet implements HollowNodes {
  readonly #options: HollowNodesOptions;
  readonly #clock: Clock;
  readonly #around: HollowSurroundings;
  readonly #tasks: TaskGroup;
  readonly #nodes = new Map<string, HollowNode>();
  readonly #ranges = new PodRanges();
  readonly #starts = new Gate(hollowLimits.startsAtOnce);
  readonly #stateListeners = new Set<() => void>();
  /** The moment from which the next node may start. */
  #nextStartMs: number;

  constructor(options: HollowNodesOptions) {
    this.#options = options;
    const { api, clock = systemClock, random = Math.random, config = {}, kubeletApi } = options;
    this.#clock = clock;
    this.#nextStartMs = clock.monotonic();
    this.#tasks = new TaskGroup({
      onError: (task, error) => options.onProblem?.('', `${task} failed: ${errorText(error)}`),
    });
    const gates = options.gates ?? resolveFeatureGates({}).gates;
    const kubeletVersion = options.kubeletVersion ?? kubernetesVersion;
    const nodeIp = options.nodeIp ?? kubeletApi?.address ?? '192.0.2.1';
    this.#around = {
      clock,
      random,
      gates,
      config,
      kubeletVersion,
      nodeIp,
      network: givenNetwork(nodeIp),
      apis: { main: api, heartbeat: options.heartbeatApi ?? api, events: options.eventsApi ?? api },
      shared:
        options.sharesWatches === false
          ? undefined
          : new SharedApi({
              api,
              clock,
              random,
              isOurs: (name) => this.#nodes.has(name),
              tasks: this.#tasks,
            }),
      kubeletApi:
        kubeletApi && hollowKubeletApi(kubeletApi, { clock, gates, config, version: kubeletVersion }),
      onProblem: options.onProblem ?? (() => {}),
      onState: () => {
        for (const listener of this.#stateListeners) listener();
      },
    };
  }

  add(requests: readonly HollowNodeRequest[]): void {
    if (this.#tasks.signal.aborted) throw new Error('the fleet has been stopped');
    if (this.#nodes.size + requests.length > hollowLimits.nodes)
      throw new Error(`one process has at most ${hollowLimits.nodes} nodes`);
    const names = new Set(requests.map(({ name }) => name));
    const taken = [...names].find((name) => this.#nodes.has(name));
    if (taken !== undefined) throw new Error(`the node ${taken} is there already`);
    if (names.size < requests.length) throw new Error('two of the new nodes have one name');
    for (const { name, profile = {}, port = 0, podCidr } of requests) {
      const whole = { ...defaultProfile, ...profile };
      const spec = { name, profile: whole, podCidr: podCidr ?? this.#ranges.take(whole.pods), port };
      const node = new HollowNode(spec, this.#around);
      this.#nodes.set(name, node);
      this.#start(node, () => node.start());
    }
  }

  async remove(
    names: readonly string[],
    { keepsNodes = false }: { readonly keepsNodes?: boolean } = {},
  ): Promise<HollowOutcome[]> {
    return this.#each(names, async (node) => {
      await node.remove();
      this.#nodes.delete(node.name);
      // So many at once as start at once: each has its time from when it is asked for.
      if (!keepsNodes) await this.#starts.run(() => this.#deleteNode(node.name));
    });
  }

  kill(names: readonly string[]): Promise<HollowOutcome[]> {
    return this.#each(names, (node) => node.kill());
  }

  cut(names: readonly string[]): Promise<HollowOutcome[]> {
    return this.#each(names, (node) => node.cut());
  }

  restore(names: readonly string[]): Promise<HollowOutcome[]> {
    return this.#each(names, (node) => node.restore());
  }

  node(name: string): HollowNode | undefined {
    return this.#nodes.get(name);
  }

  list(): HollowNodeStatus[] {
    return [...this.#nodes.values()].map((node) => ({
      name: node.name,
      state: node.state,
      pods: node.pods().length,
      port: node.port,
      problem: node.problem,
    }));
  }

  counts(): Record<HollowNodeState, number> {
    const counts = { waiting: 0, starting: 0, ready: 0, cut: 0, dead: 0, failed: 0, gone: 0 };
    for (const { state } of this.#nodes.values()) counts[state]++;
    return counts;
  }

  watches(): { readonly opened: number; readonly served: number } {
    return this.#around.shared?.counts ?? { opened: 0, served: 0 };
  }

  async settled(signal?: AbortSignal): Promise<void> {
    const isSettled = (): boolean => {
      const { waiting, starting } = this.counts();
      return waiting + starting === 0;
    };
    let wake = (): void => {};
    const listener = (): void => wake();
    this.#stateListeners.add(listener);
    const ends = [signal, this.#tasks.signal];
    for (const end of ends) end?.addEventListener('abort', listener);
    try {
      while (!isSettled() && !ends.some((end) => end?.aborted)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      this.#stateListeners.delete(listener);
      for (const end of ends) end?.removeEventListener('abort', listener);
    }
  }

  async stop({ deletesNodes = false }: { readonly deletesNodes?: boolean } = {}): Promise<HollowOutcome[]> {
    const names = [...this.#nodes.keys()];
    const outcomes = await this.remove(names, { keepsNodes: !deletesNodes });
    await this.#tasks.stop();
    return outcomes;
  }

  /** In its turn: so many a second, and no more at once than the API server should have to deal with. */
  #start(node: HollowNode, start: () => Promise<void>): void {
    const { nodesPerSecond = 20 } = this.#options;
    const atMs = Math.max(this.#nextStartMs, this.#clock.monotonic());
    this.#nextStartMs = atMs + 1000 / nodesPerSecond;
    this.#tasks.start(`the start of ${node.name}`, async (signal) => {
      const waitMs = atMs - this.#clock.monotonic();
      if (waitMs > 0) await sleep(this.#clock, waitMs, signal);
      await this.#starts.run(start, { signal });
    });
  }

  async #each(names: readonly string[], work: (node: HollowNode) => Promise<void>): Promise<HollowOutcome[]> {
    return Promise.all(
      names.map(async (name): Promise<HollowOutcome> => {
        const node = this.#nodes.get(name);
        if (node === undefined) return { name, problem: 'there is no such node in this process' };
        try {
          await work(node);
          return { name, problem: undefined };
        } catch (error) {
          return { name, problem: errorText(error) };
        }
      }),
    );
  }

  /** One that somebody else has deleted is no problem. */
  async #deleteNode(name: string): Promise<void> {
    try {
      await this.#around.apis.main.delete(resources.nodes, { name }, { timeoutMs: hollowLimits.deleteMs });
    } catch (error) {
      if (isApiError(error) && error.code === 404) return;
      if (isCancelled(error)) return;
      throw new Error(`its Node object could not be deleted: ${errorText(error)}`, { cause: asError(error) });
    }
  }
}

/** A node has the address that it was given, whatever this machine has beside it. */
function givenNetwork(nodeIp: string): NetworkReader {
  const addresses = [{ interface: 'eth0', address: nodeIp, isLoopbackInterface: false }];
  return { read: async () => ({ addresses, routed: { 4: [], 6: [] } }), resolve: async () => [] };
}
