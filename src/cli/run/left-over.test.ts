import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import type { UnusableFile } from '../../host/index.js';
import { isSameRuntime, readRuntimeFile, type UsableRuntime, writeRuntimeFile } from './left-over.js';

const onProcesses: UsableRuntime = { kind: 'process', line: '' };
const onContainerd: UsableRuntime = { kind: 'containerd', podNetwork: true, line: '' };
const at = (endpoint: string): UsableRuntime => ({ kind: 'endpoint', endpoint, line: '' });

describe('the runtime file of a run', () => {
  let dir = '';
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'nodelet-left-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it.each([onProcesses, onContainerd, { ...onContainerd, podNetwork: false }, at('unix:///a.sock')])(
    'is read as it was written: %j',
    async (choice) => {
      await writeRuntimeFile({ dir }, choice, systemClock);
      expect(await readRuntimeFile({ dir }, systemClock)).toEqual(choice);
    },
  );

  it('is undefined without a file', async () => {
    expect(await readRuntimeFile({ dir }, systemClock)).toBeUndefined();
  });

  it.each<[string, (file: string) => unknown, string]>([
    ['empty', (file) => writeFileSync(file, ''), 'it is empty'],
    ['cut', (file) => writeFileSync(file, '{"kind":"cont'), 'it is not whole JSON'],
    ['garbage', (file) => writeFileSync(file, '\0\0\0'), 'it is not whole JSON'],
    ['no object', (file) => writeFileSync(file, 'null'), 'it is not whole JSON'],
    ['without its endpoint', (file) => writeFileSync(file, '{"kind":"endpoint"}'), 'it names no runtime'],
    ['of an unknown runtime', (file) => writeFileSync(file, '{"kind":"moon"}'), 'it names no runtime'],
    ['of a future version', (file) => writeFileSync(file, '{"version":2,"kind":"process"}'), 'of version 2'],
    ['a directory', (file) => mkdirSync(file), 'it is a directory'],
    ['a FIFO', (file) => execFileSync('mkfifo', [file]), 'it is a fifo'],
  ])('is none, told and set aside when the note is %s', async (_, put, reason) => {
    const file = path.join(dir, 'runtime.json');
    put(file);
    const told: UnusableFile[] = [];
    expect(await readRuntimeFile({ dir }, systemClock, (unusable) => told.push(unusable))).toBeUndefined();
    expect(told).toMatchObject([{ path: file, reason: expect.stringContaining(reason) }]);
    expect(readdirSync(dir)).toEqual([path.basename(told[0]?.movedTo ?? '')]);
    await writeRuntimeFile({ dir }, onProcesses, systemClock);
    expect(await readRuntimeFile({ dir }, systemClock)).toEqual(onProcesses);
  });
});

it.each<[string, UsableRuntime, UsableRuntime, boolean]>([
  ['processes and processes', onProcesses, onProcesses, true],
  ['processes and a containerd', onProcesses, onContainerd, false],
  ['one socket', at('unix:///a.sock'), at('unix:///a.sock'), true],
  ['two sockets', at('unix:///a.sock'), at('unix:///b.sock'), false],
])('%s show each other’s containers', (_, a, b, same) => {
  expect(isSameRuntime(a, b)).toBe(same);
});
