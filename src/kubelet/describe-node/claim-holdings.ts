/** Says which devices of ResourceClaims each container has, for the description of the node. */
import type { Pod } from '../../kube/index.js';
import {
  type ClaimRecord,
  claimsOfContainer,
  devicesOfClaim,
  isForRequest,
} from '../../resources/dra/index.js';
import type { ContainerHolding, HeldDevices, ResourceHoldings } from './contracts.js';

/** A claim that several containers use is told of at each of them. */
export function claimHoldings(
  pods: readonly Pod[],
  claimNamed: (namespace: string, name: string) => ClaimRecord | undefined,
): ResourceHoldings {
  const held = pods.flatMap((pod) => {
    const { uid: podUid, namespace } = pod.metadata;
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    return containers.flatMap((container): ContainerHolding[] => {
      const devices = claimsOfContainer(pod, container).flatMap(({ claimName, request }): HeldDevices[] => {
        const claim = claimNamed(namespace, claimName);
        const given = claim === undefined ? [] : devicesOfClaim(claim);
        const ids = given
          .filter((device) => isForRequest(device, request))
          .map(({ driver, poolName, deviceName }) => `${driver}/${poolName}/${deviceName}`);
        return ids.length === 0 ? [] : [{ resource: `claim ${claimName}`, ids }];
      });
      return devices.length === 0 ? [] : [{ podUid, container: container.name, devices }];
    });
  });
  return { held };
}
