import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContainerStatus, type ObservedContainerStatus, observeContainerStatus } from '../../cri/index.js';
import { terminationLogPath, terminationMessage } from './termination-message.js';

let dir: string;
let directory: string;
let words: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'words-'));
  directory = join(dir, 'pods/uid/containers/main');
  words = join(directory, 'words');
  await mkdir(directory, { recursive: true });
});
afterEach(() => rm(dir, { recursive: true }));

const observed = (over: Partial<ObservedContainerStatus>): ObservedContainerStatus => ({
  ...observeContainerStatus(ContainerStatus.create({ id: 'c' })),
  state: 'exited',
  exitCode: 1,
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'FallbackToLogsOnError',
  logPath: join(dir, '0.log'),
  mounts: [{ containerPath: '/dev/termination-log', hostPath: words }],
  labels: { 'io.kubernetes.pod.uid': 'uid', 'io.kubernetes.container.name': 'main' },
  ...over,
});
const message = (over: Partial<ObservedContainerStatus> = {}): Promise<string> =>
  terminationMessage({ rootDir: dir }, observed(over));
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
    if (file !== undefined) await writeFile(words, file);
    await writeFile(join(dir, '0.log'), log(['one', 'two']));
    expect(await message(over)).toBe(expected);
  });
  it('the last 80 lines of the log', async () => {
    await writeFile(join(dir, '0.log'), log(Array.from({ length: 200 }, (_, n) => `${n}`)));
    const text = await message();
    expect(text.split('\n').slice(0, -1)).toEqual(Array.from({ length: 80 }, (_, n) => `${n + 120}`));
  });
  it('at most its last 2048 bytes', async () => {
    await writeFile(join(dir, '0.log'), log(Array.from({ length: 80 }, (_, n) => `${n} ${'x'.repeat(100)}`)));
    const text = await message();
    expect(text).toHaveLength(2048);
    expect(text.endsWith(`79 ${'x'.repeat(100)}\n`)).toBe(true);
  });
  it('an unreadable file, without reading the log', async () => {
    await mkdir(words);
    expect(await message()).toMatch(`Error on reading termination log ${words}: `);
  });
  it('an unreadable log', async () => {
    expect(await message()).toMatch('Error on reading termination message from logs: ');
  });

  it('pipes block neither their containers nor the rest of the node', async () => {
    // Node has four threads for files: that many pipes without a writer would block all of them.
    const pipes = Array.from({ length: 6 }, (_, index) => join(directory, `pipe-${index}`));
    execFileSync('mkfifo', pipes);
    const texts = await Promise.all(
      pipes.map((hostPath) => message({ mounts: [{ containerPath: '/dev/termination-log', hostPath }] })),
    );
    for (const [index, text] of texts.entries())
      expect(text).toBe(
        `Error on reading termination log ${pipes[index]}: EINVAL: '${pipes[index]}' is a fifo, not a regular file`,
      );
  });
  it('a link in its place is not followed', async () => {
    await writeFile(join(dir, 'secret'), 'secret');
    await symlink(join(dir, 'secret'), words);
    expect(await message()).toMatch(`Error on reading termination log ${words}: `);
    expect(await message()).not.toContain('secret\n');
  });
});

describe('terminationLogPath', () => {
  const rows: readonly [rule: string, hostPaths: readonly string[], expected: string | undefined][] = [
    [
      'the file that the agent created',
      ['/root/pods/uid/containers/main/1a2b3c4d'],
      '/root/pods/uid/containers/main/1a2b3c4d',
    ],
    [
      'not the volume that the pod mounts there first',
      ['/root/pods/uid/volumes/kubernetes.io~empty-dir/v/f', '/root/pods/uid/containers/main/f'],
      '/root/pods/uid/containers/main/f',
    ],
    [
      'by the real path of the root',
      ['/real/pods/uid/containers/main/f'],
      '/real/pods/uid/containers/main/f',
    ],
    ['not a volume alone', ['/root/pods/uid/volume-subpaths/v/main/0'], undefined],
    ['not a file of another container', ['/root/pods/uid/containers/other/f'], undefined],
    ['not a file of another pod', ['/root/pods/other/containers/main/f'], undefined],
    ['nothing that leads out of the directory', ['/root/pods/uid/containers/main/../../../../f'], undefined],
    ['not the directory itself', ['/root/pods/uid/containers/main/'], undefined],
    ['not a parent directory', ['/root/pods/uid/containers/main/..'], undefined],
    ['nothing without mounts', [], undefined],
  ];
  it.each(rows)('%s', (_, hostPaths, expected) => {
    const status = observed({
      mounts: hostPaths.map((hostPath) => ({ containerPath: '/dev/termination-log', hostPath })),
    });
    expect(terminationLogPath(status, ['/root', '/real'])).toBe(expected);
  });
  it.each(['..', '', 'a/b'])('nothing for a pod whose UID is %j', (uid) => {
    const labels = { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.container.name': 'main' };
    const mounts = [
      { containerPath: '/dev/termination-log', hostPath: `/root/pods/${uid}/containers/main/f` },
    ];
    expect(terminationLogPath(observed({ labels, mounts }), ['/root'])).toBeUndefined();
  });
});
