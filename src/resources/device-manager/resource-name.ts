/** Which names a device plugin may register, and which limits of a container mean devices. */
import {
  type AnyContainer,
  isExtendedResourceName,
  type Pod,
  parseQuantity,
  quantityValue,
} from '../../kube/index.js';
import { devicePluginVersion } from './contracts.js';

/** What a plugin that registers on the agent's own socket is told; undefined if it is taken. */
export function registrationRefusal(version: string, resource: string): string | undefined {
  if (version !== devicePluginVersion) {
    return `requested API version ${JSON.stringify(version)} is not supported by kubelet. Supported version is ["${devicePluginVersion}"]`;
  }
  return isExtendedResourceName(resource) ? undefined : invalidName(resource);
}

/** The same for a plugin whose socket lies in the directory of plugins. */
export function watchedRefusal(versions: readonly string[], resource: string): string | undefined {
  if (!versions.includes(devicePluginVersion)) {
    return `manager version, ${devicePluginVersion}, is not among plugin supported versions [${versions.join(' ')}]`;
  }
  return isExtendedResourceName(resource)
    ? undefined
    : `invalid name of device plugin socket: ${invalidName(resource)}`;
}

function invalidName(resource: string): string {
  return `the ResourceName ${JSON.stringify(resource)} is invalid`;
}

/** Limits that may mean devices, by name; those that a claim stands for are left out. */
export function deviceLimitsOf(pod: Pod, container: AnyContainer): readonly (readonly [string, number])[] {
  const claimed = new Set(
    (pod.status?.extendedResourceClaimStatus?.requestMappings ?? [])
      .filter(({ containerName }) => containerName === container.name)
      .map(({ resourceName }) => resourceName),
  );
  return Object.entries(container.resources?.limits ?? {})
    .filter(([name]) => name.includes('/') && !claimed.has(name))
    .map(([name, amount]): [string, number] => [name, Number(quantityValue(parseQuantity(amount)))])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
