import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { applyPodDefaults, type Pod } from '../../kube/index.js';
import { explainPod, Timeline } from '../../timeline/index.js';
import { openKernelLog } from './kernel-log.js';
import {
  countedCgroup,
  isSystemOom,
  kernelMessage,
  type OomKill,
  type OomReport,
  readOomLine,
  systemOomMessage,
} from './kills.js';
import { maxCountedCgroups, OomCounts } from './oom-counts.js';
import { type KernelLog, OomWatcher } from './oom-watcher.js';
import { podKillEntry } from './pod-kill.js';
import { type OomVictim, oomVictim } from './victims.js';

const started = 'stress invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0';
const ofMachine =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,' +
  'task_memcg=/user.slice/a.scope,task=stress,pid=1234,uid=0';
const ofContainer = (victim: string, limited = '/kubepods', task = 'stress', cpuset = 'x'): string =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${cpuset},mems_allowed=0,` +
  `oom_memcg=${limited},task_memcg=${victim},task=${task},pid=1234,uid=0`;
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
  const unsaid = { ...stress, limitedCgroup: undefined, victimCgroup: undefined };
  const machine = { ...unsaid, victimCgroup: '/user.slice/a.scope' };
  const inContainer = { ...stress, limitedCgroup: '/kubepods', victimCgroup: '/kubepods/pod1/c' };
  const old = 'Task in /kubepods/pod1/c killed as a result of limit of /kubepods/pod1';
  it.each<{ rule: string; lines: string[]; kills: OomKill[] }>([
    { rule: 'the whole machine ran out of memory', lines: [started, ofMachine, killed], kills: [machine] },
    {
      rule: 'lines inside a report do not matter',
      lines: [started, 'Mem-Info:', ofMachine, 'x', killed],
      kills: [machine],
    },
    { rule: 'a report without a cgroup is about the machine', lines: [started, killed], kills: [unsaid] },
    {
      rule: 'a container hit the limit of its parent',
      lines: [started, ofContainer('/kubepods/pod1/c'), `Memory cgroup out of memory: ${killed.slice(15)}`],
      kills: [inContainer],
    },
    {
      rule: 'the report says what was used of the limit',
      lines: [
        started,
        'memory: usage 65536kB, limit 65540kB, failcnt 12',
        'swap: usage 1kB, limit 2kB, failcnt 3',
        ofContainer('/kubepods/pod1/c'),
      ],
      kills: [{ ...inContainer, memory: { usageBytes: 65536 * 1024, limitBytes: 65540 * 1024 } }],
    },
    {
      rule: 'an older kernel names both cgroups',
      lines: [started, old, killed],
      kills: [{ ...stress, limitedCgroup: '/kubepods/pod1', victimCgroup: '/kubepods/pod1/c' }],
    },
    {
      rule: 'a name with brackets',
      lines: [started, killed.replace('stress', 'a (b)')],
      kills: [{ ...unsaid, processName: 'a (b)' }],
    },
    {
      rule: 'a name that looks like the figures after it',
      lines: [started, killed.replace('stress', ') total-vm:9')],
      kills: [{ ...unsaid, processName: ') total-vm:9' }],
    },
    { rule: 'a kill without a report is ignored', lines: [killed], kills: [] },
    { rule: 'one report has one kill', lines: [started, killed, killed], kills: [unsaid] },
    {
      rule: 'reports are independent',
      lines: [started, ofContainer('/kubepods/c'), killed, started, ofMachine, killed],
      kills: [{ ...inContainer, victimCgroup: '/kubepods/c' }, machine],
    },
    {
      rule: 'an unfinished report gives way to the next',
      lines: [started, old, started, killed],
      kills: [unsaid],
    },
    { rule: 'other lines', lines: ['eth0: link up', 'Process 12 done'], kills: [] },
    {
      rule: 'hostile: a name with fields',
      lines: [started, ofContainer('/kubepods/pod1/c', '/kubepods', 'x,pid=1,uid=0')],
      kills: [{ ...inContainer, processName: 'x,pid=1,uid=0' }],
    },
    {
      rule: 'hostile: a name with the mark of names',
      lines: [started, ofContainer('/kubepods/pod1/c', '/kubepods', 'a,task=b')],
      kills: [{ ...inContainer, processName: 'a,task=b' }],
    },
    {
      rule: 'hostile: a name with line feeds, as the log writes them',
      lines: [started, ofContainer('/kubepods/pod1/c', '/kubepods', '\\x0a\\x0a,task=\\x0aend')],
      kills: [{ ...inContainer, processName: '\\x0a\\x0a,task=\\x0aend' }],
    },
    {
      rule: 'hostile: a cgroup with the mark of names',
      lines: [started, ofContainer('/kubepods/pod1/a,task=a-long-directory', '/kubepods')],
      kills: [{ ...inContainer, victimCgroup: '/kubepods/pod1/a,task=a-long-directory' }],
    },
    {
      rule: "hostile: a cgroup below the victim's that names another victim",
      lines: [started, ofContainer('/kubepods/pod1/c,task_memcg=/kubepods/pod2/d')],
      kills: [{ ...inContainer, victimCgroup: '/kubepods/pod1/c,task_memcg=/kubepods/pod2/d' }],
    },
    {
      rule: 'hostile: a limited cgroup that names another victim',
      lines: [started, ofContainer('/kubepods/p/x,task_memcg=/q/y', '/kubepods/p/x,task_memcg=/q')],
      kills: [
        {
          ...stress,
          limitedCgroup: '/kubepods/p/x,task_memcg=/q',
          victimCgroup: '/kubepods/p/x,task_memcg=/q/y',
        },
      ],
    },
    {
      rule: 'hostile: a cpuset that makes it look like the whole machine',
      lines: [started, ofContainer('/kubepods/pod1/c', '/kubepods', 'stress', 'a,global_oom,task_memcg=')],
      kills: [inContainer],
    },
    {
      rule: 'a summary that contradicts itself is about some cgroup, and not about the machine',
      lines: [started, ofContainer('/user.slice', '/kubepods')],
      kills: [{ ...stress, limitedCgroup: '', victimCgroup: undefined }],
    },
  ])('$rule', ({ lines, kills }) => {
    expect(killsOf(lines)).toEqual(kills);
  });

  it.each([
    { record: '6,203629,22873690238,-;eth0: link up\n', message: 'eth0: link up' },
    { record: '3,1,2,c;a;b\n SUBSYSTEM=cpu\n DEVICE=+cpu:0\n', message: 'a;b' },
    { record: '', message: '' },
    // The facility of a process that writes to the log is 1 or more.
    { record: `12,1,2,-;${started}\n`, message: '' },
    { record: `6,1,2,-;${'x'.repeat(9_000)}`, message: 'x'.repeat(4_096) },
  ])('record $record', ({ record, message }) => {
    expect(kernelMessage(record)).toBe(message);
  });

  it.each([
    {
      kill: { processName: 'a', pid: 7, limitedCgroup: undefined, victimCgroup: '/x' },
      message: 'System OOM encountered, victim process: a, pid: 7',
      system: true,
      counted: '/',
    },
    {
      kill: { processName: '', pid: 7, limitedCgroup: '/', victimCgroup: '/y' },
      message: 'System OOM encountered',
      system: true,
      counted: '/y',
    },
    {
      kill: { processName: 'a', pid: 0, limitedCgroup: '/x', victimCgroup: '/x/y' },
      message: 'System OOM encountered',
      system: false,
      counted: '/x/y',
    },
  ])('$message by the limit of $kill.limitedCgroup', ({ kill, message, system, counted }) => {
    expect(systemOomMessage(kill)).toBe(message);
    expect(isSystemOom(kill)).toBe(system);
    expect(countedCgroup(kill)).toBe(counted);
  });
});

describe('the victim', () => {
  const id = 'a1'.repeat(32);
  const before = 'b2'.repeat(32);
  const made = (name: string, containerID: string, terminated?: string): Pod =>
    applyPodDefaults({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default', uid: `uid-${name}` },
      spec: { containers: [{ name: 'app', image: 'i' }], initContainers: [{ name: 'init', image: 'i' }] },
      status: {
        containerStatuses: [
          {
            name: 'app',
            ready: true,
            restartCount: 1,
            image: 'i',
            imageID: 'i',
            containerID: `containerd://${containerID}`,
            ...(terminated === undefined
              ? {}
              : { lastState: { terminated: { exitCode: 137, containerID: `containerd://${terminated}` } } }),
          },
        ],
      },
      // The defaults keep what is there.
    }) as Pod;
  const pods = [made('web', id, before), made('db', 'c3'.repeat(32))];
  const web = { uid: 'uid-web', name: 'web', namespace: 'default' };
  const app = { pod: web, container: { name: 'app', fieldPath: 'spec.containers{app}' } };
  it.each<[string, string, OomVictim | undefined]>([
    ['by its id', `/kubepods/poduid-web/${id}`, app],
    ['by the scope of systemd', `/kubepods.slice/x.slice/cri-containerd-${id}.scope`, app],
    ['by the short form of an id', `/nodelet-${id.slice(0, 32)}`, app],
    ['of a container that was started again', `/k8s.io/${before}`, app],
    ['below the cgroup of a container', `/kubepods/poduid-web/${id}/${'c3'.repeat(32)}`, app],
    ['in the pod, of no container', '/kubepods/poduid-web/other', { pod: web }],
    ['in no pod', '/system.slice/sshd.service', undefined],
    ['of an unknown container', `/kubepods/poduid-x/${'d4'.repeat(32)}`, undefined],
  ])('%s', (_rule, cgroup, victim) => {
    expect(oomVictim(cgroup, pods, ({ metadata }) => `/kubepods/pod${metadata.uid}`)).toEqual(victim);
  });

  it('is no pod where all pods share one cgroup', () => {
    expect(oomVictim('/all/other', pods, () => '/all')).toBe(undefined);
  });

  it.each<[string, Partial<OomKill>, number, string]>([
    [
      'of its own limit',
      { limitedCgroup: '/p/c', memory: { usageBytes: 2048, limitBytes: 4096 } },
      0,
      'The kernel killed process "stress" (pid 1234) of container app: its cgroup reached its memory limit (used 2 KiB of 4 KiB)',
    ],
    [
      "of its pod's limit, without figures, and not once",
      { limitedCgroup: '/p' },
      2,
      'The kernel killed process "stress" (pid 1234) of container app: the cgroup /p reached its memory limit; and 2 more kills',
    ],
    [
      'of the whole machine, by a name with quotes',
      { limitedCgroup: undefined, processName: 'a"b' },
      0,
      'The kernel killed process "a\\"b" (pid 1234) of container app: the node ran out of memory',
    ],
  ])('is told %s', (_rule, more, others, message) => {
    const kill = { processName: 'stress', pid: 1234, victimCgroup: '/p/c', limitedCgroup: '/p', ...more };
    expect(podKillEntry(app, kill, others).message).toBe(message);
  });
});

