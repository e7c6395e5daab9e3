/** Builds the device manager: gives it the configuration, the machine, the pods and the runtime. */
import { dirname } from 'node:path/posix';
import { ContainerState, type CriRuntime, criLabels } from '../../cri/index.js';
import type { Pod, ResourceStatus } from '../../kube/index.js';
import type { PluginHandler } from '../../plugins/index.js';
import {
  createDeviceManagerMetrics,
  type DeviceCapacity,
  DeviceManager,
  DeviceRegistration,
  openDevicePlugin,
  serveDeviceRegistration,
} from '../../resources/device-manager/index.js';
import type { ContainerPlacement } from '../../runtime-manager/index.js';
import type { DevicesInUse } from '../admission/node-fit.js';
import type { KubeletSettings } from '../settings.js';
import { labelPluginDirectories } from '../start-up/plugin-labels.js';

/** How long a pod waits for a device plugin that has not registered yet. */
export const defaultDevicePluginWaitMs = 120_000;

export interface NodeDevices {
  /** Also the provider of hints. */
  readonly manager: DeviceManager;
  readonly placement: ContainerPlacement;
  /** Takes plugins of the type DevicePlugin. */
  readonly handler: PluginHandler;
  readonly capacity: () => DeviceCapacity;
  /** Whether devices of this or an earlier run are known: then the node's record of them is left alone. */
  readonly isKnown: () => boolean;
  readonly inUse: DevicesInUse;
  readonly health: (podUid: string, container: string) => ResourceStatus[] | undefined;
  readonly check: () => string | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface DeviceManagerPorts {
  readonly allSourcesReady: () => boolean;
  /** The pod if it is active. */
  readonly activePod: (uid: string) => Pod | undefined;
  readonly sync: (uids: readonly string[]) => void;
}

type DeviceManagerSettings = Pick<
  KubeletSettings,
  | 'clock'
  | 'timeline'
  | 'registry'
  | 'durable'
  | 'machine'
  | 'cri'
  | 'stopping'
  | 'standaloneNode'
  | 'devicePlugins'
  | 'podDirectories'
> &
  Parameters<typeof labelPluginDirectories>[0];

/** Undefined where device plugins are not wanted. */
export async function createDeviceManager(
  settings: DeviceManagerSettings,
  ports: DeviceManagerPorts,
  /** The ids of the machine's NUMA nodes, ascending; empty where nobody asks for hints. */
  machineNodes: readonly number[],
): Promise<NodeDevices | undefined> {
  const { clock, timeline, registry, durable, machine, cri, stopping, standaloneNode } = settings;
  const { devicePlugins } = settings;
  if (devicePlugins === undefined || !settings.podDirectories) return undefined;
  const { directory, waitMs = defaultDevicePluginWaitMs } = devicePlugins;
  const metrics = registry.once(createDeviceManagerMetrics);
  const manager: DeviceManager = new DeviceManager({
    clock,
    timeline,
    open: settings.outside.port('device plugins', () => devicePlugins.open ?? openDevicePlugin),
    checkpoint: { directory, store: durable },
    metrics,
    waitMs,
    machineNodes,
    allSourcesReady: ports.allSourcesReady,
    isActive: (uid) => ports.activePod(uid) !== undefined,
    sync: ports.sync,
    onChange: () => void capacity(),
  });
  let told = '';
  const capacity = (): DeviceCapacity => {
    const now = manager.capacity();
    const text = JSON.stringify(now);
    if (text !== told) standaloneNode?.setDevices(now);
    told = text;
    return now;
  };
  const registration = new DeviceRegistration({
    directory,
    host: machine,
    serve: settings.outside.port('device registration', () => devicePlugins.serve ?? serveDeviceRegistration),
    plugins: manager.plugins,
    metrics,
  });
  // The agent's own socket lies there later, so only the first look tells of earlier runs.
  const hadEntries = await hasEntries(settings, directory);
  let isStarted = false;
  return {
    manager,
    placement: {
      additions: (pod, container, signal = stopping.signal) => manager.additions(pod, container, signal),
    },
    handler: registration.handler,
    capacity,
    isKnown: () => hadEntries || manager.hasDevices,
    inUse: (uid) => manager.inUse(uid),
    health: (uid, container) => manager.health(uid, container),
    check: () => registration.health(),
    async start() {
      if (!isStarted) await manager.start(await runningContainers(cri));
      isStarted = true;
      await labelPluginDirectories(settings, [directory]);
      await registration.start();
      capacity();
    },
    async stop() {
      await registration.stop();
      await manager.stop();
    },
  };
}

/** A directory that cannot be read may hold something. */
async function hasEntries({ machine }: DeviceManagerSettings, directory: string): Promise<boolean> {
  try {
    await machine.files.mkdir(directory, { mode: 0o755, recursive: true });
    // The record in it is there after a power cut only if the directory is.
    await machine.files.syncDirectory(dirname(directory));
    const names = await machine.files.readdir(directory);
    return names.some((name) => !name.startsWith('.'));
  } catch {
    return true;
  }
}

/** Nothing counts as running where the runtime does not tell. */
async function runningContainers(
  cri: Pick<CriRuntime, 'listContainers'>,
): Promise<readonly { readonly podUid: string; readonly name: string }[]> {
  try {
    const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
    const { containers } = await cri.listContainers({ filter });
    return containers.flatMap(({ labels }) => {
      const podUid = labels[criLabels.podUid];
      const name = labels[criLabels.containerName];
      return podUid === undefined || name === undefined ? [] : [{ podUid, name }];
    });
  } catch {
    return [];
  }
}
