/** What a fleet of hollow nodes is made from, and what it is for those who run it. */
import type { Clock } from '../../async/index.js';
import type { FeatureGates, KubeletConfiguration } from '../../config/index.js';
import type { KubeApi } from '../../kube-client/index.js';
import type { HollowNodeState } from '../node/contracts.js';
import type { HollowNode } from '../node/hollow-node.js';
import type { HollowKubeletApi } from '../node/kubelet-api.js';
import type { NodeProfile } from '../node/profile.js';

export interface HollowNodeRequest {
  readonly name: string;
  /** @default 32 CPUs, 256 GiB of memory, 500 GiB of disk, 110 pods */
  readonly profile?: Partial<NodeProfile>;
  /**
   * The port of its kubelet API.
   * @default any free one
   */
  readonly port?: number;
  /**
   * The range of its pods' addresses.
   * @default one that no other node of the fleet has
   */
  readonly podCidr?: string;
}

export interface HollowNodesOptions {
  /** For everything that has no client of its own. */
  readonly api: KubeApi;
  /**
   * For leases and the status of nodes, which should wait for nothing else.
   * @default api
   */
  readonly heartbeatApi?: KubeApi;
  /** @default api */
  readonly eventsApi?: KubeApi;
  /** @default [] */
  readonly nodes?: readonly HollowNodeRequest[];
  /** @default the clock of this machine */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
  /** @default every gate as Kubernetes has it by default */
  readonly gates?: FeatureGates;
  /** Fields of the configuration of every node, such as `nodeStatusReportFrequency`. */
  readonly config?: Partial<KubeletConfiguration>;
  /**
   * How many nodes join the cluster in a second.
   * @default 20
   */
  readonly nodesPerSecond?: number;
  /**
   * Whether nodes share the watches that they have in common; if not, each opens its own five.
   * @default true
   */
  readonly sharesWatches?: boolean;
  /**
   * Serves the kubelet API of every node on a port of its own.
   * @default none: the nodes answer nobody
   */
  readonly kubeletApi?: HollowKubeletApi;
  /**
   * The address that all nodes report.
   * @default that of `kubeletApi`, or 192.0.2.1, which is nobody's
   */
  readonly nodeIp?: string;
  /** @default the Kubernetes version that nodelet behaves as */
  readonly kubeletVersion?: string;
  /** Called with what goes wrong on a node. */
  readonly onProblem?: (nodeName: string, message: string) => void;
}

export interface HollowNodeStatus {
  readonly name: string;
  readonly state: HollowNodeState;
  readonly pods: number;
  /** Undefined while it has none. */
  readonly port: number | undefined;
  readonly problem: string | undefined;
}

/** What became of one node of a request. */
export interface HollowOutcome {
  readonly name: string;
  /** Undefined: it was done. */
  readonly problem: string | undefined;
}

/** A running fleet. */
export interface HollowNodes {
  /** Nodes of these names join the cluster, in their turn. Throws when a name is taken. */
  add(nodes: readonly HollowNodeRequest[]): void;
  /** Ends nodes, and deletes their Node objects unless these are to be kept. */
  remove(names: readonly string[], options?: { readonly keepsNodes?: boolean }): Promise<HollowOutcome[]>;
  /** Machines die without a word: leases are no longer renewed, containers are gone. */
  kill(names: readonly string[]): Promise<HollowOutcome[]>;
  /** Neither the API server nor clients reach the nodes; their pods run on. */
  cut(names: readonly string[]): Promise<HollowOutcome[]>;
  /** Ends `cut`, and starts dead machines again. */
  restore(names: readonly string[]): Promise<HollowOutcome[]>;
  node(name: string): HollowNode | undefined;
  list(): HollowNodeStatus[];
  /** Nodes by state. */
  counts(): Readonly<Record<HollowNodeState, number>>;
  /** Watches open at the API server for all nodes, and watches of nodes that they serve. */
  watches(): { readonly opened: number; readonly served: number };
  /** Resolves once no node waits or starts. */
  settled(signal?: AbortSignal): Promise<void>;
  /** Ends every node; deletes their Node objects only if asked to. */
  stop(options?: { readonly deletesNodes?: boolean }): Promise<HollowOutcome[]>;
}
