/** The cgroups of the agent's pods, as its configuration wants them. */
import { systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import type { PodCgroups as KubeletCgroups } from '../kubelet/index.js';
import type { Registry } from '../metrics/index.js';
import {
  type CgroupControl,
  CgroupfsControl,
  CgroupNames,
  cgroupfsNaming,
  cgroupRootProblem,
  createCgroupMetrics,
  createMemoryQosMetrics,
  enforceReserved,
  linuxCgroups,
  NodeCgroups,
  PodCgroupManager,
  reservedPlans,
  SystemdControl,
  systemdNaming,
} from '../resources/cgroups/index.js';
import type { MachineFacts } from '../runtime-manager/config/index.js';
import { describeError, type Timeline } from '../timeline/index.js';
import { machineLimits, onlineCpus, unreservedLimits } from './cgroup-limits.js';
import { limitsOfPods, makesPodCgroups, memoryQosOf, podCgroupSettings } from './cgroup-settings.js';
import { StartFailure } from './start-failure.js';
import { openSlices } from './systemd-slices.js';

export interface CgroupsOptions {
  readonly configuration: LoadedConfiguration;
  readonly cgroupDriver: string;
  readonly host: MachineFacts;
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  /** Names the system bus. */
  readonly environment: NodeJS.ProcessEnv;
}

export interface AgentCgroups {
  readonly pods: KubeletCgroups;
  /** Makes the cgroups that pods need before they start; undefined where the agent makes none. Throws if it cannot. */
  readonly prepare?: () => Promise<void>;
  /** Keeps them up. */
  readonly run?: (signal: AbortSignal) => Promise<void>;
  /** The cgroup that all pods are in. */
  readonly podsCgroup: string;
  /** Waits for cgroups that are being removed. */
  stop(): Promise<void>;
}

/**
 * Undefined: the runtime decides where containers are put. Without a cluster nobody counts on cgroups of pods, so the
 * agent makes them only when they are asked for by name. Throws a StartFailure for a root that is not there.
 */
export async function openCgroups(options: CgroupsOptions): Promise<AgentCgroups | undefined> {
  try {
    return await configuredCgroups(options);
  } catch (error) {
    throw new StartFailure(describeError(error), { cause: error });
  }
}

async function configuredCgroups(options: CgroupsOptions): Promise<AgentCgroups | undefined> {
  const { configuration, cgroupDriver } = options;
  const { config } = configuration;
  if (!makesPodCgroups(configuration))
    return config.cgroupsPerQOS ? undefined : oneCgroup(config.cgroupRoot, cgroupDriver);
  const { cgroupVersion: version, hugePageSizes } = options.host;
  if (cgroupDriver !== 'systemd')
    return qosCgroups(options, new CgroupfsControl(linuxCgroups({ version, hugePageSizes })));
  const slices = await openSlices(options.environment, options.timeline);
  const hierarchy = linuxCgroups({ version, hugePageSizes, withSystemd: true });
  const cgroups = qosCgroups(options, new SystemdControl(hierarchy, slices.units));
  return {
    ...cgroups,
    async stop() {
      await cgroups.stop();
      await slices.close();
    },
  };
}

/** Throws for a root that is not there. */
function qosCgroups(
  { configuration, host, nodeName, timeline, registry }: CgroupsOptions,
  control: CgroupControl,
): AgentCgroups {
  const { config, featureGates } = configuration;
  const problem = cgroupRootProblem(control, config.cgroupRoot);
  if (problem !== undefined) throw new Error(problem);
  const names = new CgroupNames(config.cgroupRoot);
  const memoryQos = memoryQosOf(configuration, {
    version: control.version,
    pageSizeBytes: host.pageSizeBytes,
  });
  const hasMemoryQos = memoryQos !== undefined;
  const capacity = machineLimits(host.memoryCapacityBytes);
  const unreserved = unreservedLimits(capacity, config);
  const reservedPercent = featureGates.enabled('QOSReserved')
    ? Number.parseInt(config.qosReserved.memory ?? '0', 10)
    : 0;
  // Zero on a node that protects no memory, as dashboards expect.
  const memoryQosMetrics = createMemoryQosMetrics(registry);
  const shared = { clock: systemClock, timeline, control, names };
  const pods = new PodCgroupManager({
    ...shared,
    settings: podCgroupSettings(configuration, memoryQos),
    tiers: {
      memoryQos,
      ...(reservedPercent === 0
        ? {}
        : { withheldMemory: { percent: reservedPercent, allocatableBytes: unreserved.memoryBytes } }),
    },
    kill: (pid) => void process.kill(pid, 'SIGKILL'),
    metrics: createCgroupMetrics(registry),
    memoryQosMetrics: memoryQos?.policy === 'TieredReservation' ? memoryQosMetrics : undefined,
  });
  const enforced = config.enforceNodeAllocatable;
  const cpus = onlineCpus();
  const node = new NodeCgroups({
    ...shared,
    nodeName,
    pods,
    cpus,
    hasMemoryQos,
    limits: limitsOfPods(configuration, capacity),
  });
  return {
    pods,
    prepare: async () => {
      await node.prepare();
      await enforceReserved(reservedPlans({ ...config, enforced }), {
        timeline,
        nodeName,
        control,
        cpus,
        protectsMemory: hasMemoryQos,
        update: (name, values) => pods.update(name, values),
      });
    },
    run: (signal) => node.run(signal),
    podsCgroup: control.naming.pathOf(names.pods),
    stop: () => pods.stop(),
  };
}

/** One cgroup that all containers of all pods are put in. */
function oneCgroup(root: string, cgroupDriver: string): AgentCgroups | undefined {
  const naming = cgroupDriver === 'systemd' ? systemdNaming : cgroupfsNaming;
  const parent = naming.pathOf(cgroupfsNaming.nameOf(root));
  if (parent === '/') return undefined;
  return {
    pods: {
      list: async () => [],
      exists: async () => true,
      ensure: async () => {},
      destroy: async () => {},
      destroyLater: () => {},
      minimizeCpu: async () => {},
      parentOf: () => parent,
    },
    podsCgroup: parent,
    stop: async () => {},
  };
}
