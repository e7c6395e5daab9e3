import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { systemClock } from '../async/index.js';
import { Timeline } from '../timeline/index.js';
import { limitOpenFiles, openFilesChange } from './open-files.js';

const limits = (soft: string, hard: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax processes             1                    1                    processes\nMax open files            ${soft}                 ${hard}               files\n`;

it.each<[rule: string, soft: string, hard: string, asked: boolean, expected: number | undefined]>([
  ['what is asked for lowers', '1048576', '1048576', true, 1000],
  ['what is asked for raises', '500', '500', true, 1000],
  ['what is there already stays', '1000', '1000', true, undefined],
  ['the default raises', '500', '500', false, 1000],
  ['the default lowers nothing', '1048576', '1048576', false, undefined],
  ['the default leaves no limit alone', 'unlimited', 'unlimited', false, undefined],
])('%s', (_rule, soft, hard, isAsked, expected) => {
  expect(openFilesChange(limits(soft, hard), { maxOpenFiles: 1000, isAsked })).toBe(expected);
});

it('changes nothing where the kernel does not tell, or the number is none', () => {
  expect(openFilesChange('', { maxOpenFiles: 1000, isAsked: true })).toBeUndefined();
  expect(openFilesChange(limits('5', '5'), { maxOpenFiles: 0, isAsked: true })).toBeUndefined();
});

it('sets the limits of a process, and tells why it cannot', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const timeline = new Timeline();
  try {
    await once(child, 'spawn');
    const { pid } = child;
    const wish = { maxOpenFiles: 123, isAsked: true };
    await limitOpenFiles(wish, { clock: systemClock, timeline, pid: pid! });
    expect(await readFile(`/proc/${pid}/limits`, 'utf8')).toMatch(/^Max open files\s+123\s+123\s/m);
    expect(timeline.ofNode()).toEqual([]);
  } finally {
    child.kill('SIGKILL');
  }
  await limitOpenFiles(
    { maxOpenFiles: 123, isAsked: true },
    { clock: systemClock, timeline, pid: 2 ** 22 + 5 },
  );
  expect(timeline.ofNode()).toMatchObject([{ level: 'warn', what: 'agent.openFiles' }]);
});
