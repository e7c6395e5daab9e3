/** What a container's status tells of the health of its claims' devices. */
import type { AnyContainer, Pod, ResourceStatus } from '../../kube/index.js';
import type { ClaimRecord } from './contracts.js';
import { devicesOfClaim } from './devices.js';
import type { HealthName } from './health.js';
import { claimsOfContainer } from './pod-claims.js';

export interface HealthSources {
  claim(namespace: string, name: string): ClaimRecord | undefined;
  health(
    driver: string,
    pool: string,
    device: string,
  ): { readonly health: HealthName; readonly message: string };
  /** The gate ResourceHealthStatusMessage. */
  readonly showsMessages: boolean;
}

/** Extended resources behind which a claim stands are not told of, as in the reference kubelet. */
export function claimHealth(pod: Pod, container: AnyContainer, sources: HealthSources): ResourceStatus[] {
  return claimsOfContainer(pod, container).flatMap(
    ({ podClaimName, claimName, request }): ResourceStatus[] => {
      const claim = sources.claim(pod.metadata.namespace, claimName);
      if (podClaimName === undefined || claim === undefined) return [];
      const resources = new Map(
        devicesOfClaim(claim)
          .filter(({ requestNames }) => isFor(requestNames, request))
          .map(({ driver, poolName, deviceName, cdiDeviceIds }) => {
            const resourceID = cdiDeviceIds[0] ?? `${driver}/${poolName}/${deviceName}`;
            const { health, message } = sources.health(driver, poolName, deviceName);
            const told = message === '' || !sources.showsMessages ? {} : { message };
            return [resourceID, { resourceID, health, ...told }];
          }),
      );
      if (resources.size === 0) return [];
      const name = `claim:${podClaimName}${request === '' ? '' : `/${request}`}`;
      return [{ name, resources: [...resources.values()] }];
    },
  );
}

/** Of a request with alternatives, such as `gpu/large`, only the first part counts. */
function isFor(requestNames: readonly string[], request: string): boolean {
  if (request === '' || requestNames.length === 0) return true;
  return requestNames.some((name) => name === request || name.split('/')[0] === request);
}
