import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContainerStatus, type ObservedContainerStatus, observeContainerStatus } from '../../cri/index.js';
import { terminationMessage } from './termination-message.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'words-'));
});
afterEach(() => rm(dir, { recursive: true }));

const observed = (over: Partial<ObservedContainerStatus>): ObservedContainerStatus => ({
  ...observeContainerStatus(ContainerStatus.create({ id: 'c' })),
  state: 'exited',
  exitCode: 1,
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'FallbackToLogsOnError',
  logPath: join(dir, '0.log'),
  mounts: [{ containerPath: '/dev/termination-log', hostPath: join(dir, 'words') }],
  ...over,
});
const log = (lines: readonly string[]): string =>
  lines
    .map((text, index) => `2026-01-01T00:00:00Z ${index % 2 === 0 ? 'stdout' : 'stderr'} F ${text}\n`)
    .join('');

describe('terminationMessage', () => {
  it.each([
    ['the file', 'words\n', {}, 'words\n'],
    ['the last 4096 bytes of it', `a${'b'.repeat(4096)}`, {}, 'b'.repeat(4096)],
    ['the log when the file is empty', '', {}, 'one\ntwo\n'],
    ['the log when the file is absent', undefined, {}, 'one\ntwo\n'],
    ['the log when there is no file to look for', 'words', { terminationMessagePath: '' }, 'one\ntwo\n'],
    ['nothing after success', '', { exitCode: 0 }, ''],
    ['nothing when it could not run', '', { reason: 'ContainerCannotRun' }, ''],
    ['nothing with policy File', '', { terminationMessagePolicy: 'File' }, ''],
    ['nothing while it runs', 'words', { state: 'running' as const }, ''],
  ])('%s', async (_, file, over, expected) => {
    if (file !== undefined) await writeFile(join(dir, 'words'), file);
    await writeFile(join(dir, '0.log'), log(['one', 'two']));
    expect(await terminationMessage(observed(over))).toBe(expected);
  });
  it('the last 80 lines of the log', async () => {
    await writeFile(join(dir, '0.log'), log(Array.from({ length: 200 }, (_, n) => `${n}`)));
    const words = await terminationMessage(observed({}));
    expect(words.split('\n').slice(0, -1)).toEqual(Array.from({ length: 80 }, (_, n) => `${n + 120}`));
  });
  it('at most its last 2048 bytes', async () => {
    await writeFile(join(dir, '0.log'), log(Array.from({ length: 80 }, (_, n) => `${n} ${'x'.repeat(100)}`)));
    const words = await terminationMessage(observed({}));
    expect(words).toHaveLength(2048);
    expect(words.endsWith(`79 ${'x'.repeat(100)}\n`)).toBe(true);
  });
  it('a file that cannot be read, without looking at the log', async () => {
    await mkdir(join(dir, 'words'));
    expect(await terminationMessage(observed({}))).toMatch(
      `Error on reading termination log ${join(dir, 'words')}: `,
    );
  });
  it('a log that cannot be read', async () => {
    expect(await terminationMessage(observed({}))).toMatch(
      'Error on reading termination message from logs: ',
    );
  });
});
