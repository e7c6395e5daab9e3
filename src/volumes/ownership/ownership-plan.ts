/** What the ownership walk decides: which bits an entry gains, whether a root matches already, and what is told of it. */
import type { FileFacts } from '../../host/index.js';

const setgid = 0o2000;

/** The mode that an entry gets; its own for a symbolic link, which has none to speak of. */
export function ownedMode({ kind, mode }: Pick<FileFacts, 'kind' | 'mode'>, readOnly: boolean): number {
  if (kind === 'symlink') return mode;
  const owned = mode | (readOnly ? 0o440 : 0o660);
  return kind === 'directory' ? owned | 0o110 | setgid : owned;
}

/** Whether the policy `OnRootMismatch` takes the whole volume as given to the group already. */
export function rootMatches(
  root: Pick<FileFacts, 'kind' | 'mode' | 'gid'>,
  fsGroup: number,
  readOnly: boolean,
): boolean {
  const wanted = setgid | (readOnly ? 0o550 : 0o770);
  return root.kind === 'directory' && root.gid === fsGroup && (root.mode & wanted) === wanted;
}

/** The volume's path without what lies above the pod's directory. */
export function reportedDirectory(directory: string, podUid: string): string {
  const start = podUid === '' ? -1 : directory.indexOf(podUid);
  return start === -1 ? directory : directory.slice(start);
}

export function slowWalkText(reported: string): string {
  return `Setting volume ownership for ${reported} is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods`;
}

export function walkProgressText(reported: string, entries: number): string {
  return `Setting volume ownership for ${reported}, processed ${entries} files.`;
}
