/** What the node of a cluster is built from, and what it is for the kubelet. */
import type { TaskGroup } from '../../async/index.js';
import type { RuntimeFeatures, RuntimeHandler } from '../../cri/index.js';
import type { Node, NodeAddress } from '../../kube/index.js';
import type { Informer, KubeApi } from '../../kube-client/index.js';
import type { DeviceResources, NetworkReader, StatusFacts } from '../../node/index.js';
import type { KubeletSettings } from '../settings.js';

/** The settings that the node is built from. */
export type NodeSettings = Pick<
  KubeletSettings,
  | 'nodeName'
  | 'rootDir'
  | 'config'
  | 'gates'
  | 'clock'
  | 'timeline'
  | 'random'
  | 'machine'
  | 'host'
  | 'cri'
  | 'registry'
  | 'describedMachine'
  | 'outside'
>;

/** What the command line says of the node. */
export interface NodeFlags {
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** As `--node-ip` was written; empty for none. */
  readonly nodeIp: string;
  readonly externalCloud: boolean;
  readonly ignoreEvictionReservation?: boolean;
}

/** The API as the node uses it. */
export interface NodeApi {
  readonly heartbeat: KubeApi;
  readonly main: KubeApi;
  /** The server may be dead behind a connection that is not. */
  resetConnections(): void;
}

/** Who knows the state of the runtime; `RuntimeCheck` does. */
export interface RuntimeView {
  readonly networkError: string | undefined;
  readonly handlers: readonly RuntimeHandler[];
  readonly features?: RuntimeFeatures | undefined;
  errors(): readonly string[];
  checkOnce(): Promise<void>;
}

export interface NodeOptions {
  readonly flags: NodeFlags;
  readonly kubeletVersion: string;
  readonly runtime: RuntimeView;
  readonly api: NodeApi;
  /** Features that are really there, of those that schedulers ask for. */
  readonly declaredFeatures?: readonly string[];
  readonly pressure?: () => StatusFacts['pressure'];
  readonly devices?: () => DeviceResources;
  /** Whether devices of earlier runs are known; without a device manager they are not. */
  readonly devicesKnown?: () => boolean;
  readonly storageError?: () => string | undefined;
  readonly shutdownError?: () => string | undefined;
  /** Whether the kernel can limit CPU time; default: it can. */
  readonly isCpuQuotaAvailable?: boolean;
  readonly volumesInUse?: () => readonly string[] | undefined;
  readonly onVolumesReported?: (names: readonly string[]) => void;
  /** Called when the API shows the node, or another state of it. */
  readonly onNode?: () => void;
  readonly onAddresses?: (addresses: readonly NodeAddress[]) => void;
  readonly onReady?: () => void;
  /** The network that the node's addresses come from; the machine's own by default. */
  readonly network?: NetworkReader;
  /** Wall milliseconds at which the process started. */
  readonly processStartMs?: number;
}

export interface ClusterNode {
  /** The cluster's object of this node as it changes. */
  readonly informer: Informer<Node>;
  /** The node as last heard of, or as it would be registered. */
  node(): Promise<Node>;
  /** The same, without waiting; undefined before the first of either. */
  readonly known: Node | undefined;
  /** What pods are admitted by until then: without addresses and conditions. */
  readonly atFirst: Node;
  /** Starts registration, status and lease. */
  start(tasks: TaskGroup): void;
  /** Reports at once, as on a shutdown of the machine. */
  sync(signal: AbortSignal): Promise<void>;
}
