/** Parses OOM kills from the kernel log: the victim, and the cgroup that ran out of memory. */

export interface OomKill {
  readonly processName: string;
  readonly pid: number;
  /** The cgroup whose limit was hit, from the victim inside it; `/` if the whole machine ran out of memory. */
  readonly victimContainer: string;
}

/** An unfinished OOM report; one spans many lines. */
export type OomReport = { readonly victimContainer: string } | undefined;

const wholeMachine = '/';

/** The text of a `/dev/kmsg` record: `priority,sequence,time,flags;text`, with lines of fields after it. */
export function kernelMessage(record: string): string {
  const [line = ''] = record.slice(record.indexOf(';') + 1).split('\n', 1);
  return line;
}

export function readOomLine(report: OomReport, message: string): { report: OomReport; kill?: OomKill } {
  if (message.includes('invoked oom-killer:')) return { report: { victimContainer: wholeMachine } };
  if (report === undefined) return { report };
  const [, pid, processName] = /Killed process (\d+) \((.+)\)/.exec(message) ?? [];
  if (pid !== undefined && processName !== undefined) {
    return { report: undefined, kill: { ...report, processName, pid: Number(pid) } };
  }
  const victimContainer = victimOf(message);
  return { report: victimContainer === undefined ? report : { victimContainer } };
}

/** Undefined if the line does not say. A machine-wide kill names the victim's cgroup but no limit's. */
function victimOf(message: string): string | undefined {
  // One wildcard at a time: several in one pattern take more than linear time on a near miss.
  if (message.includes('oom-kill:constraint=') && message.includes(',oom_memcg=')) {
    const [, victim] = /,task_memcg=(.*?),task=/.exec(message) ?? [];
    if (victim !== undefined) return victim;
  }
  // Kernels before 5.0.
  const limit = ' killed as a result of limit of ';
  const at = message.includes('Task in ') ? message.indexOf(limit) : -1;
  return at < 0 ? undefined : message.slice(at + limit.length);
}

export function systemOomMessage({ processName, pid }: OomKill): string {
  const known = processName !== '' && pid !== 0;
  return `System OOM encountered${known ? `, victim process: ${processName}, pid: ${pid}` : ''}`;
}

export function isSystemOom({ victimContainer }: OomKill): boolean {
  return victimContainer === wholeMachine;
}
