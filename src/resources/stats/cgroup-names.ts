/** Which cgroups the statistics are about: those of containers, found where runtimes put them, and those of the node itself. */
import type { SystemCgroup } from './provider.js';

/** Where a runtime may have put a container or a sandbox, the likeliest first. `parent` is the cgroup of its pod. */
export function cgroupCandidates(parent: string | undefined, id: string): string[] {
  // containerd puts a container without a parent below the name of its namespace.
  const parents = [...(parent === undefined ? [] : [parent.replace(/\/+$/, '')]), '/k8s.io', ''];
  return parents.flatMap((folder) => [
    `${folder}/${id}`,
    `${folder}/cri-containerd-${id}.scope`,
    `${folder}/crio-${id}.scope`,
    `${folder}/crio-${id}`,
  ]);
}

export interface SystemCgroupSettings {
  /** Of the configuration; empty where the agent's own cgroup counts. */
  readonly kubeletCgroups: string;
  readonly runtimeCgroups: string;
  readonly systemCgroups: string;
  /** The cgroup that this process is in; undefined where that is not known. */
  readonly ownCgroup: string | undefined;
  /** When this process started. */
  readonly startedAtMs: number;
  /** The cgroup of all pods; undefined where pods have none. */
  readonly podsCgroup: string | undefined;
}

/** The node's own cgroups by the names that the summary gives them; what is not configured is left out. */
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
