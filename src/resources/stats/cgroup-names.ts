/** The cgroups behind the statistics: those of containers, located where runtimes put them, and those of the node. */
import type { SystemCgroup } from './provider.js';

/** Where a runtime may have put a container or sandbox, most likely first. `parent` is the cgroup of its pod. */
export function cgroupCandidates(parent: string | undefined, id: string): string[] {
  // containerd puts a container without a parent below the name of its namespace.
  const parents = [...(parent === undefined ? [] : [parent.replace(/\/+$/, '')]), '/k8s.io', ''];
  return parents.flatMap((dir) => [
    `${dir}/${id}`,
    `${dir}/cri-containerd-${id}.scope`,
    `${dir}/crio-${id}.scope`,
    `${dir}/crio-${id}`,
  ]);
}

export interface SystemCgroupSettings {
  /** From the configuration; empty for the agent's own cgroup. */
  readonly kubeletCgroups: string;
  readonly runtimeCgroups: string;
  readonly systemCgroups: string;
  /** The cgroup of this process; undefined if unknown. */
  readonly ownCgroup: string | undefined;
  /** When this process started. */
  readonly startedAtMs: number;
  /** The cgroup of all pods; undefined if pods have none. */
  readonly podsCgroup: string | undefined;
}

/** The node's own cgroups by their names in the summary; unconfigured ones are omitted. */
export function systemCgroups(settings: SystemCgroupSettings): SystemCgroup[] {
  const { runtimeCgroups, systemCgroups: misc, podsCgroup, startedAtMs } = settings;
  const kubelet = settings.kubeletCgroups || settings.ownCgroup;
  return [
    ...(kubelet === undefined ? [] : [{ name: 'kubelet' as const, cgroup: kubelet, startedAtMs }]),
    ...(runtimeCgroups === '' ? [] : [{ name: 'runtime' as const, cgroup: runtimeCgroups }]),
    ...(misc === '' ? [] : [{ name: 'misc' as const, cgroup: misc }]),
    ...(podsCgroup === undefined ? [] : [{ name: 'pods' as const, cgroup: podsCgroup }]),
  ];
}
