import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isSameRuntime, notedRuntime, noteRuntime, type UsableRuntime } from './left-over.js';

const onProcesses: UsableRuntime = { kind: 'process', line: '' };
const onContainerd: UsableRuntime = { kind: 'containerd', podNetwork: true, line: '' };
const at = (endpoint: string): UsableRuntime => ({ kind: 'endpoint', endpoint, line: '' });

describe('the runtime that a run notes for whoever comes after its crash', () => {
  let dir = '';
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'nodelet-left-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it.each([onProcesses, onContainerd, { ...onContainerd, podNetwork: false }, at('unix:///a.sock')])(
    'is read as it was written: %j',
    async (choice) => {
      await noteRuntime({ dir }, choice);
      expect(await notedRuntime({ dir })).toEqual(choice);
    },
  );

  it('is none when there is no note', async () => {
    expect(await notedRuntime({ dir })).toBeUndefined();
  });

  it.each(['', '{"kind":"cont', 'null', '{"kind":"endpoint"}', '{"kind":"moon"}'])(
    'is none when the note is not whole: %s',
    async (text) => {
      await writeFile(path.join(dir, 'runtime.json'), text);
      expect(await notedRuntime({ dir })).toBeUndefined();
    },
  );
});

it.each<[string, UsableRuntime, UsableRuntime, boolean]>([
  ['processes and processes', onProcesses, onProcesses, true],
  ['processes and a containerd', onProcesses, onContainerd, false],
  ['one socket', at('unix:///a.sock'), at('unix:///a.sock'), true],
  ['two sockets', at('unix:///a.sock'), at('unix:///b.sock'), false],
])('%s show each other’s containers', (_, a, b, same) => {
  expect(isSameRuntime(a, b)).toBe(same);
});