it('counts of kills are bounded, and forget cgroups that are gone', () => {
  const counts = new OomCounts();
  for (let at = 0; at < maxCountedCgroups + 10; at++) counts.add(`/c${at}`);
  expect([counts.size, counts.of('/c0'), counts.of('/c9999')]).toEqual([maxCountedCgroups, 0, 0]);
  counts.add('/c20');
  counts.keep((cgroup) => cgroup === '/c20');
  expect([counts.size, counts.of('/c20')]).toEqual([1, 2]);
});

class LogInMemory implements KernelLog {
  readonly lines: string[] = [];
  closed = false;
  fault: Error | undefined;
  /** Holds up every reader. */
  pause: Promise<void> | undefined;
  readAfterClose = false;

  async *records(): AsyncGenerator<string> {
    if (this.fault !== undefined) throw this.fault;
    await this.pause;
    this.readAfterClose ||= this.closed;
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
    const counts = new OomCounts();
    const victimOf = (cgroup: string): OomVictim | undefined =>
      cgroup.startsWith('/kubepods/pod1/')
        ? {
            pod: { uid: 'u1', name: 'web', namespace: 'default' },
            container: { name: 'app', fieldPath: 'spec.containers{app}' },
          }
        : undefined;
    const watcher = new OomWatcher({ clock, timeline, nodeName: 'n1', open: () => log, counts, victimOf });
    const running = watcher.run(stop.signal).catch((error: unknown) => error);
    await settle();
    const events = () =>
      timeline.ofNode().flatMap(({ event, message }) => (event ? { ...event, message } : []));
    return {
      watcher,
      clock,
      timeline,
      counts,
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

  const id = 'a1'.repeat(32);
  const other = 'b2'.repeat(32);

  it.each([
    ['cgroupfs', `/kubepods/burstable/pod1/${id}`, id, true],
    ['systemd', `/kubepods.slice/kubepods-pod1.slice/cri-containerd-${id}.scope`, id, true],
    ['a cgroup that the container made', `/kubepods/pod1/${id}/${other}`, id, true],
    ['another container, by a name that the victim chose', `/kubepods/pod1/${id}/${other}`, other, false],
    ['a container without kills', `/kubepods/pod1/${other}`, id, false],
  ])('knows at once whether a container lost a process: %s', async (_, cgroup, asked, expected) => {
    const log = new LogInMemory();
    const { watcher, events, end } = await watched(log);
    log.lines.push(started, ofContainer(cgroup, cgroup), killed);
    expect(await watcher.hasKilled(asked)).toBe(expected);
    expect(events()).toEqual([]);
    await end();
    expect(await watcher.hasKilled(asked)).toBe(expected);
  });

  it('knows of kills before its start, although nobody waited for it', async () => {
    const log = new LogInMemory();
    log.lines.push(started, ofContainer(`/kubepods/pod1/${id}`), killed);
    const watcher = new OomWatcher({
      clock: new VirtualClock(),
      timeline: new Timeline({ clock: new VirtualClock() }),
      nodeName: 'n1',
      open: () => log,
    });
    expect(await Promise.all([watcher.hasKilled(id), watcher.hasKilled(other)])).toEqual([true, false]);
  });

  it('closes the log only after the looks of others', async () => {
    const log = new LogInMemory();
    const { watcher, end } = await watched(log);
    let goOn = (): void => undefined;
    log.pause = new Promise((resolve) => {
      goOn = resolve;
    });
    log.lines.push(started, ofContainer(`/kubepods/pod1/${id}`, '/kubepods'));
    const asked = [watcher.hasKilled(id), watcher.hasKilled(other)];
    await settle();
    const ended = end();
    await settle();
    expect(log.closed).toBe(false);
    goOn();
    await ended;
    expect([log.closed, log.readAfterClose]).toEqual([true, false]);
    expect(await Promise.all(asked)).toEqual([true, false]);
  });

  it('leaves it to the runtime while the log cannot be read', async () => {
    const log = new LogInMemory();
    log.fault = new Error('EIO');
    const { watcher, end } = await watched(log);
    expect(await watcher.hasKilled(id)).toBe(false);
    await end();
  });

  it('counts kills before its start, too, each for the cgroup of the victim or for the machine', async () => {
    const log = new LogInMemory();
    const kill = [started, ofContainer('/kubepods/pod1/c1', '/kubepods/pod1'), killed];
    log.lines.push(...kill, started, ofMachine, killed);
    const { clock, counts, events, end } = await watched(log);
    log.lines.push(...kill);
    await clock.advance(5_000);
    expect([counts.of('/kubepods/pod1/c1'), counts.of('/kubepods/pod1'), counts.of('/')]).toEqual([2, 0, 1]);
    expect(events()).toEqual([]);
    await end();
  });

  it('counts a kill that an older kernel reports for the cgroup of the victim, without an event', async () => {
    const log = new LogInMemory();
    const { clock, counts, events, end } = await watched(log);
    const task = 'Task in /kubepods/pod2/c1 killed as a result of limit of /kubepods/pod2';
    log.lines.push(started, task, 'Memory cgroup out of memory: Kill process 1234 (stress) score 9', killed);
    await clock.advance(5_000);
    expect([counts.of('/kubepods/pod2/c1'), counts.of('/kubepods/pod2'), counts.of('/')]).toEqual([1, 0, 0]);
    expect(events()).toEqual([]);
    await end();
  });

  it('reports a kill of a pod on the pod, once for all that come at a time', async () => {
    const log = new LogInMemory();
    const { clock, timeline, end } = await watched(log);
    const kill = [started, ofContainer('/kubepods/pod1/c1', '/kubepods/pod1/c1')];
    log.lines.push('', 'memory: usage 1kB, limit 1kB, failcnt 1');
    for (let count = 0; count < 100; count++) log.lines.push(...kill);
    await clock.advance(5_000);
    const entries = timeline.ofPod('u1');
    expect(entries).toMatchObject([
      {
        what: 'container.oom',
        level: 'warn',
        container: 'app',
        data: { process: 'stress', pid: 1234, cgroup: '/kubepods/pod1/c1', limit: 'container', more: 99 },
        event: { type: 'Warning', reason: 'OOMKilling', fieldPath: 'spec.containers{app}' },
      },
    ]);
    const { steps } = explainPod(entries, [], clock.now());
    expect(steps.map(({ message, container }) => [container, message])).toEqual([
      [
        'app',
        'The kernel killed process "stress" (pid 1234) of container app: its cgroup reached its memory limit; and 99 more kills',
      ],
    ]);
    for (let count = 0; count < 100; count++)
      log.lines.push(started, ofContainer(`/kubepods/pod1/c${count}`));
    await clock.advance(5_000);
    expect(timeline.ofPod('u1')).toHaveLength(1 + 64);
    await end();
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
