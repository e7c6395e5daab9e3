/** Decides whether a pod may use a claim, and which drivers have to prepare it. */
import type { Pod } from '../../kube/index.js';
import type { ResourceClaim } from '../../kube-client/index.js';
import type { NamedClaim } from './pod-claims.js';

export interface ClaimRules {
  /** Whether drivers may do without calls of this node: the gate DRAOptionalNodeOperations. */
  readonly allowsSkipping: boolean;
  /** Whether a claim may belong to the PodGroup of its pods: the gate DRAWorkloadResourceClaims. */
  readonly acceptsPodGroups: boolean;
}

export type JudgedClaim =
  | {
      readonly kind: 'usable';
      readonly uid: string;
      /** Calls that each driver does not want. */
      readonly drivers: ReadonlyMap<string, readonly string[]>;
    }
  | { readonly kind: 'refused'; readonly problem: string };

/** The API group of PodGroups. */
const schedulingGroup = 'scheduling.k8s.io';

export type NodeOperation = 'NodePrepareResources' | 'NodeUnprepareResources';

export function isSkipped(skipNodeOperations: readonly string[], operation: NodeOperation): boolean {
  return skipNodeOperations.includes('*') || skipNodeOperations.includes(operation);
}

export function judgeClaim(
  pod: Pod,
  { name, isFromTemplate }: NamedClaim,
  { metadata, status }: ResourceClaim,
  { allowsSkipping, acceptsPodGroups }: ClaimRules,
): JudgedClaim {
  const { namespace, name: podName, uid: podUid } = pod.metadata;
  const refused = (problem: string): JudgedClaim => ({ kind: 'refused', problem });
  const group = acceptsPodGroups ? pod.spec.schedulingGroup?.podGroupName : undefined;
  const isOwned = (metadata.ownerReferences ?? []).some(
    ({ controller, uid, apiVersion, kind, name: owner }) =>
      controller === true &&
      (uid === podUid ||
        (group !== undefined &&
          kind === 'PodGroup' &&
          owner === group &&
          apiVersion.startsWith(`${schedulingGroup}/`))),
  );
  if (isFromTemplate && !isOwned) {
    const who = `${namespace}/${podName}`;
    const nobody =
      group === undefined ? 'Pod is not owner' : `neither Pod nor PodGroup ${group} is the owner`;
    return refused(`ResourceClaim ${namespace}/${name} was not created for Pod ${who} (${nobody})`);
  }
  const { uid = '' } = metadata;
  const isReserved = (status?.reservedFor ?? []).some(
    (user) =>
      user.uid === podUid ||
      (group !== undefined &&
        user.apiGroup === schedulingGroup &&
        user.resource === 'podgroups' &&
        user.name === group),
  );
  if (!isReserved) {
    return refused(`pod ${podName} (${podUid}) is not allowed to use ResourceClaim ${name} (${uid})`);
  }
  if (status?.allocation === undefined) return refused(`ResourceClaim ${name}: not allocated`);
  const drivers = driversOf(status.allocation.devices?.results ?? []);
  const wantsSkipping = [...drivers.values()].some((skipped) => skipped.length > 0);
  if (wantsSkipping && !allowsSkipping) {
    return refused(`ResourceClaim ${name}: DRAOptionalNodeOperations feature gate is disabled on kubelet`);
  }
  return { kind: 'usable', uid, drivers };
}

/** A call is left out only if all of the driver's devices can do without it. */
export function driversOf(
  results: readonly { readonly driver: string; readonly skipNodeOperations?: readonly string[] }[],
): ReadonlyMap<string, readonly string[]> {
  const drivers = new Map<string, readonly string[]>();
  for (const { driver, skipNodeOperations = [] } of results) {
    const known = drivers.get(driver);
    drivers.set(driver, known === undefined ? skipNodeOperations : skippedByBoth(known, skipNodeOperations));
  }
  return new Map([...drivers].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function skippedByBoth(one: readonly string[], other: readonly string[]): readonly string[] {
  if (one.includes('*')) return other;
  if (other.includes('*')) return one;
  return one.filter((operation) => other.includes(operation));
}
