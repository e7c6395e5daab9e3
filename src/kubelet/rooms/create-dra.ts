/** Builds what a kubelet has for drivers of dynamic resources: who is registered, and what they prepared for whom. */
import type { Pod } from '../../kube/index.js';
import {
  createDraMetrics,
  DraManager,
  DraRegistration,
  openGrpcDriver,
  registerClaimsInUse,
  usesClaims,
} from '../../resources/dra/index.js';
import type { ContainerPlacement, PrepareResources } from '../../runtime-manager/index.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';

type DraSettings = Pick<
  KubeletSettings,
  | 'clock'
  | 'timeline'
  | 'registry'
  | 'nodeName'
  | 'rootDir'
  | 'random'
  | 'gates'
  | 'durable'
  | 'podDirectories'
  | 'isOwnMachine'
  | 'outside'
  | 'dra'
  | 'stopping'
>;

export interface DraPorts {
  readonly allSourcesReady: () => boolean;
  readonly activePods: () => readonly Pod[];
  /** Whether nothing of the pod runs any more. */
  readonly isRuntimeGone: (podUid: string) => boolean;
  readonly sync: (podUids: readonly string[]) => void;
}

export interface KubeletDra {
  readonly manager: DraManager;
  /** Takes plugins of the type DRAPlugin. */
  readonly registration: DraRegistration;
  /** Gives containers the CDI names of their claims' devices. */
  readonly placement: ContainerPlacement;
  readonly prepare: PrepareResources;
  readonly start: StartManager;
}

/** Undefined on a node without a cluster, and where there is no way to drivers: there no pod can use claims. */
export function createDra(settings: DraSettings, ports: DraPorts): KubeletDra | undefined {
  const { clock, timeline, registry, nodeName, rootDir, random, gates, durable, dra, stopping } = settings;
  // The sockets of another machine cannot be reached from here.
  const reach = dra?.open ?? (settings.isOwnMachine ? openGrpcDriver : undefined);
  if (dra?.api === undefined || reach === undefined) return undefined;
  const open = settings.outside.port('dra', () => reach);
  const manager = new DraManager({
    clock,
    timeline,
    nodeName,
    random,
    open,
    api: dra.api,
    metrics: createDraMetrics(registry),
    rules: {
      allowsSkipping: gates.enabled('DRAOptionalNodeOperations'),
      acceptsPodGroups: gates.enabled('DRAWorkloadResourceClaims'),
    },
    checkpoint: settings.podDirectories ? { rootDir, store: durable } : undefined,
    health: {
      isShown: gates.enabled('ResourceHealthStatus'),
      showsMessages: gates.enabled('ResourceHealthStatusMessage'),
    },
    allSourcesReady: ports.allSourcesReady,
    mayUse: (uid) =>
      ports.activePods().some(({ metadata }) => metadata.uid === uid) || !ports.isRuntimeGone(uid),
    pods: ports.activePods,
    sync: ports.sync,
  });
  registerClaimsInUse(registry, () =>
    manager
      .claims()
      .filter(({ isPrepared }) => isPrepared)
      .map(({ drivers }) => [...drivers.keys()]),
  );
  let isRunning = false;
  return {
    manager,
    registration: new DraRegistration(manager.drivers),
    placement: {
      additions: async (pod, container, signal = stopping.signal) =>
        usesClaims(pod) ? { cdiDevices: await manager.cdiDevices(pod, container, signal) } : {},
    },
    prepare: {
      isNeeded: usesClaims,
      prepare: (pod, signal = stopping.signal) => manager.prepare(pod, signal),
    },
    async start(tasks) {
      await manager.start();
      if (isRunning) return;
      isRunning = true;
      tasks.start('dynamic resources', (signal) => manager.run(signal));
    },
  };
}
