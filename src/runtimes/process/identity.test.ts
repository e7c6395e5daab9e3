import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { currentBootId, identify, isAlive, living, parsePs } from './identity.js';
import { parseProcStat } from './proc-stat.js';

describe('a process', () => {
  it('is alive while it is the same one', async () => {
    const self = identify(process.pid);
    expect(self.startTime).not.toBe('');
    expect(await isAlive(self)).toBe(true);
    expect(await isAlive({ ...self, startTime: `${self.startTime}0` })).toBe(false);
    expect(await isAlive({ ...self, startTime: '' })).toBe(false);
  });

  it('that has ended is not alive', async () => {
    const child = spawn('sleep', ['100']);
    const identity = identify(child.pid!);
    expect((await living([identity, identify(process.pid)])).size).toBe(2);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await isAlive(identity)).toBe(false);
    expect(identify(child.pid!)).toEqual({ pid: child.pid, startTime: '' });
  });
});

describe('/proc/<pid>/stat', () => {
  const line = (state: string, name = 'sh') =>
    `4242 (${name}) ${state} 1 4242 4240 0 -1 4194560 99 12 0 0 7 3 2 1 20 0 1 0 123456 2494464 200 18446744073709551615`;

  it.each([
    ['a plain name', 'sh'],
    ['a name with spaces and parentheses', 'a) Z (b 1 2'],
  ])('is parsed with %s', (_, name) => {
    expect(parseProcStat(line('S', name))).toEqual({
      state: 'S',
      processGroup: 4242,
      session: 4240,
      cpuTicks: 13,
      startTime: '123456',
    });
  });

  it('is rejected when truncated', () => {
    expect(parseProcStat('')).toBeUndefined();
    expect(parseProcStat('1 (sh) S 1 2')).toBeUndefined();
  });
});

describe('ps', () => {
  it('reports the start times of living processes', () => {
    const text = '   12 Ss   Mon Jan  5 10:11:12 2026\n    7 Z    Mon Jan  5 10:00:00 2026\n\n';
    expect([...parsePs(text)]).toEqual([[12, 'Mon Jan 5 10:11:12 2026']]);
  });
});

it('the boot has an id', async () => {
  expect(await currentBootId()).toMatch(/\S/);
  expect(await currentBootId()).toBe(await currentBootId());
});
