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

/** The user that owns a file, by what its item says; undefined leaves it to the agent's own user. */
export type FileOwner = (user: number | undefined) => number | undefined;

/** An item's own user goes before the volume's. While pods may choose neither, nobody is chosen. */
export function fileOwner(allowsUsers: boolean, defaultUser: number | undefined): FileOwner {
  return (user) => (allowsUsers ? (user ?? defaultUser) : undefined);
}

/** Credentials are only for their user, if known; the ownership walk adds the group. */
export function credentialMode(pod: Pod, defaultMode: number, user = fsUserOf(pod)): number {
  return user !== undefined || fsGroupOf(pod) !== undefined ? 0o600 : defaultMode;
}

/** The owner as files of a payload have it. */
export function ownedBy(user: number | undefined): { readonly fsUser?: number } {
  return user === undefined ? {} : { fsUser: user };
}
