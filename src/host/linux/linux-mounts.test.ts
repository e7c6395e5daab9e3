/** Commands that do not end: nothing waits for them beyond its limit. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cancelled, systemClock } from '../../async/index.js';
import { linuxHost } from './linux-host.js';
import { runInShell } from './shells.js';

describe('runInShell', () => {
  const run = (script: string, limitMs = 5_000, signal?: AbortSignal) =>
    runInShell({ clock: systemClock, command: 'sh', arguments: ['-c', script], limitMs, signal });

  it('success is silent', async () => expect(await run('echo fine')).toBeUndefined());

  it('a failure has the status and all output', async () =>
    expect(await run('echo out; echo err >&2; exit 32')).toEqual({
      status: 'exit status 32',
      output: expect.stringMatching(/out\nerr\n|err\nout\n/),
      timedOut: false,
    }));

  it('a signal is told', async () =>
    expect(await run('kill -9 $$')).toMatchObject({ status: 'signal: SIGKILL', timedOut: false }));

  it('what does not end is not waited for', async () => {
    const start = performance.now();
    expect(await run('exec sleep 30', 50)).toMatchObject({ status: 'no end within 0.05s', timedOut: true });
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it('what is cancelled is not waited for', async () => {
    const controller = new AbortController();
    const running = run('exec sleep 30', 30_000, controller.signal);
    setTimeout(() => controller.abort(), 20);
    await expect(running).rejects.toThrow(Cancelled);
    await expect(run('true', 1_000, AbortSignal.abort())).rejects.toThrow(Cancelled);
  });

  it('output is bounded', async () => {
    const failure = await run('head -c 1000000 /dev/zero | tr "\\0" x; exit 1');
    expect(failure?.output.length).toBeLessThan(200_000);
  });

  it('a command that is not there fails', async () => {
    const failure = await runInShell({
      clock: systemClock,
      command: 'no-such-command',
      arguments: [],
      limitMs: 100,
    });
    expect(failure).toMatchObject({
      status: 'exit status 127',
      output: expect.stringContaining('no-such-command: not found'),
      timedOut: false,
    });
  });

  it('words are passed as they are', async () => {
    const failure = await runInShell({
      clock: systemClock,
      command: 'sh',
      arguments: ['-c', 'printf "%s|" "$@"; exit 1', 'sh', "it's", '$HOME `id`', 'a\nb', ''],
      limitMs: 5_000,
    });
    expect(failure?.output).toBe("it's|$HOME `id`|a\nb||");
  });

  it('many at once keep their outputs apart', async () => {
    const ran = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        run(`echo ${index}; sleep 0.0${index % 5}; exit ${index + 1}`),
      ),
    );
    expect(ran.map((failure) => [failure?.status, failure?.output])).toEqual(
      Array.from({ length: 12 }, (_, index) => [`exit status ${index + 1}`, `${index}\n`]),
    );
  });

  it('the command that is given up is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nodelet-killed-'));
    await run(`sleep 0.3; touch ${folder}/late`, 50);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });
});

describe('mounts with commands that hang', () => {
  const path = process.env.PATH;
  let folder: string;

  /** Commands that note their arguments; they hang unless told to be quick. */
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nodelet-commands-'));
    for (const command of ['mount', 'umount']) {
      const script = `#!/bin/sh\necho "${command} $*" >> ${folder}/log\ncase "$1" in -f) exit 0;; esac\nexec sleep 30\n`;
      writeFileSync(join(folder, command), script);
      chmodSync(join(folder, command), 0o755);
    }
    process.env.PATH = `${folder}:${path}`;
  });
  afterEach(() => {
    process.env.PATH = path;
    rmSync(folder, { recursive: true });
  });
  const log = (): string => readFileSync(join(folder, 'log'), 'utf8');

  it('mount ends at its limit', async () => {
    const host = linuxHost({ mountTimeoutMs: 300 });
    await expect(host.mounts.mount({ source: 'a:/b', target: '/t', fsType: 'nfs' })).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: expect.stringContaining('mount failed: no end within 0.3s\nMounting command: mount\n'),
    });
    expect(log()).toBe('mount -t nfs a:/b /t\n');
  });

  it('unmount ends at its limit', async () => {
    const host = linuxHost();
    await expect(host.mounts.unmount('/t', { timeoutMs: 300 })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(log()).toBe('umount /t\n');
  });

  it('a forced unmount is forced after its limit', async () => {
    const host = linuxHost();
    await host.mounts.unmount('/t', { timeoutMs: 300, force: true });
    expect(log()).toBe('umount /t\numount -f /t\n');
  });
});
