import { execFileSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { appendFile, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, systemClock, VirtualClock } from '../../async/index.js';
import {
  ContainerState,
  ContainerStatusResponse,
  CriError,
  unimplementedCriRuntime,
} from '../../cri/index.js';
import { linuxHost } from '../../host/index.js';
import { Timeline } from '../../timeline/index.js';
import { readContainerLogs } from './container-logs.js';
import { pollingNotice } from './notices.js';
import { olderLines } from './older-lines.js';
import { type LogRequest, logOptions } from './options.js';
import type { ContainerLogSink } from './output.js';
import { readLogs } from './read.js';
import { LogWatch } from './watch.js';

let dir: string;
let path: string;
let damaged: string[];
beforeEach(async () => {
  damaged = [];
  dir = await mkdtemp(join(tmpdir(), 'logs-'));
  path = join(dir, '0.log');
});
afterEach(() => rm(dir, { recursive: true }));

const at = (second: number): string => `2026-01-01T00:00:0${second}Z`;
const stamp = (second: number): string => `2026-01-01T00:00:0${second}.000000000Z`;
const line = (second: number, content: string, stream = 'stdout', tag = 'F'): string =>
  `${at(second)} ${stream} ${tag} ${content}\n`;
const three = [1, 2, 3].map((n) => line(n, `line${n}`)).join('');

class Memory implements ContainerLogSink {
  text = '';
  async write(bytes: Buffer): Promise<void> {
    this.text += bytes.toString();
  }
}

async function read(
  content: string,
  request: LogRequest = {},
  streams = ['stdout', 'stderr'],
): Promise<string> {
  await writeFile(path, content);
  const sink = new Memory();
  await readLogs({
    path,
    options: logOptions(request, 0),
    sinks: Object.fromEntries(streams.map((stream) => [stream, sink])),
    isRunning: async () => false,
    clock: new VirtualClock(),
    onDamaged: (name) => damaged.push(name),
  });
  return sink.text;
}

describe('rotated files', () => {
  const second = (n: number): string => line(n, `line${n}`);
  const since = (n: number): LogRequest => ({ sinceTimeMs: Date.UTC(2026, 0, 1, 0, 0, n) });
  async function readRotated(request: LogRequest, current = second(7) + second(8)): Promise<string> {
    const rotated = [
      ['0.log.20260101-000002.gz', gzipSync(second(1) + second(2)), 2],
      ['0.log.20260101-000004.gz', gzipSync(second(3) + second(4)), 4],
      ['0.log.20260101-000006', Buffer.from(second(5) + second(6)), 6],
      ['0.log.20260101-000006.tmp', Buffer.from('torn'), 6],
      ['1.log.20260101-000006', Buffer.from(line(6, 'of the next instance')), 6],
      ['0.log.notes', Buffer.from('not ours'), 6],
    ] as const;
    for (const [name, content, modified] of rotated) {
      await writeFile(join(dir, name), content);
      await utimes(join(dir, name), 0, Date.UTC(2026, 0, 1, 0, 0, modified) / 1000);
    }
    return await read(current, request);
  }
  const lines = (from: number, to = 8): string =>
    Array.from({ length: to - from + 1 }, (_, index) => `line${from + index}\n`).join('');

  it.each<[string, LogRequest, string]>([
    ['no option: the current file alone', {}, lines(7)],
    ['a tail that the current file has', { tailLines: 2 }, lines(7)],
    ['a tail from a plain rotated file', { tailLines: 3 }, lines(6)],
    ['a tail from a compressed one', { tailLines: 5 }, lines(4)],
    ['a tail of all', { tailLines: 8 }, lines(1)],
    ['a tail of more than there is', { tailLines: 100 }, lines(1)],
    ['since the current file', since(7), lines(7)],
    ['since a rotated file', since(4), lines(4)],
    ['since before all', since(0), lines(1)],
    ['since and tail: the later start counts', { ...since(2), tailLines: 4 }, lines(5)],
    ['since and tail: no line before since', { ...since(6), tailLines: 100 }, lines(6)],
    ['a limit of bytes', { tailLines: 8, limitBytes: 9 }, 'line1\nlin'],
    ['followed to the end', { tailLines: 5, follow: true }, lines(4)],
  ])('%s', async (_, request, expected) => {
    expect(await readRotated(request)).toBe(expected);
  });

  it('an empty current file, just rotated', async () => {
    expect(await readRotated({ tailLines: 1 }, '')).toBe('line6\n');
  });
  it('a file in both forms is read once', async () => {
    await writeFile(join(dir, '0.log.20260101-000004'), second(3) + second(4));
    expect(await readRotated({ tailLines: 100 })).toBe(lines(1));
  });
  it('a link is not followed', async () => {
    await writeFile(join(dir, 'secret'), line(1, 'secret'));
    await symlink('secret', join(dir, '0.log.20250101-000000'));
    expect(await readRotated({ tailLines: 100 })).toBe(lines(1));
    expect(damaged).toEqual(['0.log.20250101-000000']);
  });
  it('a damaged file gives the lines before the damage and is named', async () => {
    const whole = gzipSync(Array.from({ length: 5000 }, (_, n) => line(1, `old ${n * 7919}`)).join(''));
    await writeFile(join(dir, '0.log.20260101-000001.gz'), whole.subarray(0, whole.length / 2));
    const text = await readRotated({ tailLines: 100_000 });
    expect(text.startsWith('old 0\nold 7919\n')).toBe(true);
    expect(text.endsWith(lines(1))).toBe(true);
    // Once for counting, once for reading.
    expect(damaged).toEqual(['0.log.20260101-000001.gz', '0.log.20260101-000001.gz']);
  });
  it.each([
    ['a compressed file that holds too much is cut, and named', gzipSync, [], ['0.log.20260101-000001']],
    ['a plain file is read to its end, however long it is', Buffer.from, [second(1), second(2)], []],
  ])('%s', async (_, form, expected, named) => {
    await writeFile(path, '');
    await writeFile(join(dir, '0.log.20260101-000001'), form(second(1) + second(2)));
    const held = await linuxHost().hold(path);
    const current = await held.openFile().finally(() => held.close());
    const found: string[] = [];
    const request = { host: linuxHost(), path, current, lines: undefined, sinceMs: 0 };
    const onDamaged = (name: string): void => void damaged.push(name);
    for await (const part of olderLines({ ...request, onDamaged, mostUnpackedBytes: 20 }))
      found.push(...part.map(String));
    await current.close();
    expect([found, damaged]).toEqual([expected, named]);
  });
});

describe('readLogs', () => {
  it.each([
    ['everything', {}, 'line1\nline2\nline3\n'],
    ['tail 2', { tailLines: 2 }, 'line2\nline3\n'],
    ['tail 0', { tailLines: 0 }, ''],
    ['limit 9 stops within a line', { limitBytes: 9 }, 'line1\nlin'],
    ['limit 0', { limitBytes: 0 }, ''],
    ['the prefix counts against the limit', { limitBytes: 35, timestamps: true }, `${stamp(1)} line`],
    ['since drops what is strictly before', { sinceTimeMs: Date.UTC(2026, 0, 1, 0, 0, 2) }, 'line2\nline3\n'],
    ['timestamps', { timestamps: true, tailLines: 1 }, `${stamp(3)} line3\n`],
  ])('%s', async (_, request, expected) => {
    expect(await read(three, request)).toBe(expected);
  });
  it('a line of several parts has a single prefix', async () => {
    const content = line(1, 'a', 'stdout', 'P') + line(2, 'b', 'stdout', 'P') + line(3, 'c') + line(4, 'd');
    expect(await read(content, { timestamps: true })).toBe(`${stamp(1)} abc\n${stamp(4)} d\n`);
  });
  it('an unrequested stream counts towards records, not bytes', async () => {
    const content = line(1, 'out1') + line(2, 'err', 'stderr') + line(3, 'out2');
    expect(await read(content, { limitBytes: 10 }, ['stdout'])).toBe('out1\nout2\n');
    expect(await read(content, { tailLines: 2 }, ['stdout'])).toBe('out2\n');
  });
  it('keeps the order of both streams', async () => {
    expect(await read(line(1, 'a') + line(2, 'b', 'stderr') + line(3, 'c'))).toBe('a\nb\nc\n');
  });
  it('skips lines that are not records', async () => {
    const content = `${line(1, 'a')}${line(2, 'b')}rubbish\n${line(3, 'c')}`;
    expect(await read(content)).toBe('a\nb\nc\n');
    expect(await read(content, { tailLines: 3 })).toBe('b\nc\n');
  });
  it('writes a last line without a newline', async () => {
    expect(await read(`${line(1, 'a')}${at(2)} stdout F cut`)).toBe('a\ncut');
  });
  it('reads lines longer than a chunk', async () => {
    const long = 'x'.repeat(200_000);
    expect(await read(line(1, long) + line(2, 'b'))).toBe(`${long}\nb\n`);
  });
  it('follows links', async () => {
    await writeFile(join(dir, 'real'), three);
    await symlink(join(dir, 'real'), path);
    const sink = new Memory();
    const isRunning = async (): Promise<boolean> => false;
    await readLogs({
      path,
      options: logOptions({}, 0),
      sinks: { stdout: sink },
      isRunning,
      clock: systemClock,
    });
    expect(sink.text).toBe('line1\nline2\nline3\n');
  });
  it('a link exposes nothing but logs', async () => {
    const pods = join(dir, 'pods');
    const log = join(pods, 'a_b_uid/main/0.log');
    await mkdir(join(pods, 'a_b_uid/main'), { recursive: true });
    const id = 'e1'.repeat(32);
    const docker = join(dir, `docker/containers/${id}/${id}-json.log`);
    await mkdir(join(dir, `docker/containers/${id}`), { recursive: true });
    const of = async (target: string): Promise<string> => {
      await writeFile(target, line(1, 'text'));
      await rm(log, { force: true });
      await symlink(target, log);
      const sink = new Memory();
      await readLogs({
        path: log,
        options: logOptions({}, 0),
        sinks: { stdout: sink },
        isRunning: async () => false,
        clock: new VirtualClock(),
      });
      return sink.text;
    };
    expect(await of(join(pods, 'real'))).toBe('text\n');
    expect(await of(docker)).toBe('text\n');
    await expect(of(join(dir, 'secret'))).rejects.toThrow('leads out of');
    await expect(of(join(dir, `docker/containers/${id}/config.json`))).rejects.toThrow('leads out of');
  });
  it('a pipe in place of a log blocks nothing', async () => {
    execFileSync('mkfifo', [path]);
    const reads = Array.from({ length: 6 }, () =>
      readLogs({
        path,
        options: logOptions({}, 0),
        sinks: {},
        isRunning: async () => false,
        clock: systemClock,
      }),
    );
    for (const result of await Promise.allSettled(reads))
      expect(String(result.status === 'rejected' && result.reason)).toContain(
        'is a fifo, not a regular file',
      );
  });
  it('rejects an unknown format', async () => {
    await expect(read('rubbish\n')).rejects.toThrow('unsupported log format');
  });
  it('names what is missing', async () => {
    const isRunning = async (): Promise<boolean> => false;
    await expect(
      readLogs({ path, options: logOptions({}, 0), sinks: {}, isRunning, clock: systemClock }),
    ).rejects.toThrow(
      `failed to try resolving symlinks in path "${path}": lstat ${path}: no such file or directory`,
    );
  });
  it('waits for a slow reader', async () => {
    let writing = 0;
    let most = 0;
    await writeFile(path, three.repeat(5000));
    const slow: ContainerLogSink = {
      async write() {
        most = Math.max(most, ++writing);
        await settle(1);
        writing--;
      },
    };
    const isRunning = async (): Promise<boolean> => false;
    await readLogs({
      path,
      options: logOptions({}, 0),
      sinks: { stdout: slow },
      isRunning,
      clock: systemClock,
    });
    expect(most).toBe(1);
  });
});

describe('following', () => {
  const follow = (request: LogRequest = {}, signal?: AbortSignal) => {
    const sink = new Memory();
    const state = { running: true };
    const done = readLogs({
      path,
      options: logOptions({ follow: true, ...request }, 0),
      sinks: { stdout: sink },
      isRunning: async () => state.running,
      clock: systemClock,
      ...(signal === undefined ? {} : { signal }),
    });
    const until = async (text: string): Promise<void> => {
      for (let tries = 0; tries < 300 && sink.text !== text; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      expect(sink.text).toBe(text);
    };
    return { done, state, until };
  };

  it('shows lines as they are written, and ends with the container', async () => {
    await writeFile(path, three);
    const { done, state, until } = follow({ tailLines: 1 });
    await until('line3\n');
    await appendFile(path, line(4, 'line4'));
    await until('line3\nline4\n');
    await appendFile(path, line(5, 'line5').slice(0, 30));
    await appendFile(path, line(5, 'line5').slice(30));
    await until('line3\nline4\nline5\n');
    state.running = false;
    await appendFile(path, line(6, 'last'));
    await done;
    await until('line3\nline4\nline5\nlast\n');
  });
  it('continues with the file that replaces a rotated one', async () => {
    await writeFile(path, line(1, 'old'));
    const { done, state, until } = follow();
    await until('old\n');
    await appendFile(path, line(2, 'late'));
    await rename(path, `${path}.1`);
    await writeFile(path, line(3, 'new'));
    await until('old\nlate\nnew\n');
    state.running = false;
    await done;
  });
  it('ends when cancelled', async () => {
    await writeFile(path, three);
    const stop = new AbortController();
    const { done, until } = follow({}, stop.signal);
    const seen = expect(done).rejects.toThrow('context cancelled');
    await until('line1\nline2\nline3\n');
    stop.abort();
    await seen;
  });
  it('ends at its limit', async () => {
    await writeFile(path, three);
    const { done, until } = follow({ limitBytes: 7 });
    await done;
    await until('line1\nl');
  });
  it('checks again after a second without a notification', async () => {
    await writeFile(path, three);
    const clock = new VirtualClock();
    let asked = 0;
    const done = readLogs({
      path,
      options: logOptions({ follow: true }, 0),
      sinks: {},
      isRunning: async () => ++asked < 3,
      clock,
    });
    for (let tries = 0; tries < 200 && asked < 3; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      await clock.advance(1000);
    }
    await done;
    expect(asked).toBe(3);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a log that cannot be watched', () => {
  const refused = (): never => {
    throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), {
      code: 'ENOSPC',
    });
  };
  it('is polled every second', async () => {
    const clock = new VirtualClock();
    const problems: unknown[] = [];
    const watch = new LogWatch(path, { clock, watch: refused, onPolling: (error) => problems.push(error) });
    let looks = 0;
    const looking = (async () => {
      for (; looks < 3; looks++) await watch.wait(undefined);
    })();
    await clock.advance(2_999);
    expect(looks).toBe(2);
    await clock.advance(1);
    await looking;
    expect(problems).toHaveLength(1);
    watch.close();
  });
  it('is polled when its watcher keeps failing', async () => {
    const clock = new VirtualClock();
    const watchers: EventEmitter[] = [];
    const problems: unknown[] = [];
    const failing = (): never => {
      const watcher = Object.assign(new EventEmitter(), { close: () => {} });
      watchers.push(watcher);
      return watcher as never;
    };
    const watch = new LogWatch(path, { clock, watch: failing, onPolling: (error) => problems.push(error) });
    for (let index = 0; index < 6; index++) watchers[index]?.emit('error', new Error('EMFILE'));
    expect([watchers.length, problems.length]).toEqual([6, 1]);
    await watch.wait(undefined);
    const waiting = watch.wait(undefined);
    await clock.advance(1_000);
    await waiting;
  });
  it('is reported once per node', () => {
    const timeline = new Timeline();
    for (let follower = 0; follower < 3; follower++) pollingNotice(timeline)(new Error('ENOSPC'));
    expect(timeline.ofNode().map(({ message }) => message)).toEqual([
      'polling container logs every second, as they cannot be watched: ENOSPC',
    ]);
  });
});

describe('readContainerLogs', () => {
  const base = { clock: systemClock, containerId: 'sim://abc', options: logOptions({ follow: true }, 0) };
  it('an unreachable runtime has not ended the container', async () => {
    await writeFile(path, three);
    let calls = 0;
    const cri = {
      ...unimplementedCriRuntime(),
      async containerStatus() {
        calls++;
        if (calls === 2) throw new CriError('Unavailable', 'restarting');
        const state = calls < 3 ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_EXITED;
        return ContainerStatusResponse.create({ status: { id: 'abc', state, logPath: path } });
      },
    };
    const sink = new Memory();
    await readContainerLogs({ ...base, cri, sinks: { stdout: sink } });
    expect([sink.text, calls]).toEqual(['line1\nline2\nline3\n', 3]);
  });
  it('names the container that the runtime does not report', async () => {
    const failing = readContainerLogs({ ...base, cri: unimplementedCriRuntime(), sinks: {} });
    await expect(failing).rejects.toThrow('unable to retrieve container logs for sim://abc');
  });
});
