/** What a hollow node is made from, what surrounds all nodes, and the states of a node. */
import type { Clock } from '../../async/index.js';
import type { FeatureGates, KubeletConfiguration } from '../../config/index.js';
import type { KubeApi } from '../../kube-client/index.js';
import type { Kubelet } from '../../kubelet/index.js';
import type { DescribedMachine, NetworkReader } from '../../node/index.js';
import type { SimRuntime } from '../../runtimes/sim/index.js';
import type { SharedApi } from '../api/shared-api.js';
import type { StartNodeServer } from './node-port.js';
import type { NodeProfile } from './profile.js';

export type HollowNodeState =
  /** Its turn to start has not come. */
  | 'waiting'
  /** It joins the cluster. */
  | 'starting'
  /** The cluster was told that it is ready. */
  | 'ready'
  /** It runs, and neither the API server nor clients reach it. */
  | 'cut'
  /** Its machine died without a word. */
  | 'dead'
  /** Its kubelet cannot go on. */
  | 'failed'
  /** It was removed. */
  | 'gone';

/** What all nodes of a fleet have in common. */
export interface HollowSurroundings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly gates: FeatureGates;
  readonly config: Partial<KubeletConfiguration>;
  readonly kubeletVersion: string;
  readonly apis: { readonly main: KubeApi; readonly heartbeat: KubeApi; readonly events: KubeApi };
  /** Undefined: every node has watches of its own. */
  readonly shared: SharedApi | undefined;
  /** Undefined: the nodes answer nobody. */
  readonly kubeletApi: NodeApiServer | undefined;
  /** The network that the addresses of nodes come from. */
  readonly network: NetworkReader;
  readonly nodeIp: string;
  readonly onProblem: (nodeName: string, message: string) => void;
  /** Called when the state of a node changed. */
  readonly onState: () => void;
}

/** How nodes answer on their ports. */
export interface NodeApiServer {
  readonly address: string;
  readonly serve: (kubelet: Kubelet, runtime: SimRuntime, given: NodeServerInput) => StartNodeServer;
}

export interface NodeServerInput {
  readonly machine: () => DescribedMachine;
  readonly bootTimeMs: number;
  readonly api: KubeApi;
}

export interface HollowNodeSpec {
  readonly name: string;
  readonly profile: NodeProfile;
  /** The range of its pods' addresses. */
  readonly podCidr: string;
  /** The port of its kubelet API; 0: any free one. */
  readonly port: number;
}
