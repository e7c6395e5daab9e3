/** Builds the pod syncer: gives it what one step of a pod's life needs of the rooms around it. */
import { parseIp } from '../../kube/index.js';
import type { ReasonCache, StatusManager } from '../../pods/status/index.js';
import type { RuntimeManager } from '../../runtime-manager/index.js';
import type { Pleg } from '../../runtime-manager/pleg/index.js';
import type { UserNamespaces } from '../../runtime-manager/userns/index.js';
import { podRef } from '../../timeline/index.js';
import type { PodVolumes } from '../ports.js';
import type { Probes } from '../rooms/create-probes.js';
import type { KubeletSettings } from '../settings.js';
import type { RuntimeCheck } from '../start-up/runtime-check.js';
import type { RuntimeName } from '../start-up/runtime-name.js';
import type { DeadContainers } from './dead-containers.js';
import type { PodDirectories } from './pod-directories.js';
import type { WorkerStates } from './pod-states.js';
import {
  createPodStatusGenerator,
  type PodStatusGeneratorOptions,
  podCgroupReader,
} from './pod-status-generator.js';
import { KubeletPodSyncer, type KubeletPodSyncerOptions, type PodAllocation } from './pod-syncer.js';

export interface PodSyncerRooms {
  readonly runtime: RuntimeManager;
  readonly runtimeName: RuntimeName;
  readonly check: Pick<RuntimeCheck, 'networkError' | 'supports'>;
  readonly pleg: Pick<Pleg, 'statusNewerThan' | 'requestRelist' | 'requestPodRelist'>;
  readonly statuses: StatusManager;
  readonly reasons: ReasonCache;
  readonly volumes: PodVolumes;
  readonly probes: Pick<Probes, 'view' | 'workers'>;
  readonly users: Pick<UserNamespaces, 'release'> | undefined;
  readonly actuated: PodStatusGeneratorOptions['actuated'];
  readonly allocation: PodAllocation & Required<Pick<PodStatusGeneratorOptions, 'resizeConditions'>>;
  readonly directories: Pick<PodDirectories, 'make'>;
  readonly deadContainers: Pick<DeadContainers, 'removeUnneeded'>;
  readonly states: Pick<WorkerStates, 'isTerminationRequested'>;
  readonly sync: (uids: readonly string[]) => void;
  readonly unprepareResources?: KubeletPodSyncerOptions['unprepareResources'];
  readonly resourceHealth?: PodStatusGeneratorOptions['resourceHealth'];
}

export function createPodSyncer(
  settings: Pick<
    KubeletSettings,
    | 'clock'
    | 'timeline'
    | 'metrics'
    | 'gates'
    | 'node'
    | 'nodeIps'
    | 'podDirectories'
    | 'startsAtOnce'
    | 'stopping'
    | 'objects'
    | 'cgroups'
    | 'mirrors'
  >,
  rooms: PodSyncerRooms,
): KubeletPodSyncer {
  const { clock, timeline, metrics, stopping, objects, cgroups, mirrors } = settings;
  const { runtime, runtimeName, check, pleg, statuses, reasons, volumes, probes, users } = rooms;
  return new KubeletPodSyncer({
    clock,
    timeline,
    runtime,
    statuses,
    generateStatus: createPodStatusGenerator({
      clock,
      statuses,
      reasons,
      probes: probes.view,
      runtimeName: () => runtimeName.current,
      supportsRecursiveReadOnly: (handler) => check.supports(handler, 'recursiveReadOnlyMounts'),
      actuated: rooms.actuated,
      podCgroup: podCgroupReader(cgroups?.bounds),
      resizeConditions: rooms.allocation.resizeConditions,
      resourceHealth: rooms.resourceHealth,
      node: settings.node,
      nodeIps: settings.nodeIps,
      showsStopSignals: settings.gates.enabled('ContainerStopSignals'),
      showsVolumeImages: settings.gates.enabled('ImageVolumeWithDigest'),
      onOtherHostFamily: (pod, had, has) =>
        timeline.event(podRef(pod), 'Warning', 'HostIPsIPFamilyMismatch', otherHostFamily(had, has)),
    }),
    reasons,
    allocation: rooms.allocation,
    volumes,
    networkError: () => check.networkError,
    releaseUserNamespace: users && ((uid) => users.release(uid)),
    isTerminationRequested: rooms.states.isTerminationRequested,
    makePodDirectories: async (uid) => {
      if (settings.podDirectories) await rooms.directories.make(uid);
    },
    observedSince: (uid, afterMs) => pleg.statusNewerThan(uid, afterMs, stopping.signal),
    removeDeadContainers: (uid) => rooms.deadContainers.removeUnneeded(uid),
    requestRelist: (uid) => pleg.requestRelist(uid),
    requestPodRelist: (uid) => pleg.requestPodRelist(uid),
    syncAgain: (uid) => rooms.sync([uid]),
    isStopping: () => stopping.signal.aborted,
    // Enough that some are ready whenever those that start make room for them.
    preparationsAtOnce: 4 * settings.startsAtOnce,
    metrics,
    unprepareResources: rooms.unprepareResources,
    probes: probes.workers,
    objects,
    cgroups,
    mirrors,
  });
}

function otherHostFamily(had: string, has: string): string {
  const shown = (ip: string): string => `IPv${parseIp(ip)?.family ?? ''} node IP (${ip})`;
  return `Kubelet detected an ${shown(had)}, but the cloud provider selected an ${shown(has)}; pass an explicit \`--node-ip\` to kubelet to fix this.`;
}
