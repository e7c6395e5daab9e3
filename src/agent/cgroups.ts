/** The cgroups that the pods of an agent live in, as its configuration wants them. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import { quantityMillis, quantityUnits } from '../kube/index.js';
import type { PodCgroups as KubeletCgroups, KubeletModules } from '../kubelet/index.js';
import type { Registry } from '../metrics/index.js';
import { nodeReservation, type ReservationSettings } from '../node/index.js';
import {
  CgroupNames,
  cgroupRootProblem,
  linuxCgroups,
  NodeCgroups,
  type NodeLimits,
  PodCgroups,
} from '../resources/cgroups/index.js';
import type { HostFacts } from '../runtime-manager/config/index.js';
import type { Timeline } from '../timeline/index.js';

export interface AgentCgroupsParts {
  readonly loaded: LoadedConfiguration;
  readonly cgroupDriver: string;
  readonly host: HostFacts;
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
}

export interface AgentCgroups {
  readonly pods: KubeletCgroups;
  readonly modules: KubeletModules;
  /** The cgroup that all pods are in. */
  readonly podsCgroup: string;
  /** Awaits what goes on in the background. */
  stop(): Promise<void>;
}

/** Who names one of these wants cgroups. */
const cgroupFields = ['cgroupsPerQOS', 'cgroupRoot', 'enforceNodeAllocatable', 'podPidsLimit'];

/**
 * Undefined: containers are put where the runtime puts them by itself. On a machine without a cluster nobody counts on
 * cgroups of pods, so they are made there only when asked for by name.
 */
export function agentCgroups(parts: AgentCgroupsParts): AgentCgroups | undefined {
  const { loaded, cgroupDriver, timeline } = parts;
  const { config, standalone, explicit } = loaded;
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
  return qosCgroups(parts);
}

/** Throws for a root that is not there. */
function qosCgroups({ loaded, host, nodeName, timeline, registry }: AgentCgroupsParts): AgentCgroups {
  const { config } = loaded;
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
  const pods = new PodCgroups({
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
    modules: {
      containerManager: async (tasks) => {
        node.prepare();
        tasks.start('the cgroups of all pods', (signal) => node.run(signal));
      },
    },
    podsCgroup: names.pods,
    stop: () => pods.stop(),
  };
}

function machineLimits(host: HostFacts): NodeLimits {
  return {
    milliCpu: availableParallelism() * 1000,
    memoryBytes: host.memoryCapacityBytes,
    pids: Math.min(kernelNumber('pid_max'), kernelNumber('threads-max')),
  };
}

/** Without what is kept from pods. What evictions keep free is not taken away here: they could not come to it. */
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

/** All containers of all pods are put side by side below the one that was named. */
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
    modules: {},
    podsCgroup: root,
    stop: async () => {},
  };
}
