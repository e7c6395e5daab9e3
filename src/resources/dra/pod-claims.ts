/** Which ResourceClaims a pod uses, by its spec and its status. */
import type { AnyContainer, Pod } from '../../kube/index.js';
import { goQuote, parseQuantity } from '../../kube/index.js';

/** A claim of a pod by its name in the cluster. */
export interface NamedClaim {
  /** Its name in `spec.resourceClaims`; undefined for the claim behind extended resources. */
  readonly podClaimName: string | undefined;
  readonly name: string;
  /** Whether it was made for this pod from a template. */
  readonly isFromTemplate: boolean;
}

export type PodClaims =
  | { readonly kind: 'named'; readonly claims: readonly NamedClaim[] }
  | { readonly kind: 'unnamed'; readonly problem: string };

export function usesClaims({ spec, status }: Pod): boolean {
  return (
    (spec.resourceClaims ?? []).length > 0 ||
    (status?.extendedResourceClaimStatus?.resourceClaimName ?? '') !== ''
  );
}

/** A template that needed no claim for this pod has a status without a name, and is left out. */
export function claimsOfPod(pod: Pod): PodClaims {
  const { namespace, name: podName } = pod.metadata;
  const claims: NamedClaim[] = [];
  for (const { name: podClaimName, resourceClaimName, resourceClaimTemplateName } of pod.spec
    .resourceClaims ?? []) {
    if (resourceClaimName !== undefined) {
      claims.push({ podClaimName, name: resourceClaimName, isFromTemplate: false });
      continue;
    }
    const where = goQuote(`${namespace}/${podName}`);
    if (resourceClaimTemplateName === undefined) {
      const claim = `spec.resourceClaim ${goQuote(podClaimName)}`;
      return { kind: 'unnamed', problem: `pod ${where}, ${claim}: none of the supported fields are set` };
    }
    const made = (pod.status?.resourceClaimStatuses ?? []).find(({ name }) => name === podClaimName);
    if (made === undefined) {
      return { kind: 'unnamed', problem: `pod ${where}: ResourceClaim not created yet` };
    }
    if (made.resourceClaimName === undefined) continue;
    claims.push({ podClaimName, name: made.resourceClaimName, isFromTemplate: true });
  }
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName ?? '';
  if (extended !== '') claims.push({ podClaimName: undefined, name: extended, isFromTemplate: false });
  return { kind: 'named', claims };
}

/** What one container uses of a claim. */
export interface ContainerClaim {
  /** Its name in `spec.resourceClaims`; undefined for the claim behind extended resources. */
  readonly podClaimName: string | undefined;
  readonly claimName: string;
  /** Empty for all requests of the claim. */
  readonly request: string;
}

export function claimsOfContainer(pod: Pod, container: AnyContainer): readonly ContainerClaim[] {
  const named = claimsOfPod(pod);
  const names = new Map(
    (named.kind === 'named' ? named.claims : []).map(({ podClaimName, name }) => [podClaimName, name]),
  );
  const direct = (container.resources?.claims ?? []).flatMap(({ name, request = '' }): ContainerClaim[] => {
    const claimName = names.get(name);
    return claimName === undefined ? [] : [{ podClaimName: name, claimName, request }];
  });
  return [...direct, ...extendedClaims(pod, container)];
}

/** Extended resources of the container that a claim stands behind. */
function extendedClaims(pod: Pod, container: AnyContainer): readonly ContainerClaim[] {
  const { requestMappings = [], resourceClaimName: claimName = '' } =
    pod.status?.extendedResourceClaimStatus ?? {};
  if (claimName === '') return [];
  return requestMappings.flatMap(({ containerName, resourceName, requestName }): ContainerClaim[] =>
    containerName === container.name && isRequested(container, resourceName)
      ? [{ podClaimName: undefined, claimName, request: requestName }]
      : [],
  );
}

/** Whether a claim, and not a device plugin, gives the container this resource. */
export function isBackedByClaim({ status }: Pod, containerName: string, resourceName: string): boolean {
  return (status?.extendedResourceClaimStatus?.requestMappings ?? []).some(
    (mapping) => mapping.containerName === containerName && mapping.resourceName === resourceName,
  );
}

function isRequested({ resources }: AnyContainer, resourceName: string): boolean {
  const requests = resources?.requests ?? {};
  const amount = Object.hasOwn(requests, resourceName) ? requests[resourceName] : undefined;
  return amount !== undefined && parseQuantity(amount).nanos !== 0n;
}
