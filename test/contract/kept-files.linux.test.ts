/** Files of this machine's cgroups and processes that stay open: they tell the present, and never that of another of the same name. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { CgroupSampler, linuxKernelFiles, statsLimits } from '../../src/resources/stats/index.js';
import { removeCgroup } from '../env/cgroups.js';

const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
const cgroup = `/nodelet-kept-${process.pid}`;
const directories = (isV2 ? [''] : ['cpu', 'cpuacct', 'memory', 'pids', 'blkio'])
  .map((controller) => join('/sys/fs/cgroup', controller))
  .filter((place) => existsSync(place))
  .map((place) => place + cgroup);
const pidsDirectory = isV2 ? (directories[0] ?? '') : `/sys/fs/cgroup/pids${cgroup}`;

/** The agent's descriptors of files in the cgroup. */
const openInCgroup = (): number =>
  readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).includes(cgroup);
    } catch {
      return false;
    }
  }).length;

afterAll(() => removeCgroup(cgroup));

it('a cgroup that is removed and made anew is read anew, and nothing stays open when it is gone', () => {
  let offsetMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + offsetMs };
  const sampler = new CgroupSampler({ clock, files: linuxKernelFiles(statsLimits) });
  const limitNow = (): number | undefined => {
    offsetMs += 2_000;
    return sampler.detailed(cgroup)?.details.threadsMax;
  };
  try {
    for (const directory of directories) mkdirSync(directory);
    expect(limitNow()).toBe(0);
    const open = openInCgroup();
    expect(open).toBeGreaterThan(5);
    // The same descriptors tell what is there now.
    writeFileSync(join(pidsDirectory, 'pids.max'), '7');
    expect(limitNow()).toBe(7);
    expect(openInCgroup()).toBe(open);
    // Open files hold no cgroup back.
    for (const directory of directories) rmdirSync(directory);
    for (const directory of directories) mkdirSync(directory);
    expect(limitNow()).toBe(0);
    expect(openInCgroup()).toBe(open);
    for (const directory of directories) rmdirSync(directory);
    expect(limitNow()).toBeUndefined();
    expect(openInCgroup()).toBe(0);
  } finally {
    sampler.close();
  }
});

it('a file of a process that has ended tells nothing', async () => {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const file = linuxKernelFiles(statsLimits).keep(`/proc/${child.pid}/limits`)!;
  expect(file.read()).toBe(readFileSync(`/proc/${child.pid}/limits`, 'utf8'));
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(file.read()).toBeUndefined();
  file.close();
});
