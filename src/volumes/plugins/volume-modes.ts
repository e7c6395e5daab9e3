/** The user and permissions of a volume's files. */
import { type Pod, podContainers } from '../../kube/index.js';

export const missingDefaultMode = 'no defaultMode used, not even the default value for it';

export function fsGroupOf(pod: Pod): number | undefined {
  return pod.spec.securityContext?.fsGroup;
}

/** The user that all containers run as; undefined if they differ or one does not say. */
export function fsUserOf(pod: Pod): number | undefined {
  let common: number | undefined;
  for (const { container } of podContainers(pod)) {
    const user = container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
    if (user === undefined || (common !== undefined && user !== common)) return undefined;
    common = user;
  }
  return common;
}

/** Credentials are only for their user, if known; the ownership walk adds the group. */
export function credentialMode(pod: Pod, defaultMode: number): number {
  return fsUserOf(pod) !== undefined || fsGroupOf(pod) !== undefined ? 0o600 : defaultMode;
}
