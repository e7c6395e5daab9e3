import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { openKernelLog } from './kernel-log.js';
import {
  isSystemOom,
  kernelMessage,
  type OomKill,
  type OomReport,
  readOomLine,
  systemOomMessage,
} from './kills.js';
import { type KernelLog, OomWatcher } from './oom-watcher.js';

const started = 'stress invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0';
const ofMachine =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,' +
  'task_memcg=/user.slice/a.scope,task=stress,pid=1234,uid=0';
const ofContainer = (group: string): string =>
  'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,' +
  `oom_memcg=/kubepods,task_memcg=${group},task=stress,pid=1234,uid=0`;
const killed = 'Out of memory: Killed process 1234 (stress) total-vm:1kB, anon-rss:1kB, UID:0 pgtables:8kB';

function killsOf(lines: readonly string[]): OomKill[] {
  let report: OomReport;
  return lines.flatMap((line) => {
    const read = readOomLine(report, line);
    report = read.report;
    return read.kill ?? [];
  });
}

describe('OOM kills in the kernel log', () => {
  const stress = { processName: 'stress', pid: 1234 };
  const machine = { ...stress, victimContainer: '/' };
  it.each<{ rule: string; lines: string[]; kills: OomKill[] }>([
    { rule: 'the whole machine ran out of memory', lines: [started, ofMachine, killed], kills: [machine] },
    {
      rule: 'lines inside a report do not matter',
      lines: [started, 'Mem-Info:', ofMachine, 'x', killed],
      kills: [machine],
    },
    {
      rule: 'a report without a cgroup is about the machine',
      lines: [started, killed],
      kills: [machine],
    },
    {
      rule: 'a container hit its limit',
      lines: [started, ofContainer('/kubepods/pod1/c'), `Memory cgroup out of memory: ${killed.slice(15)}`],
      kills: [{ ...stress, victimContainer: '/kubepods/pod1/c' }],
    },
    { rule: 'a victim outside containers', lines: [started, ofContainer('/'), killed], kills: [machine] },
    {
      rule: 'an older kernel names the limit',
      lines: [started, 'Task in /kubepods/pod1/c killed as a result of limit of /kubepods/pod1', killed],
      kills: [{ ...stress, victimContainer: '/kubepods/pod1' }],
    },
    {
      rule: 'a name with brackets',
      lines: [started, killed.replace('stress', 'a (b)')],
      kills: [{ ...machine, processName: 'a (b)' }],
    },
    { rule: 'a kill without a report is ignored', lines: [killed], kills: [] },
    { rule: 'one report has one kill', lines: [started, killed, killed], kills: [machine] },
    {
      rule: 'reports are independent',
      lines: [started, ofContainer('/kubepods/c'), killed, started, ofMachine, killed],
      kills: [{ ...stress, victimContainer: '/kubepods/c' }, machine],
    },
    {
      rule: 'an unfinished report gives way to the next',
      lines: [started, ofContainer('/kubepods/c'), started, killed],
      kills: [machine],
    },
    { rule: 'other lines', lines: ['eth0: link up', 'Process 12 done'], kills: [] },
  ])('$rule', ({ lines, kills }) => {
    expect(killsOf(lines)).toEqual(kills);
  });

  it.each([
    { record: '6,203629,22873690238,-;eth0: link up\n', message: 'eth0: link up' },
    { record: '3,1,2,c;a;b\n SUBSYSTEM=cpu\n DEVICE=+cpu:0\n', message: 'a;b' },
    { record: '', message: '' },
  ])('record $record', ({ record, message }) => {
    expect(kernelMessage(record)).toBe(message);
  });

  it.each([
    {
      kill: { processName: 'a', pid: 7, victimContainer: '/' },
      message: 'System OOM encountered, victim process: a, pid: 7',
      system: true,
    },
    {
      kill: { processName: '', pid: 7, victimContainer: '/' },
      message: 'System OOM encountered',
      system: true,
    },
    {
      kill: { processName: 'a', pid: 0, victimContainer: '/x' },
      message: 'System OOM encountered',
      system: false,
    },
  ])('$message of $kill.victimContainer', ({ kill, message, system }) => {
    expect(systemOomMessage(kill)).toBe(message);
    expect(isSystemOom(kill)).toBe(system);
  });
});

class LogInMemory implements KernelLog {
  readonly lines: string[] = [];
  closed = false;
  fault: Error | undefined;

  async *records(): AsyncGenerator<string> {
    if (this.fault !== undefined) throw this.fault;
    for (let line = this.lines.shift(); line !== undefined; line = this.lines.shift())
      yield `6,1,1,-;${line}\n`;
  }

  close(): void {
    this.closed = true;
  }
}

describe('OomWatcher', () => {
  async function watched(log: LogInMemory) {
    const clock = new VirtualClock();
    const timeline = new Timeline({ clock });
    const stop = new AbortController();
    const watcher = new OomWatcher({ clock, timeline, nodeName: 'n1', open: () => log });
    const running = watcher.run(stop.signal).catch((error: unknown) => error);
    await settle();
    const events = () =>
      timeline.ofNode().flatMap(({ event, message }) => (event ? { ...event, message } : []));
    return {
      clock,
      events,
      end: () => {
        stop.abort();
        return running;
      },
      running,
    };
  }

  it('reports kills after its start, even if a report arrives in parts', async () => {
    const log = new LogInMemory();
    log.lines.push(started, ofMachine, killed);
    const { clock, events, end } = await watched(log);
    await clock.advance(5_000);
    expect(events()).toEqual([]);
    log.lines.push(started);
    await clock.advance(5_000);
    log.lines.push(ofMachine, killed, started, ofContainer('/kubepods/c'), killed);
    await clock.advance(5_000);
    expect(events()).toEqual([
      {
        type: 'Warning',
        reason: 'SystemOOM',
        node: 'n1',
        message: 'System OOM encountered, victim process: stress, pid: 1234',
      },
    ]);
    await end();
    expect(log.closed).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a failing log ends the task with its error, and is closed', async () => {
    const log = new LogInMemory();
    const { clock, running } = await watched(log);
    log.fault = new Error('EIO');
    await clock.advance(5_000);
    expect(await running).toBe(log.fault);
    expect(log.closed).toBe(true);
  });

  it('reports a missing log once, without an error', async () => {
    const timeline = new Timeline();
    const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-kmsg-'));
    try {
      const open = () => openKernelLog(path.join(dir, 'kmsg'));
      await new OomWatcher({ clock: new VirtualClock(), timeline, nodeName: 'n1', open }).run(
        new AbortController().signal,
      );
    } finally {
      rmSync(dir, { recursive: true });
    }
    expect(timeline.ofNode().map(({ kind }) => kind)).toEqual(['notice']);
    expect(timeline.ofNode()[0]?.message).toContain('ENOENT');
  });
});
