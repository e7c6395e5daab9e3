/** The cgroups of the agent's pods, as its configuration wants them. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import { quantityMillis, quantityUnits } from '../kube/index.js';
import type { PodCgroups as KubeletCgroups, StartManager } from '../kubelet/index.js';
import type { Registry } from '../metrics/index.js';
import { nodeReservation, type ReservationSettings } from '../node/index.js';
import {
  CgroupNames,
  cgroupRootProblem,
  linuxCgroups,
  NodeCgroups,
  type NodeLimits,
  PodCgroupManager,
} from '../resources/cgroups/index.js';
import type { MachineFacts } from '../runtime-manager/config/index.js';
import { describeError, type Timeline } from '../timeline/index.js';
import { StartFailure } from './start-failure.js';

export interface CgroupsOptions {
  readonly configuration: LoadedConfiguration;
  readonly cgroupDriver: string;
  readonly host: MachineFacts;
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
}

export interface AgentCgroups {
  readonly pods: KubeletCgroups;
  /** Makes the cgroups of all pods and keeps them up; undefined where the agent makes none. */
  readonly containerManager: StartManager | undefined;
  /** The cgroup that all pods are in. */
  readonly podsCgroup: string;
  /** Waits for cgroups that are being removed. */
  stop(): Promise<void>;
}

/** Setting any of these opts in to pod cgroups. */
const cgroupFields = ['cgroupsPerQOS', 'cgroupRoot', 'enforceNodeAllocatable', 'podPidsLimit'];

/**
 * Undefined: the runtime decides where containers are put. Without a cluster nobody counts on cgroups of pods, so the
 * agent makes them only when they are asked for by name. Throws a StartFailure for a root that is not there.
 */
export function openCgroups(options: CgroupsOptions): AgentCgroups | undefined {
  try {
    return configuredCgroups(options);
  } catch (error) {
    throw new StartFailure(describeError(error), { cause: error });
  }
}

function configuredCgroups(options: CgroupsOptions): AgentCgroups | undefined {
  const { configuration, cgroupDriver, timeline } = options;
  const { config, standalone, explicit } = configuration;
  const isNamed = cgroupFields.some((field) => explicit.has(field));
  const isWanted = config.cgroupsPerQOS && (!standalone || isNamed);
  if (!isWanted) return config.cgroupsPerQOS ? undefined : oneCgroup(config.cgroupRoot);
  if (cgroupDriver !== 'cgroupfs') {
    const message = `pods get no cgroups of their own: with the cgroup driver ${cgroupDriver} this build makes none`;
    timeline.record({ kind: 'problem', what: 'cgroup.driver', message });
    return undefined;
  }
  for (const level of config.enforceNodeAllocatable.filter((name) => name !== 'pods' && name !== 'none')) {
    const message = `enforceNodeAllocatable: ${level} has no effect: this build bounds pods only`;
    timeline.record({ kind: 'problem', what: 'cgroup.enforce', message });
  }
  return qosCgroups(options);
}

/** Throws for a root that is not there. */
function qosCgroups({ configuration, host, nodeName, timeline, registry }: CgroupsOptions): AgentCgroups {
  const { config } = configuration;
  const hierarchy = linuxCgroups({ version: host.cgroupVersion, hugePageSizes: host.hugePageSizes });
  const problem = cgroupRootProblem(hierarchy, config.cgroupRoot);
  if (problem !== undefined) throw new Error(problem);
  const names = new CgroupNames(config.cgroupRoot);
  const durations = registry.histogram(
    'kubelet_cgroup_manager_duration_seconds',
    'Duration in seconds for cgroup manager operations. Broken down by method.',
    ['operation_type'],
  );
  const shared = { clock: systemClock, timeline, hierarchy, names };
  const pods = new PodCgroupManager({
    ...shared,
    settings: {
      cpuCfsQuota: config.cpuCFSQuota,
      cpuCfsQuotaPeriodMs: config.cpuCFSQuotaPeriod,
      podPidsLimit: config.podPidsLimit,
    },
    kill: (pid) => void process.kill(pid, 'SIGKILL'),
    observe: (operation, seconds) => durations.observe(seconds, { operation_type: operation }),
  });
  const enforces = config.enforceNodeAllocatable.includes('pods');
  const node = new NodeCgroups({
    ...shared,
    nodeName,
    pods,
    enforces,
    limits: enforces ? unreservedLimits(machineLimits(host), config) : machineLimits(host),
  });
  return {
    pods,
    containerManager: async (tasks) => {
      node.prepare();
      tasks.start('the cgroups of all pods', (signal) => node.run(signal));
    },
    podsCgroup: names.pods,
    stop: () => pods.stop(),
  };
}

function machineLimits(host: MachineFacts): NodeLimits {
  return {
    milliCpu: availableParallelism() * 1000,
    memoryBytes: host.memoryCapacityBytes,
    pids: Math.min(kernelNumber('pid_max'), kernelNumber('threads-max')),
  };
}

/** The limits without what is reserved. Eviction thresholds are not subtracted: pods must be able to reach them. */
export function unreservedLimits(
  { milliCpu, memoryBytes, pids }: NodeLimits,
  { systemReserved, kubeReserved }: Pick<ReservationSettings, 'systemReserved' | 'kubeReserved'>,
): NodeLimits {
  const reserved = nodeReservation({ systemReserved, kubeReserved, evictionHard: {} }, {});
  return {
    milliCpu: Math.max(0, milliCpu - quantityMillis(reserved.cpu)),
    memoryBytes: Math.max(0, memoryBytes - quantityUnits(reserved.memory)),
    pids: Math.max(0, pids - quantityUnits(reserved.pid)),
  };
}

function kernelNumber(name: string): number {
  return Number(readFileSync(`/proc/sys/kernel/${name}`, 'utf8'));
}

/** One cgroup that all containers of all pods are put in. */
function oneCgroup(root: string): AgentCgroups | undefined {
  if (root === '' || root === '/') return undefined;
  return {
    pods: {
      list: async () => [],
      exists: async () => true,
      ensure: async () => {},
      destroy: async () => {},
      destroyLater: () => {},
      minimizeCpu: async () => {},
      parentOf: () => root,
      memoryProblem: () => undefined,
      resize: () => {},
    },
    containerManager: undefined,
    podsCgroup: root,
    stop: async () => {},
  };
}
