/** Ends a cgroup: what still runs in it is killed, then it is removed. */
import { errorText } from '../../async/index.js';
import { codeOf } from './cgroup-files.js';
import type { CgroupControl } from './control.js';
import { type CgroupName, plainName } from './names.js';

const killRounds = 5;

export async function destroyCgroup(
  control: Pick<CgroupControl, 'processes' | 'removeUnused' | 'remove'>,
  name: CgroupName,
  /** Kills a process; throws `ESRCH` if it is gone. */
  kill: (pid: number) => void,
): Promise<void> {
  // The usual end: the runtime has removed what was below. The kernel refuses to remove a cgroup that is in use.
  if (control.removeUnused?.(name) === true) return;
  const failure = killAll(control.processes(name), kill);
  const shown = plainName(name);
  if (failure !== undefined) {
    const text = `failed to kill all the processes attached to the ${shown} cgroups : ${errorText(failure)}`;
    throw new Error(text, { cause: failure });
  }
  try {
    await control.remove(name);
  } catch (error) {
    const text = `failed to delete cgroup paths for ${shown} : unable to destroy cgroup paths for cgroup ${shown} : ${errorText(error)}`;
    throw new Error(text, { cause: error });
  }
}

/** Each round tries those that failed in the last; returns why one is left. */
function killAll(pids: readonly number[], kill: (pid: number) => void): unknown {
  let left = pids;
  let failure: unknown;
  for (let round = 0; round < killRounds && left.length > 0; round++) {
    left = left.filter((pid) => {
      try {
        // The kernel lists a process of a PID namespace that is not ours as 0, and a signal to 0 would hit ourselves.
        if (!(pid > 0)) throw new Error('a process of another PID namespace is in it');
        kill(pid);
        return false;
      } catch (error) {
        if (codeOf(error) === 'ESRCH') return false;
        failure = error;
        return true;
      }
    });
  }
  return left.length === 0 ? undefined : failure;
}
