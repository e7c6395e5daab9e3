/** What a kubelet is made from. */
import type { Clock } from '../async/index.js';
import type { FeatureGates, KubeletConfiguration } from '../config/index.js';
import type { CriRuntime } from '../cri/index.js';
import type { Host } from '../host/index.js';
import type { Node } from '../kube/index.js';
import type { Registry } from '../metrics/index.js';
import type { PodSource, SourceContext, SourceName } from '../pods/index.js';
import type { ProbeNetwork } from '../probes/index.js';
import type { HostFacts, ServiceSource } from '../runtime-manager/config/index.js';
import type { Keyring, LifecycleHooks, PodConfigs, RuntimeClassSource } from '../runtime-manager/index.js';
import type { EventSource } from '../runtime-manager/pleg/index.js';
import type { Timeline } from '../timeline/index.js';
import type { ClaimStore, ServiceAccountTokens, TrustBundles } from '../volumes/index.js';
import type { AdmissionHandler } from './admission/admission.js';
import type { JoinCluster } from './cluster/membership.js';
import type { KubeletMetrics } from './metrics/metrics.js';
import type { MirrorPods, PodCgroups, PodObjects, PodVolumes } from './ports.js';
import type { KubeletModules } from './start-up/managers.js';

export interface KubeletOptions {
  readonly nodeName: string;
  /**
   * Any container runtime: a CRI client, or one that ships inside. The kubelet gives every call its deadline,
   * checks every answer and counts the calls.
   */
  readonly runtime: CriRuntime;
  /** Where the agent keeps what belongs to pods. */
  readonly rootDir: string;
  /** Defaults as of an agent that is given no configuration file. */
  readonly config?: Partial<KubeletConfiguration>;
  readonly gates?: FeatureGates;
  readonly clock?: Clock;
  readonly timeline?: Timeline;
  readonly registry?: Registry;
  /** Metrics that were made from `registry` before, to count calls of the runtime from the first. */
  readonly metrics?: KubeletMetrics;
  /** Addresses that the node was configured with, primary first; they decide the order of address families. */
  readonly nodeIps?: readonly string[];
  /** Addresses that pods see as their host's. `nodeIps` by default. */
  readonly hostIps?: readonly string[];
  /** What the machine is; read from it by default. */
  readonly host?: HostFacts;
  /** Streams of runtime events to try in order, made from the runtime as the kubelet calls it. The CRI's own by default. */
  readonly eventSources?: readonly ((cri: CriRuntime) => EventSource)[];
  /** Sources beside those that the configuration names. */
  readonly sources?: readonly {
    readonly name: SourceName;
    readonly create: (context: SourceContext) => PodSource;
  }[];
  /** How many sandboxes and containers are started at a time; fits the machine by default. */
  readonly startsAtOnce?: number;
  readonly deadContainers?: {
    readonly minAgeMs: number;
    readonly maxPerContainer: number;
    readonly maxTotal: number;
  };
  /** The flat folder of links to container logs; none by default. */
  readonly containerLogsDir?: string;
  readonly admission?: readonly AdmissionHandler[];
  /** What does the volumes of pods; the plugins that ship inside by default, none on a node without pod folders. */
  readonly volumes?: PodVolumes;
  /** The files and mounts of the machine; those of the Linux machine that this runs on by default. */
  readonly machine?: Host;
  /** Where ConfigMaps and Secrets come from; without it no pod can use any. */
  readonly objects?: PodObjects;
  /** Where PersistentVolumeClaims and their volumes come from; without it no pod can use any. */
  readonly claims?: ClaimStore;
  /** Where service account tokens for projected volumes come from; without it volumes that want one are refused. */
  readonly tokens?: ServiceAccountTokens;
  /** Where bundles of trusted certificates come from; used while the gate ClusterTrustBundleProjection is on. */
  readonly trustBundles?: TrustBundles;
  /** Where runtime classes come from; without it every pod gets the runtime's default handler. */
  readonly runtimeClasses?: RuntimeClassSource;
  /** Builds what the runtime is told of pods; with files on this machine by default. */
  readonly podConfigs?: PodConfigs | ((volumes: PodVolumes) => PodConfigs);
  /** Whether pods get folders below `rootDir` and for their logs; a virtual node needs none. Default: yes. */
  readonly podDirectories?: boolean;
  readonly hooks?: LifecycleHooks;
  /** What probes go through to reach containers; the machine's own network by default. */
  readonly probeNetwork?: ProbeNetwork;
  readonly cgroups?: PodCgroups;
  readonly mirrors?: MirrorPods;
  /** The credentials of pulls; by default those of pull secrets, of docker's files on this machine and of plugins. */
  readonly keyring?: Keyring;
  /** Plugins that are asked for the credentials of images. */
  readonly credentialProviders?: { readonly configPath: string; readonly binDir: string };
  /** The Services that containers find in their environment; without it there are none. */
  readonly services?: ServiceSource;
  /** This node as its cluster knows it; undefined while it is not known, and on a node without one. */
  readonly node?: () => Node | undefined;
  /** Parts that are not in every build. */
  readonly modules?: KubeletModules;
  /** Makes the node part of a cluster; `createClusterKubelet` has it. */
  readonly join?: JoinCluster;
  readonly random?: () => number;
}
