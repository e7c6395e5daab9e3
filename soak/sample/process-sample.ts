/** What the kernel tells about a process: memory, processor time, and its open handles by kind. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { ifThere } from '../../test/env/vanishing.js';

export interface ProcessSample {
  readonly rssBytes: number;
  /** Of all its life. */
  readonly cpuMs: number;
  readonly threads: number;
  readonly handles: number;
  readonly handleKinds: Readonly<Record<string, number>>;
}

/** The kernel's times are in hundredths of a second. */
const msPerTick = 10;

/** `undefined` when the process is gone. */
export function sampleProcess(pid: number): ProcessSample | undefined {
  const stat = ifThere(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const status = ifThere(() => readFileSync(`/proc/${pid}/status`, 'utf8'));
  const numbers = ifThere(() => readdirSync(`/proc/${pid}/fd`));
  if (stat === undefined || status === undefined || numbers === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const handleKinds: Record<string, number> = {};
  for (const number of numbers) {
    const target = ifThere(() => readlinkSync(`/proc/${pid}/fd/${number}`));
    if (target === undefined) continue;
    const kind = handleKind(target);
    handleKinds[kind] = (handleKinds[kind] ?? 0) + 1;
  }
  return {
    rssBytes: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024,
    cpuMs: (Number(fields[11]) + Number(fields[12])) * msPerTick,
    threads: Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 0),
    handles: Object.values(handleKinds).reduce((sum, count) => sum + count, 0),
    handleKinds,
  };
}

/** `cgroup` for a file of the kernel's cgroups, `socket`, `pipe`, `eventpoll`, `inotify` and so on; a file is a file whatever its name. */
export function handleKind(target: string): string {
  const anonymous = /^anon_inode:\[?([a-z]+)\]?$/.exec(target)?.[1];
  if (anonymous !== undefined) return anonymous;
  if (target.startsWith('/sys/fs/cgroup/')) return 'cgroup';
  return /^(socket|pipe):\[/.exec(target)?.[1] ?? (target.startsWith('/dev/') ? 'device' : 'file');
}
