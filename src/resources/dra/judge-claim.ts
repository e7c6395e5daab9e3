/** Decides whether a pod may use a claim, and which drivers have to prepare it. */
import type { Pod } from '../../kube/index.js';
import type { ResourceClaim } from '../../kube-client/index.js';
import type { NamedClaim } from './pod-claims.js';

export interface ClaimRules {
  /** Whether drivers may do without calls of this node: the gate DRAOptionalNodeOperations. */
  readonly allowsSkipping: boolean;
}

export type JudgedClaim =
  | {
      readonly kind: 'usable';
      readonly uid: string;
      /** Calls that each driver does not want. */
      readonly drivers: ReadonlyMap<string, readonly string[]>;
    }
  | { readonly kind: 'refused'; readonly problem: string };

export type NodeOperation = 'NodePrepareResources' | 'NodeUnprepareResources';

export function isSkipped(skipNodeOperations: readonly string[], operation: NodeOperation): boolean {
  return skipNodeOperations.includes('*') || skipNodeOperations.includes(operation);
}

export function judgeClaim(
  pod: Pod,
  { name, isFromTemplate }: NamedClaim,
  { metadata, status }: ResourceClaim,
  { allowsSkipping }: ClaimRules,
): JudgedClaim {
  const { namespace, name: podName, uid: podUid } = pod.metadata;
  const refused = (problem: string): JudgedClaim => ({ kind: 'refused', problem });
  const isOwned = (metadata.ownerReferences ?? []).some(
    ({ controller, uid }) => controller === true && uid === podUid,
  );
  if (isFromTemplate && !isOwned) {
    const who = `${namespace}/${podName}`;
    return refused(`ResourceClaim ${namespace}/${name} was not created for Pod ${who} (Pod is not owner)`);
  }
  const { uid = '' } = metadata;
  if (!(status?.reservedFor ?? []).some((user) => user.uid === podUid)) {
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
