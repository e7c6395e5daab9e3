/** What a kubelet is made from. */
import type { Clock } from '../async/index.js';
import type { FeatureGates, KubeletConfiguration } from '../config/index.js';
import type { CriRuntime } from '../cri/index.js';
import type { Host } from '../host/index.js';
import type { Node } from '../kube/index.js';
import type { Registry } from '../metrics/index.js';
import type { DescribedMachine, Logind } from '../node/index.js';
import type { OpenPluginSocket } from '../plugins/index.js';
import type { PodSource, SourceContext, SourceName } from '../pods/index.js';
import type { ProbeNetwork } from '../probes/index.js';
import type { OpenDevicePlugin, ServeDeviceRegistration } from '../resources/device-manager/index.js';
import type { DraApi, OpenDriver } from '../resources/dra/index.js';
import type { EvictionStats } from '../resources/eviction/index.js';
import type { MachineFacts, ServiceSource } from '../runtime-manager/config/index.js';
import type { PullSource } from '../runtime-manager/images/index.js';
import type {
  Keyring,
  LifecycleHooks,
  PodConfigs,
  PodServiceAccounts,
  RuntimeClassSource,
} from '../runtime-manager/index.js';
import type { RuntimeEventSource } from '../runtime-manager/pleg/index.js';
import type { Timeline } from '../timeline/index.js';
import type { Tracer } from '../tracing/index.js';
import type {
  CallCsi,
  ClaimStore,
  CsiObjects,
  DriverNotice,
  DriverPolicies,
  HealthNotice,
  PodCertificates,
  ServiceAccountTokens,
  TrustBundles,
  VolumeAttachments,
} from '../volumes/index.js';
import type { AdmissionHandler } from './admission/admission.js';
import type { JoinCluster } from './cluster/membership.js';
import type { StandaloneNodeOptions } from './node/standalone-node.js';
import type { Outside } from './outside.js';
import type { MirrorPods, PodCgroups, PodObjects, PodVolumes } from './ports.js';
import type { KubeletManagers } from './start-up/managers.js';
import type { ConfigProposals } from './what-if/proposals.js';

/** A source of pods beside those that the configuration names. */
export interface AddedSource {
  readonly name: SourceName;
  readonly create: (context: SourceContext) => PodSource;
  /**
   * Whether it reads through ports of the kubelet alone, and so is no port itself.
   * @default false
   */
  readonly isInside?: boolean;
}

/** How many dead containers are kept, and for how long. A negative number is no limit. */
export interface DeadContainerPolicy {
  readonly minAgeMs: number;
  readonly maxPerContainer: number;
  readonly maxTotal: number;
}

export interface KubeletEviction {
  /** Where it sees how full the machine is. */
  readonly stats: EvictionStats;
  /**
   * Whether the threshold of the machine's memory holds for all pods together, too.
   * @default true
   */
  readonly boundsAllocatable?: boolean;
  /**
   * Whether pods are evicted; if not, the node only tells who would be.
   * @default true
   */
  readonly evicts?: boolean;
}

/** What CSI drivers and their volumes need beside the node itself. */
export interface KubeletCsiOptions {
  /**
   * How drivers are called.
   * @default by gRPC on this machine
   */
  readonly call?: CallCsi;
  /** Where the cluster learns which drivers the node has; without it nobody does. */
  readonly notice?: DriverNotice;
  /** What the cluster's CSIDriver objects ask of the node; without a cluster no driver asks for anything. */
  readonly policies?: DriverPolicies;
  /** Secrets and VolumeAttachments of the cluster. */
  readonly objects?: CsiObjects;
  /** What the cluster has attached to the node. */
  readonly attachments?: VolumeAttachments;
  /** Where the cluster learns of the health of volumes and of storage; without it nobody asks for it. */
  readonly health?: HealthNotice;
}

/** What drivers of dynamic resources need beside the node itself. */
export interface KubeletDraOptions {
  /**
   * How drivers are reached.
   * @default by gRPC on this machine
   */
  readonly open?: OpenDriver;
  /** The claims of the cluster; without it no pod can use any. */
  readonly api?: DraApi;
}

/** Gives a file or directory a SELinux label; rejects with the reason why it cannot. */
export type LabelFile = (path: string, label: string) => Promise<void>;

