/** Reads from the kernel's log which processes were killed for want of memory, and for whose want. */

export interface OomKill {
  readonly processName: string;
  readonly pid: number;
  /** The cgroup whose limit was hit, by the victim in it; `/` when the whole machine had no memory left. */
  readonly victimContainer: string;
}

/** The report of a kill goes over many lines; this is what has been read of one that has not come to its end. */
export type OomReport = { readonly victimContainer: string } | undefined;

const wholeMachine = '/';

/** The text of a record of `/dev/kmsg`: `priority,sequence,time,flags;text`, with lines of fields after it. */
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

/** Undefined in a line that does not tell. A kill for the whole machine names the victim's cgroup, but not a limit's. */
function victimOf(message: string): string | undefined {
  const [, victim] =
    /oom-kill:constraint=.*,oom_memcg=.*,task_memcg=(.*),task=.*,pid=\d+,uid=\d+/.exec(message) ?? [];
  // Kernels before 5.0.
  const [, limited] = /Task in .* killed as a result of limit of (.*)/.exec(message) ?? [];
  return victim ?? limited;
}

export function systemOomMessage({ processName, pid }: OomKill): string {
  const known = processName !== '' && pid !== 0;
  return `System OOM encountered${known ? `, victim process: ${processName}, pid: ${pid}` : ''}`;
}

export function isSystemOom({ victimContainer }: OomKill): boolean {
  return victimContainer === wholeMachine;
}
