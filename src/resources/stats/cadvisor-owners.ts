/** Tells whose a cgroup is: the runtime's containers and sandboxes by their ids, and the pods that they are in. */
import { posix } from 'node:path';
import {
  ContainerState,
  type Container as CriContainer,
  criLabels,
  type PodSandbox,
  PodSandboxState,
} from '../../cri/index.js';
import type { SubjectLabels } from './cadvisor-subject.js';

/** A container or a sandbox that the runtime lists. */
export interface CgroupOwner {
  readonly id: string;
  readonly isSandbox: boolean;
  /** One that does not run may have no cgroup any more. */
  readonly isRunning: boolean;
  readonly podUid: string;
  readonly labels: Omit<SubjectLabels, 'id'>;
  readonly createdMs: number;
}

const msOf = (ns: bigint): number => Number(ns / 1_000_000n);

/** Only what runs has a cgroup of its own. `sandboxImage` is empty where the runtime does not tell. */
export function ownersOf(
  sandboxes: readonly PodSandbox[],
  containers: readonly CriContainer[],
  sandboxImage: (id: string) => string,
): Map<string, CgroupOwner> {
  const found = new Map<string, CgroupOwner>();
  for (const { id, metadata, createdAt, state } of sandboxes) {
    const isRunning = state === PodSandboxState.SANDBOX_READY;
    const { name: pod = '', namespace = '', uid = '' } = metadata ?? {};
    const labels = { namespace, pod, container: '', image: sandboxImage(id), name: id };
    found.set(id, { id, isSandbox: true, isRunning, podUid: uid, labels, createdMs: msOf(createdAt) });
  }
  for (const { id, podSandboxId, state, labels: given, metadata, image, imageRef, createdAt } of containers) {
    const sandbox = found.get(podSandboxId);
    if (state !== ContainerState.CONTAINER_RUNNING || sandbox === undefined) continue;
    const labels = {
      namespace: sandbox.labels.namespace ?? '',
      pod: sandbox.labels.pod ?? '',
      container: given[criLabels.containerName] ?? metadata?.name ?? '',
      image: image?.userSpecifiedImage || image?.image || imageRef,
      name: id,
    };
    const { podUid } = sandbox;
    found.set(id, { id, isSandbox: false, isRunning: true, podUid, labels, createdMs: msOf(createdAt) });
  }
  return found;
}

/** Runtimes name a cgroup by the id of the container, maybe with a prefix and `.scope`. */
const idInName = /(?:^|-)([a-z0-9]{64})(?:\.scope)?$/;

/** Whether the cgroup is named like a container's. */
export function isNamedById(cgroup: string): boolean {
  return idInName.test(posix.basename(cgroup));
}

/** The owner by the name of the cgroup; a runtime's helper beside a container, such as conmon, is none. */
function ownerByName(cgroup: string, owners: ReadonlyMap<string, CgroupOwner>): CgroupOwner | undefined {
  const base = posix.basename(cgroup);
  if (base.startsWith('crio-conmon')) return undefined;
  return owners.get(base) ?? owners.get(idInName.exec(base)?.[1] ?? '');
}

export interface OwnedCgroups {
  readonly owners: ReadonlyMap<string, CgroupOwner>;
  readonly pods: ReadonlyMap<string, Pick<SubjectLabels, 'namespace' | 'pod'>>;
  /** Those whose cgroup was not found. */
  readonly homeless: readonly CgroupOwner[];
}

export interface OwnedCgroupsInput {
  /** From the top down, so that a cgroup that a container made and named like another's is not taken for it. */
  readonly listed: readonly string[];
  readonly owners: ReadonlyMap<string, CgroupOwner>;
  /** Where else a container may be; undefined if it is nowhere. */
  readonly elsewhere: (owner: CgroupOwner) => string | undefined;
  readonly podCgroup: (uid: string) => string | undefined;
  /** The cgroup of all pods; undefined if there is none. */
  readonly podsCgroup: string | undefined;
}

export function ownedCgroups(input: OwnedCgroupsInput): OwnedCgroups {
  const { listed, owners, elsewhere, podCgroup, podsCgroup } = input;
  const found = new Map<string, CgroupOwner>();
  const settled = new Set<string>();
  const settle = (cgroup: string, owner: CgroupOwner): void => {
    if (settled.has(owner.id)) return;
    settled.add(owner.id);
    found.set(cgroup, owner);
  };
  for (const cgroup of listed) {
    const owner = ownerByName(cgroup, owners);
    if (owner !== undefined) settle(cgroup, owner);
  }
  const homeless: CgroupOwner[] = [];
  for (const owner of owners.values()) {
    const cgroup = settled.has(owner.id) ? undefined : elsewhere(owner);
    if (cgroup !== undefined) settle(cgroup, owner);
    if (!settled.has(owner.id)) homeless.push(owner);
  }
  const pods = new Map<string, Pick<SubjectLabels, 'namespace' | 'pod'>>();
  for (const [cgroup, { podUid, labels }] of found) {
    const own = podCgroup(podUid) ?? posix.dirname(cgroup);
    const isOwn = podsCgroup !== undefined && own.startsWith(`${podsCgroup}/`);
    if (isOwn) pods.set(own, { namespace: labels.namespace ?? '', pod: labels.pod ?? '' });
  }
  return { owners: found, pods, homeless };
}
