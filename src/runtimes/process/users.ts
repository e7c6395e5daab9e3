/** Which user a container runs as: the requested one if the agent may switch to it, else the agent's own. */
import type { LinuxContainerSecurityContext } from '../../cri/index.js';

export interface PasswdEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

export interface ContainerAccount {
  readonly uid: number;
  readonly gid: number;
  /** Supplemental groups: those of its pod, and none of the machine's. */
  readonly groups: readonly number[];
  readonly home: string;
  /** Whether the process must switch to this user; only root can. */
  readonly change: boolean;
}

export interface AgentAccount {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** The valid lines of /etc/passwd. */
export function parsePasswd(text: string): PasswdEntry[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = '', , home = ''] = line.split(':');
    if (name === '' || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return [];
    return [{ name, uid: Number(uid), gid: Number(gid), home }];
  });
}

type WantedUser = Pick<
  LinuxContainerSecurityContext,
  'runAsUser' | 'runAsUsername' | 'runAsGroup' | 'supplementalGroups'
>;

/**
 * `nogroup`. Other runtimes give group 0 to a user unknown to the image, as it owns the image's files; here
 * it would own the machine's files, including those of other pods.
 */
const noGroup = 65_534;

/** The account, or why there is none. */
export function chooseAccount(
  wish: Partial<WantedUser> | undefined,
  agent: AgentAccount,
  users: readonly PasswdEntry[],
): ContainerAccount | string {
  const entry = wish?.runAsUsername ? users.find(({ name }) => name === wish.runAsUsername) : undefined;
  const wantedUid = wish?.runAsUser?.value ?? entry?.uid;
  if (wish?.runAsUsername && wantedUid === undefined) {
    return `no user named "${wish.runAsUsername}" in /etc/passwd of this machine`;
  }
  const uid = wantedUid ?? agent.uid;
  const known = users.find((user) => user.uid === uid);
  const wantedGid = wish?.runAsGroup?.value;
  const gid = wantedGid ?? (uid === agent.uid ? agent.gid : ownGroup(uid, known));
  // Not every system keeps its users in that file.
  const home = known?.home || (uid === agent.uid ? agent.home : '/');
  if (uid === agent.uid && gid === agent.gid) return { uid, gid, groups: [], home, change: false };
  if (agent.uid !== 0) {
    return (
      `the container wants to run as ${uid}:${gid} but nodelet runs as ${agent.uid}:${agent.gid}, ` +
      'and only root can change users: run nodelet as root or remove runAsUser and runAsGroup from the pod'
    );
  }
  const groups = [...new Set(wish?.supplementalGroups ?? [])];
  if (uid !== 0 && [gid, ...groups].includes(0)) {
    return (
      `user ${uid} may not be in group 0: it is the group of root on this machine, which reads files of other pods; ` +
      'remove 0 from runAsGroup, fsGroup and supplementalGroups of the pod'
    );
  }
  return { uid, gid, groups, home, change: true };
}

function ownGroup(uid: number, known: PasswdEntry | undefined): number {
  if (uid === 0) return 0;
  return known === undefined || known.gid === 0 ? noGroup : known.gid;
}
