/** The decisions of the ownership walk: the bits an entry gains, whether the root already matches, and what to report. */
import type { FileFacts } from '../../host/index.js';

const setgid = 0o2000;

/** The new mode of an entry; unchanged for a symbolic link, whose mode has no effect. */
export function ownedMode({ kind, mode }: Pick<FileFacts, 'kind' | 'mode'>, readOnly: boolean): number {
  if (kind === 'symlink') return mode;
  const owned = mode | (readOnly ? 0o440 : 0o660);
  return kind === 'directory' ? owned | 0o110 | setgid : owned;
}

/** Whether `OnRootMismatch` considers the volume already owned by the group. */
export function rootMatches(
  root: Pick<FileFacts, 'kind' | 'mode' | 'gid'>,
  fsGroup: number,
  readOnly: boolean,
): boolean {
  const wanted = setgid | (readOnly ? 0o550 : 0o770);
  return root.kind === 'directory' && root.gid === fsGroup && (root.mode & wanted) === wanted;
}

/** The volume's path from the pod's directory on. */
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