/** What device plugins need beside the node itself. */
export interface KubeletDevicePlugins {
  /** Where they register, and where the record of who holds which device lies. */
  readonly directory: string;
  /**
   * How long a pod waits for a plugin that has not registered yet; 0 refuses it at once, as the reference kubelet does.
   * @default 2 minutes
   */
  readonly waitMs?: number;
  /**
   * How plugins are called.
   * @default by gRPC on this machine
   */
  readonly open?: OpenDevicePlugin;
  /**
   * How plugins reach the agent.
   * @default by gRPC on this machine
   */
  readonly serve?: ServeDeviceRegistration;
}

export interface KubeletOptions {
  readonly nodeName: string;
  /**
   * Any container runtime: a CRI client, or one that ships inside. The kubelet gives every call its deadline,
   * checks every answer and counts the calls.
   */
  readonly runtime: CriRuntime;
  /**
   * Whether the runtime ends every call at its `timeoutMs` and with its `signal`, as a client of `connectCri` does.
   * The kubelet watches over the calls of any other.
   * @default false
   */
  readonly runtimeEndsCalls?: boolean;
  /** Where the kubelet keeps what belongs to pods. */
  readonly rootDir: string;
  /**
   * The configuration; fields that are left out have the value of a kubelet without a configuration file.
   * @default {}
   */
  readonly config?: Partial<KubeletConfiguration>;
  /** @default every gate as Kubernetes has it by default */
  readonly gates?: FeatureGates;
  /** @default the clock of this machine */
  readonly clock?: Clock;
  /** @default a timeline of its own, which nobody reads */
  readonly timeline?: Timeline;
  /** @default nothing is traced; the traces of callers are passed on */
  readonly tracer?: Tracer;
  /** @default a registry of its own */
  readonly registry?: Registry;
  /**
   * Addresses that the node was configured with, primary first; they decide the order of address families.
   * @default none
   */
  readonly nodeIps?: readonly string[];
  /**
   * Addresses that pods see as their host's.
   * @default nodeIps
   */
  readonly hostIps?: readonly string[];
  /**
   * What the machine is.
   * @default read from this machine
   */
  readonly host?: MachineFacts;
  /**
   * The machine that a virtual node pretends to be: its Node object tells of this one.
   * @default read from this machine
   */
  readonly describedMachine?: DescribedMachine;
  /**
   * Streams of runtime events to try in order, made from the runtime as the kubelet calls it.
   * @default the CRI's own
   */
  readonly eventSources?: readonly ((cri: CriRuntime) => RuntimeEventSource)[];
  /**
   * Shows how far pulls are; opened when one takes long.
   * @default none
   */
  readonly pulls?: () => PullSource;
  /**
   * Sources beside those that the configuration names.
   * @default none
   */
  readonly sources?: readonly AddedSource[];
  /**
   * How many sandboxes and containers are started at a time.
   * @default the number of cores and two
   */
  readonly startsAtOnce?: number;
  /** @default the last dead run of each container, of any age, without a limit for the node */
  readonly deadContainers?: DeadContainerPolicy;
  /**
   * The flat directory of links to container logs.
   * @default none
   */
  readonly containerLogsDir?: string;
  /** @default the checks of a node: sysctls, operating system, resources, affinity, ports, taints, AppArmor */
  readonly admission?: readonly AdmissionHandler[];
  /**
   * What does the volumes of pods.
   * @default the plugins that ship inside; none on a node without pod directories
   */
  readonly volumes?: PodVolumes;
  /**
   * The files and mounts of the machine.
   * @default those of this machine, which must run Linux
   */
  readonly machine?: Host;
  /**
   * Where ConfigMaps and Secrets come from.
   * @default none: no pod can use any
   */
  readonly objects?: PodObjects;
  /**
   * Where PersistentVolumeClaims and their volumes come from.
   * @default none: no pod can use any
   */
  readonly claims?: ClaimStore;
  /**
   * Where service account tokens for projected volumes and credential plugins come from.
   * @default none: volumes that want one are refused
   */
  readonly tokens?: ServiceAccountTokens;
  /**
   * Where credential plugins' service accounts come from; fails if there is none of the name.
   * @default none: plugins that want tokens get none
   */
  readonly serviceAccount?: PodServiceAccounts['serviceAccount'];
  /**
   * Where bundles of trusted certificates come from; used while the gate ClusterTrustBundleProjection is on.
   * @default none
   */
  readonly trustBundles?: TrustBundles;
  /**
   * Where certificates of pods come from; used while the gate PodCertificateRequest is on.
   * @default none: volumes that want one are refused
   */
  readonly podCertificates?: PodCertificates;
  /**
   * Where runtime classes come from.
   * @default none: every pod gets the runtime's default handler
   */
  readonly runtimeClasses?: RuntimeClassSource;
  /**
   * Builds what the runtime is told of pods.
   * @default configs with files on this machine
   */
  readonly podConfigs?: PodConfigs | ((volumes: PodVolumes) => PodConfigs);
  /**
   * Whether pods get directories below `rootDir` and for their logs; a virtual node needs none.
   * @default true
   */
  readonly podDirectories?: boolean;
  /** @default hooks that run commands by the CRI and requests by the machine's network */
  readonly hooks?: LifecycleHooks;
  /**
   * What probes go through to reach containers.
   * @default the machine's own network
   */
  readonly probeNetwork?: ProbeNetwork;
  /**
   * The cgroups that pods live in.
   * @default none: the runtime decides
   */
  readonly cgroups?: PodCgroups;
  /** @default none: static pods have no stand-ins in an API */
  readonly mirrors?: MirrorPods;
  /**
   * The credentials of pulls.
   * @default those of pull secrets, of docker's files on this machine and of plugins
   */
  readonly keyring?: Keyring;
  /**
   * Plugins that are asked for the credentials of images.
   * @default none
   */
  readonly credentialProviders?: { readonly configPath: string; readonly binDir: string };
  /**
   * The Services that containers find in their environment.
   * @default none
   */
  readonly services?: ServiceSource;
  /**
   * This node as its cluster knows it, asked for at every pod; undefined while it is not known, and then nothing that a
   * node offers speaks against a pod.
   * @default built from the machine and the configuration
   */
  readonly node?: () => Node | undefined;
  /**
   * What is told of a node that is built here.
   * @default no labels beside those that every node has
   */
  readonly standalone?: StandaloneNodeOptions;
  /**
   * Whether a critical pod that does not fit, and for which nobody can make room, is refused for what the node has too
   * little of. The reference kubelet refuses it with UnexpectedAdmissionError.
   * @default false
   */
  readonly namesShortage?: boolean;
  /**
   * Whether the kernel killed a process of a container for want of memory; asked when a container has failed and its
   * runtime does not call it OOMKilled.
   * @default the runtime's word counts
   */
  readonly wasOomKilled?: (containerId: string) => Promise<boolean>;
  /**
   * Tells of a shutdown of the machine and delays it; used where the configuration has a shutdown grace period.
   * @default none: a shutdown of the machine does not wait for pods
   */
  readonly logind?: Logind;
  /**
   * How the registration sockets of plugins are reached.
   * @default by gRPC on this machine; on any other no plugin can register
   */
  readonly openPluginSocket?: OpenPluginSocket;
  /**
   * How the directories of plugins get their SELinux label.
   * @default by `chcon` on this machine
   */
  readonly labelFile?: LabelFile;
  /**
   * Device plugins.
   * @default none: no pod can have a device of a plugin
   */
  readonly devicePlugins?: KubeletDevicePlugins | undefined;
  /** @default CSI drivers of this machine, and no cluster that knows of them */
  readonly csi?: KubeletCsiOptions;
  /** @default none: pods that use ResourceClaims are refused */
  readonly dra?: KubeletDraOptions;
  /**
   * Managers that not every kubelet has.
   * @default none
   */
  readonly managers?: KubeletManagers;
  /**
   * Makes the node part of a cluster; `createClusterKubelet` gives it.
   * @default none: the node stands alone
   */
  readonly join?: JoinCluster;
  /**
   * What eviction goes by; the thresholds are those of the configuration.
   * @default none: no pod is evicted, and the node is never under pressure
   */
  readonly eviction?: KubeletEviction;
  /**
   * Reads configuration files that the node might get, to foretell what they would do.
   * @default none: the node has no configuration file
   */
  readonly proposals?: ConfigProposals;
  /**
   * What stands between the kubelet and all that lies outside it.
   * @default nothing
   */
  readonly outside?: Outside;
  /** @default Math.random */
  readonly random?: () => number;
}
