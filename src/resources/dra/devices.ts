/** Which devices of its claims a container gets. */
import type { AnyContainer, Pod } from '../../kube/index.js';
import type { ClaimRecord, PreparedDevice } from './contracts.js';
import { claimsOfContainer } from './pod-claims.js';

export interface ClaimDevice extends PreparedDevice {
  readonly driver: string;
}

/** All devices of a claim, by driver. */
export function devicesOfClaim({ drivers }: ClaimRecord): readonly ClaimDevice[] {
  return [...drivers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([driver, { devices = [] }]) => devices.map((device) => ({ ...device, driver })));
}

/** A device without names of requests is for all of them. */
export function isForRequest(
  { requestNames }: Pick<PreparedDevice, 'requestNames'>,
  request: string,
): boolean {
  return request === '' || requestNames.length === 0 || requestNames.includes(request);
}

/** Throws with the reason of CreateContainerConfigError for a claim that nobody has prepared. */
export function cdiDevicesOf(
  pod: Pod,
  container: AnyContainer,
  claimNamed: (namespace: string, name: string) => ClaimRecord | undefined,
): readonly string[] {
  const { namespace } = pod.metadata;
  return claimsOfContainer(pod, container).flatMap(({ claimName, request }) => {
    const claim = claimNamed(namespace, claimName);
    if (claim === undefined) {
      throw new Error(
        `internal error: unable to get claim info for ResourceClaim ${claimName} in namespace ${namespace}`,
      );
    }
    return devicesOfClaim(claim)
      .filter((device) => isForRequest(device, request))
      .flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
  });
}
