/** Builds housekeeping: what each pass compares, stops, restarts, cleans up and forgets. */
import type { TaskGroup } from '../../async/index.js';
import type { PodManager } from '../../pods/desired/index.js';
import type { ReasonCache, StatusManager } from '../../pods/status/index.js';
import type { PodWorkers } from '../../pods/workers/index.js';
import type { RuntimeManager } from '../../runtime-manager/index.js';
import type { Pleg } from '../../runtime-manager/pleg/index.js';
import type { AllocationManager } from '../allocation/allocation-manager.js';
import type { PodVolumes } from '../ports.js';
import type { Probes } from '../rooms/create-probes.js';
import type { KubeletSettings } from '../settings.js';
import { Housekeeping } from './housekeeping.js';
import { mirrorDeletions } from './mirror-deletions.js';
import { OrphanCleanup, type OrphanCleanupOptions } from './orphan-cleanup.js';
import type { PodDirectories } from './pod-directories.js';
import type { PodHandlers } from './pod-handlers.js';

export interface HousekeepingRooms extends Pick<OrphanCleanupOptions, 'actuated' | 'users'> {
  readonly tasks: TaskGroup;
  readonly pods: PodManager;
  readonly workers: PodWorkers;
  readonly statuses: StatusManager;
  readonly reasons: Pick<ReasonCache, 'keepOnly'>;
  readonly pleg: Pick<Pleg, 'observedPods'>;
  readonly runtime: Pick<RuntimeManager, 'listPods' | 'collectBackoff' | 'podsWait'>;
  readonly volumes: Pick<PodVolumes, 'exist' | 'podsChanged'>;
  readonly probes: Pick<Probes, 'keepOnly'>;
  readonly allocation: Pick<AllocationManager, 'keepOnly'>;
  readonly directories: Pick<PodDirectories, 'keepOnly'>;
  readonly handlers: Pick<PodHandlers, 'waiting'>;
}

export function createHousekeeping(
  settings: Pick<
    KubeletSettings,
    'clock' | 'timeline' | 'metrics' | 'machine' | 'rootDir' | 'podDirectories' | 'cgroups' | 'mirrors'
  >,
  rooms: HousekeepingRooms,
): Housekeeping {
  const { timeline, metrics, machine, rootDir, cgroups, mirrors } = settings;
  const { pods, workers, statuses, reasons, pleg, runtime, volumes, probes, directories } = rooms;
  const orphans = new OrphanCleanup({
    clock: settings.clock,
    volumes,
    actuated: rooms.actuated,
    users: rooms.users,
    dirs: settings.podDirectories ? { host: machine, rootDir, directories } : undefined,
    podsWait: () => runtime.podsWait,
    isConfigured: (uid) => pods.byUid(uid) !== undefined,
    metrics,
  });
  return new Housekeeping({
    timeline,
    pods,
    workers,
    statuses,
    waiting: () => rooms.handlers.waiting,
    observedPods: () => pleg.observedPods(),
    listRunningPods: () => runtime.listPods({ runningOnly: true }),
    cleanPodDirectories: (known) => orphans.run(known),
    collectBackoff: () => runtime.collectBackoff(),
    podVolumesExist: (uid) => volumes.exist(uid),
    keepProbesOf: (uids) => probes.keepOnly(uids),
    forgetOthers: (present) => {
      timeline.boundGone(present);
      reasons.keepOnly(present);
      rooms.allocation.keepOnly((uid) => present.has(uid));
    },
    metrics,
    cgroups,
    deleteMirrorsSoon: mirrors && mirrorDeletions(mirrors, rooms.tasks),
  });
}
