/** Divides the CPUs of a pod that has them as a whole among its containers. Pure; for the gate PodLevelResourceManagers. */
import { type CpuSet, isSidecar, type Pod } from '../../kube/index.js';
import type { NumaMask } from '../topology-manager/index.js';
import { type CpuState, withEntry, withPodEntry } from './cpu-state.js';
import { exclusiveCpuCount, podLevelCpuCount } from './exclusive-requests.js';
import { availableCpus, type CpuRefusal, type StaticPolicy, smtProblem, takeNear } from './static-policy.js';

export type PodCpuAllocation =
  | { readonly kind: 'kept' | 'given'; readonly state: CpuState; readonly cpus: CpuSet }
  /** The pod gets nothing as a whole: all its containers run in the shared pool. */
  | { readonly kind: 'shared' }
  | CpuRefusal;

const noneForShared: CpuRefusal = {
  kind: 'refused',
  reason: 'EmptyPodSharedPoolError',
  message:
    'pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers',
};
const noneForInit: CpuRefusal = {
  kind: 'refused',
  reason: 'EmptyPodSharedPoolError',
  message: 'pod rejected, pod has shared init containers but no cpus available for them',
};

export function allocatePodCpus(
  policy: StaticPolicy,
  state: CpuState,
  pod: Pod,
  mask: NumaMask | undefined,
): PodCpuAllocation {
  const { uid } = pod.metadata;
  const count = podLevelCpuCount(pod);
  if (count === 0) return { kind: 'shared' };
  const known = state.podEntries.get(uid);
  if (known !== undefined) return { kind: 'kept', state, cpus: known };
  const misaligned = smtProblem(policy, state, count);
  if (misaligned !== undefined) return misaligned;
  const taken = takeNear(policy, availableCpus(policy, state), count, mask);
  if (taken.kind === 'refused') return taken;
  const shares = divide(policy, pod, taken.cpus);
  if ('kind' in shares) return shares;
  let next = withPodEntry(state, uid, taken.cpus);
  for (const [name, cpus] of shares) next = withEntry(next, uid, name, cpus);
  return { kind: 'given', state: next, cpus: taken.cpus };
}

/** Whether some container of the pod would be left without any CPU. */
export function leavesSharedWithoutCpus(pod: Pod): boolean {
  const count = podLevelCpuCount(pod);
  if (count === 0) return false;
  const { initContainers = [], containers } = pod.spec;
  const lasting = [...initContainers.filter(isSidecar), ...containers];
  const exclusive = lasting.map((container) => exclusiveCpuCount(pod, container, { podLevel: true }));
  return exclusive.includes(0) && exclusive.reduce((sum, size) => sum + size, 0) >= count;
}

/** Sidecars keep their CPUs; an ordinary init container uses what they leave; apps divide the same again. */
function divide(policy: StaticPolicy, pod: Pod, all: CpuSet): ReadonlyMap<string, CpuSet> | CpuRefusal {
  const shares = new Map<string, CpuSet>();
  const sharing: string[] = [];
  let left = all;
  for (const container of pod.spec.initContainers ?? []) {
    const count = exclusiveCpuCount(pod, container, { podLevel: true });
    if (count === 0 && isSidecar(container)) sharing.push(container.name);
    else if (count === 0) {
      if (left.isEmpty) return noneForInit;
      shares.set(container.name, left);
    } else {
      const taken = takeNear(policy, left, count, undefined);
      if (taken.kind === 'refused') return taken;
      shares.set(container.name, taken.cpus);
      if (isSidecar(container)) left = left.difference(taken.cpus);
    }
  }
  for (const container of pod.spec.containers) {
    const count = exclusiveCpuCount(pod, container, { podLevel: true });
    if (count === 0) {
      sharing.push(container.name);
      continue;
    }
    const taken = takeNear(policy, left, count, undefined);
    if (taken.kind === 'refused') return taken;
    shares.set(container.name, taken.cpus);
    left = left.difference(taken.cpus);
  }
  if (sharing.length > 0 && left.isEmpty) return noneForShared;
  for (const name of sharing) shares.set(name, left);
  return shares;
}
