/** Where a kubelet and the cluster that its node is part of meet; without an API server nothing of the cluster is loaded. */
import type { TaskGroup } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import type { DeviceResources } from '../../node/index.js';
import type { PodManager } from '../../pods/desired/index.js';
import type { PodActivity } from '../../pods/events/index.js';
import type { StatusManager } from '../../pods/status/index.js';
import type { PressureCondition } from '../../resources/eviction/index.js';
import type { PodVolumes } from '../ports.js';
import type { KubeletSettings } from '../settings.js';
import type { NodeSettings, RuntimeView } from './node-options.js';

/** What a membership needs of the kubelet. */
export interface MembershipDeps {
  readonly settings: NodeSettings & Pick<KubeletSettings, 'tracer'>;
  readonly pods: PodManager;
  readonly statuses: StatusManager;
  readonly check: RuntimeView;
  /** Whether containers of the pod may still run, so that its deletion may not be completed yet. */
  couldHaveRunningContainers(uid: string): boolean;
  /** What is going on with pods, so that what nobody waits for can wait for them. */
  readonly turns: PodActivity;
  /** The pressure that the node is under. */
  pressure(): readonly PressureCondition[];
  /** Whose volumes the cluster attaches and must not detach too early. */
  readonly volumes: Pick<
    PodVolumes,
    'volumesInUse' | 'volumesReported' | 'attachmentsChanged' | 'driverReady'
  >;
  /** What device plugins offer, and whether devices of earlier runs are known. Absent where there are no such plugins. */
  readonly devices?:
    | { readonly capacity: () => DeviceResources; readonly isKnown: () => boolean }
    | undefined;
  /** Why the node is not ready while its machine shuts down. */
  shutdownError(): string | undefined;
}

/** The node's membership in a cluster, started step by step with the kubelet. */
export interface ClusterMembership {
  /** Called before the first event; what writes events is started here. */
  startEvents(tasks: TaskGroup): void;
  /** Called when the machine is prepared: the node is registered, and its status, lease and mirrors are kept. */
  startNode(tasks: TaskGroup): void;
  /** Called when the runtime check has started: follows what pods need of the cluster, and writes their statuses. */
  startPods(tasks: TaskGroup): void;
  /** Reports the node at once instead of with the next period. */
  reportNode(signal: AbortSignal): Promise<void>;
  /** The API showed a mirror of this static pod for the first time, or another one. */
  mirrorSeen(staticPod: Pod): void;
}

export type JoinCluster = (deps: MembershipDeps) => Promise<ClusterMembership>;
