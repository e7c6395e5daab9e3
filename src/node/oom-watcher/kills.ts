/** Parses OOM kills from the kernel log: the victim, its cgroup, and the cgroup that ran out of memory. */

export interface OomKill {
  readonly processName: string;
  readonly pid: number;
  /** The cgroup of the victim; undefined where the report does not say. */
  readonly victimCgroup: string | undefined;
  /** The cgroup whose limit was hit; undefined if the whole machine ran out of memory. */
  readonly limitedCgroup: string | undefined;
  /** Of the cgroup that hit its limit, at that time. */
  readonly memory?: CgroupMemory | undefined;
}

export interface CgroupMemory {
  readonly usageBytes: number;
  readonly limitBytes: number;
}

/** An unfinished OOM report; one spans many lines. */
export type OomReport = Pick<OomKill, 'victimCgroup' | 'limitedCgroup' | 'memory'> | undefined;

const longestNameBytes = 15;
/** The log may write each byte as four characters. */
const longestNameChars = 4 * longestNameBytes;
/** The kernel bounds a record's text to 1 KiB, which the log may write as four times that. */
const longestMessageChars = 4_096;

/**
 * The text of a `/dev/kmsg` record: `priority,sequence,time,flags;text`, with lines of fields after it. Empty for what
 * others than the kernel wrote to its log: their facility is not 0.
 */
export function kernelMessage(record: string): string {
  const facility = Number.parseInt(record, 10) >> 3;
  if (facility !== 0) return '';
  const [line = ''] = record.slice(record.indexOf(';') + 1).split('\n', 1);
  return line.slice(0, longestMessageChars);
}

export function readOomLine(report: OomReport, message: string): { report: OomReport; kill?: OomKill } {
  if (message.includes(' invoked oom-killer:'))
    return { report: { victimCgroup: undefined, limitedCgroup: undefined } };
  if (report === undefined) return { report };
  const kill = summaryOf(message);
  if (kill !== undefined) return { report: undefined, kill: { ...kill, memory: report.memory } };
  const victim = killedProcess(message);
  if (victim !== undefined) return { report: undefined, kill: { ...report, ...victim } };
  return { report: { ...report, ...memoryOf(message), ...oldCgroupsOf(message) } };
}

/**
 * `oom-kill:constraint=C,nodemask=M,cpuset=S,mems_allowed=N,oom_memcg=O,task_memcg=T,task=NAME,pid=P,uid=U`, with
 * `global_oom` in place of `oom_memcg=O` when the whole machine ran out. The victim chose NAME, and may have chosen
 * parts of S, O and T; any of them may look like other fields.
 */
function summaryOf(message: string): OomKill | undefined {
  const [, constraint] = /^oom-kill:constraint=([A-Z_]+),/.exec(message) ?? [];
  const [, before, pid] = /^(.*),pid=(\d{1,10}),uid=\d{1,10}$/.exec(message) ?? [];
  if (constraint === undefined || before === undefined) return undefined;
  const named = victimName(before);
  if (named === undefined) return undefined;
  const { processName, rest } = named;
  const cgroups =
    constraint === 'CONSTRAINT_MEMCG'
      ? // The cpuset is one name without a slash, so it cannot have this.
        limitAndVictim(afterFirst(rest, ',oom_memcg=/'), ',task_memcg=/')
      : { limitedCgroup: undefined, victimCgroup: afterFirst(rest, ',global_oom,task_memcg=/') };
  return { processName, pid: Number(pid), ...cgroups };
}

/** The longest end that can be a name: a name may have `,task=` in it, and the cgroup before it hardly has. */
function victimName(text: string): { readonly processName: string; readonly rest: string } | undefined {
  const mark = ',task=';
  const from = Math.max(0, text.length - longestNameChars - mark.length);
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    const processName = text.slice(at + mark.length);
    if (bytesOf(processName) <= longestNameBytes) return { processName, rest: text.slice(0, at) };
  }
  return undefined;
}

/** The log writes a byte that is no plain character as `\x0a`. */
function bytesOf(text: string): number {
  return Buffer.byteLength(text.replace(/\\x[0-9a-f]{2}/g, '.'));
}

function afterFirst(text: string, mark: string): string | undefined {
  const at = text.indexOf(mark);
  // The mark ends with the slash that the path begins with.
  return at < 0 ? undefined : text.slice(at + mark.length - 1);
}

/** Divides `O,task_memcg=T`. The victim is in the cgroup that hit its limit, which tells a real mark from one in a name. */
function limitAndVictim(
  text: string | undefined,
  mark: string,
): Pick<OomKill, 'limitedCgroup' | 'victimCgroup'> {
  for (const [limitedCgroup, victimCgroup] of divisions(text ?? '', mark)) {
    if (isWithin(victimCgroup, limitedCgroup)) return { limitedCgroup, victimCgroup };
  }
  // It is about a cgroup all the same, and not about the machine.
  return { limitedCgroup: '', victimCgroup: undefined };
}

function divisions(text: string, mark: string): [string, string][] {
  const found: [string, string][] = [];
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1))
    found.push([text.slice(0, at), text.slice(at + mark.length - 1)]);
  return found;
}

function isWithin(path: string, parent: string): boolean {
  return parent === '/' || path === parent || path.startsWith(`${parent}/`);
}

/** `Killed process P (NAME) total-vm:…`; it follows the summary, which kernels before 5.0 do not have. */
function killedProcess(message: string): Pick<OomKill, 'processName' | 'pid'> | undefined {
  const [, pid, text] = /Killed process (\d{1,10})[^(]{0,20} \((.*)$/.exec(message) ?? [];
  if (pid === undefined || text === undefined) return undefined;
  const figures = text.lastIndexOf(') total-vm:');
  const end = figures < 0 ? text.lastIndexOf(')') : figures;
  return end <= 0
    ? undefined
    : { processName: text.slice(0, Math.min(end, longestNameChars)), pid: Number(pid) };
}

/** Kernels before 5.0: `Task in T killed as a result of limit of O`. */
function oldCgroupsOf(message: string): Partial<Pick<OomKill, 'limitedCgroup' | 'victimCgroup'>> {
  const text = afterFirst(message, 'Task in /');
  if (text === undefined) return {};
  const pairs = divisions(text, ' killed as a result of limit of /');
  const pair = pairs.find(([victim, limited]) => isWithin(victim, limited));
  return pair === undefined ? {} : { victimCgroup: pair[0], limitedCgroup: pair[1] };
}

function memoryOf(message: string): { readonly memory?: CgroupMemory } {
  const [, usage, limit] = /^memory: usage (\d{1,15})kB, limit (\d{1,15})kB,/.exec(message) ?? [];
  if (usage === undefined || limit === undefined) return {};
  return { memory: { usageBytes: Number(usage) * 1024, limitBytes: Number(limit) * 1024 } };
}

export function systemOomMessage({ processName, pid }: Pick<OomKill, 'processName' | 'pid'>): string {
  const known = processName !== '' && pid !== 0;
  return `System OOM encountered${known ? `, victim process: ${processName}, pid: ${pid}` : ''}`;
}

/** The whole machine ran out of memory, or its root hit a limit. */
export function isSystemOom({ limitedCgroup }: Pick<OomKill, 'limitedCgroup'>): boolean {
  return limitedCgroup === undefined || limitedCgroup === '/';
}

/** The cgroup that a kill counts for; undefined if the report did not say. */
export function countedCgroup(kill: OomKill): string | undefined {
  return kill.limitedCgroup === undefined ? '/' : kill.victimCgroup;
}
