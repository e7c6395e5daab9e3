/** The kernel's own report of a kill: in a memory cgroup of the test's, read from this machine's log. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/async/index.js';
import { OomCounts, type OomVictim, OomWatcher, openKernelLog } from '../../src/node/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { removeCgroup } from '../env/cgroups.js';
import { listMounts } from '../env/mounts.js';
import { pollUntil } from '../env/poll.js';

const limitBytes = 32 * 1024 * 1024;
/** Its name has what ends names in the kernel's report. */
const cgroup = `/nodelet-oom-${process.pid}`;
const inner = `${cgroup}/c,task=x`;
/** Looks come every 50 ms instead of every 5 s. */
const hastyClock: Clock = {
  ...systemClock,
  setTimer: (delayMs, fire) => systemClock.setTimer(delayMs === 5_000 ? 50 : delayMs, fire),
};

/** The hierarchy that limits memory, or undefined where this machine lets us do nothing like it. */
const memoryRoot = ((): { path: string; file: string } | undefined => {
  try {
    accessSync('/dev/kmsg', constants.R_OK);
  } catch {
    return undefined;
  }
  const mounts = listMounts();
  const v1 = mounts.find(({ mountPoint }) => mountPoint.endsWith('/memory'));
  if (v1 !== undefined) return { path: v1.mountPoint, file: 'memory.limit_in_bytes' };
  const v2 = mounts.find(({ fsType }) => fsType === 'cgroup2');
  return v2 && { path: v2.mountPoint, file: 'memory.max' };
})();

/** The number of this namespace is part of the kernel's interface. Elsewhere the kernel's log numbers processes otherwise. */
const isInitialPidNamespace = readlinkSync('/proc/self/ns/pid') === 'pid:[4026531836]';

const stop = new AbortController();
let running: Promise<unknown> | undefined;

beforeAll(() => {
  if (memoryRoot === undefined)
    throw new Error('this test needs a readable /dev/kmsg and a memory cgroup: run it as root');
  mkdirSync(join(memoryRoot.path, inner), { recursive: true });
  writeFileSync(join(memoryRoot.path, cgroup, memoryRoot.file), String(limitBytes));
});
afterAll(async () => {
  stop.abort();
  await running;
  await removeCgroup(cgroup);
});

it('a kill is counted for its cgroup and told on its pod', async () => {
  const timeline = new Timeline();
  const counts = new OomCounts();
  const victim: OomVictim = {
    pod: { uid: 'u1', name: 'web', namespace: 'default' },
    container: { name: 'app', fieldPath: 'spec.containers{app}' },
  };
  const watcher = new OomWatcher({
    clock: hastyClock,
    timeline,
    nodeName: 'n1',
    open: () => openKernelLog(),
    counts,
    victimOf: (victimCgroup) => (victimCgroup === inner ? victim : undefined),
  });
  running = watcher.run(stop.signal).catch((error: unknown) => error);
  // The shell's child takes more than the limit, under a name of its choice.
  const program = `echo $$ > '${join(memoryRoot?.path ?? '', inner, 'cgroup.procs')}'; exec "$0" -e "$1"`;
  const greedy = `require('fs').writeFileSync('/proc/self/comm', 'x,pid=1,uid=0'); const held = [];
    for (;;) held.push(Buffer.alloc(1 << 20, 1));`;
  const child = spawn('/bin/sh', ['-c', program, process.execPath, greedy], { stdio: 'ignore' });
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
  await pollUntil('the kill is counted', () => (counts.of(inner) > 0 ? true : undefined), {
    timeoutMs: 15_000,
    intervalMs: 50,
  });
  const [told] = await pollUntil(
    'it is told',
    () => (timeline.ofPod('u1').length > 0 ? timeline.ofPod('u1') : undefined),
    { timeoutMs: 15_000, intervalMs: 50 },
  );
  expect(told).toMatchObject({
    what: 'container.oom',
    container: 'app',
    data: {
      process: 'x,pid=1,uid=0',
      pid: isInitialPidNamespace ? child.pid : expect.any(Number),
      cgroup: inner,
      limit: 'parent',
      limitBytes,
    },
    event: { type: 'Warning', reason: 'OOMKilling' },
  });
  expect(timeline.ofNode()).toEqual([]);
});
