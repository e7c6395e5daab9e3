/** Words a kill for want of memory as an event on the pod that it hit. */
import type { EntryInit } from '../../timeline/index.js';
import type { OomKill } from './kills.js';
import type { OomVictim } from './victims.js';

export function podKillEntry(
  { pod, container }: OomVictim,
  kill: OomKill,
  /** Further kills in the same cgroup within seconds. */
  more: number,
): EntryInit<'container.oom'> {
  const { processName, pid, victimCgroup = '', limitedCgroup, memory } = kill;
  return {
    kind: 'event',
    what: 'container.oom',
    message: `${told(kill, container?.name)}${more === 0 ? '' : `; and ${more} more kills`}`,
    data: {
      process: processName,
      pid,
      cgroup: victimCgroup,
      limit: limitedCgroup === undefined ? 'node' : limitedCgroup === victimCgroup ? 'container' : 'parent',
      more,
      ...memory,
    },
    pod,
    ...(container === undefined ? {} : { container: container.name }),
    event: {
      type: 'Warning',
      reason: 'OOMKilling',
      ...(container === undefined ? {} : { fieldPath: container.fieldPath }),
    },
  };
}

function told(
  { processName, pid, victimCgroup, limitedCgroup, memory }: OomKill,
  container: string | undefined,
): string {
  const where = container === undefined ? 'of the pod' : `of container ${container}`;
  const victim = `The kernel killed process ${JSON.stringify(processName)} (pid ${pid}) ${where}`;
  if (limitedCgroup === undefined) return `${victim}: the node ran out of memory`;
  const whose = limitedCgroup === victimCgroup ? 'its cgroup' : `the cgroup ${limitedCgroup}`;
  const figures =
    memory === undefined ? '' : ` (used ${kibibytes(memory.usageBytes)} of ${kibibytes(memory.limitBytes)})`;
  return `${victim}: ${whose} reached its memory limit${figures}`;
}

function kibibytes(bytes: number): string {
  return `${bytes / 1024} KiB`;
}
