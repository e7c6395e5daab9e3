/** The processes of this machine. */
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import type { ProcessTable } from './process-cgroups.js';

export const linuxProcesses: ProcessTable = {
  ownPid: process.pid,
  ownCgroups: () => readFileSync('/proc/self/cgroup', 'utf8'),
  isInFirstPidNamespace: () => linkOf('/proc/self/ns/pid') === linkOf('/proc/1/ns/pid'),
  isKernelThread: (pid) => linkOf(`/proc/${pid}/exe`) === undefined,
  setOwnOomScoreAdj: (adj) => writeFileSync('/proc/self/oom_score_adj', String(adj)),
};

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
