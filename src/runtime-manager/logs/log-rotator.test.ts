import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import {
  ContainerState,
  ContainerStatusResponse,
  CriError,
  ListContainersResponse,
  ReopenContainerLogResponse,
  unimplementedCriRuntime,
} from '../../cri/index.js';
import { type HeldPath, linuxHost } from '../../host/index.js';
import { Timeline } from '../../timeline/index.js';
import { LogRotator, type LogRotatorOptions } from './log-rotator.js';
import { planRotation, rotatedName } from './rotation.js';

describe('planRotation', () => {
  it.each([
    ['nothing beside the log', ['0.log'], [], []],
    ['temporary files are removed', ['0.log', '0.log.1.tmp'], ['0.log.1.tmp'], []],
    ['plain files that were compressed are removed', ['0.log', '0.log.1', '0.log.1.gz'], ['0.log.1'], []],
    [
      'the oldest beyond maxFiles - 2 are removed',
      ['0.log', '0.log.4', '0.log.1.gz', '0.log.3.gz', '0.log.2.gz'],
      ['0.log.1.gz'],
      ['0.log.4'],
    ],
    ['other logs stay', ['0.log', '1.log', '1.log.1', '0.logx'], [], []],
  ])('%s', (_, names, remove, compress) => {
    expect(planRotation('0.log', names, 5)).toEqual({ remove, compress });
  });
  it('keeps no rotated file besides the newest with a limit of two', () => {
    expect(planRotation('0.log', ['0.log', '0.log.1'], 2)).toEqual({ remove: ['0.log.1'], compress: [] });
  });
  it('names the rotated log by local time', () => {
    expect(rotatedName('/x/0.log', new Date(2026, 0, 2, 3, 4, 5).getTime())).toBe('/x/0.log.20260102-030405');
  });
});

describe('LogRotator', () => {
  let dir: string;
  let log: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'rotate-'));
    log = join(dir, '0.log');
  });
  afterEach(() => rm(dir, { recursive: true }));

  const scene = (over: Partial<LogRotatorOptions> = {}) => {
    const clock = new VirtualClock(new Date(2026, 0, 2, 3, 4, 5).getTime());
    const timeline = new Timeline({ clock });
    const state = { refuses: false, reopened: 0 };
    const rotator = new LogRotator({
      cri: {
        ...unimplementedCriRuntime(),
        listContainers: async ({ filter }) => {
          expect(filter?.state?.state).toBe(ContainerState.CONTAINER_RUNNING);
          return ListContainersResponse.create({ containers: [{ id: 'c1' }] });
        },
        containerStatus: async () => ContainerStatusResponse.create({ status: { id: 'c1', logPath: log } }),
        async reopenContainerLog() {
          if (state.refuses) throw new CriError('Internal', 'no');
          state.reopened++;
          await writeFile(log, '');
          return ReopenContainerLogResponse.create();
        },
      },
      clock,
      timeline,
      maxSizeBytes: 10,
      maxFiles: 3,
      workers: 1,
      periodMs: 10_000,
      ...over,
    });
    return { clock, timeline, rotator, state };
  };

  it('leaves a small log alone', async () => {
    const { rotator, state } = scene();
    await writeFile(log, 'small');
    await rotator.rotateAll();
    expect([await readdir(dir), state.reopened]).toEqual([['0.log'], 0]);
  });
  it('rotates a log of the maximum size, compressing the one before with its mode', async () => {
    const { rotator, clock } = scene();
    await writeFile(log, '0123456789');
    await rotator.rotateAll();
    const first = '0.log.20260102-030405';
    expect((await readdir(dir)).sort()).toEqual(['0.log', first]);
    await chmod(join(dir, first), 0o640);
    await clock.advance(10_000);
    await writeFile(log, 'abcdefghij');
    await rotator.rotateAll();
    expect((await readdir(dir)).sort()).toEqual(['0.log', `${first}.gz`, '0.log.20260102-030415']);
    expect(gunzipSync(await readFile(join(dir, `${first}.gz`))).toString()).toBe('0123456789');
    expect((await stat(join(dir, `${first}.gz`))).mode & 0o777).toBe(0o640);
  });
  it('does not write through a link at the compressed log’s path', async () => {
    const { rotator, clock } = scene();
    await writeFile(log, '0123456789');
    await rotator.rotateAll();
    const first = '0.log.20260102-030405';
    await writeFile(join(dir, 'victim'), 'untouched');
    await symlink('victim', join(dir, `${first}.tmp`));
    await symlink('victim', join(dir, '0.log.20260101-000000'));
    await clock.advance(10_000);
    await writeFile(log, 'abcdefghij');
    await rotator.rotateAll();
    expect(await readFile(join(dir, 'victim'), 'utf8')).toBe('untouched');
    expect(gunzipSync(await readFile(join(dir, `${first}.gz`))).toString()).toBe('0123456789');
  });
  it('restores the log when the runtime does not reopen it', async () => {
    const { rotator, state, timeline } = scene();
    state.refuses = true;
    await writeFile(log, '0123456789');
    await rotator.rotateAll();
    expect(await readdir(dir)).toEqual(['0.log']);
    expect(await readFile(log, 'utf8')).toBe('0123456789');
    expect(timeline.ofNode().map(({ kind }) => kind)).toEqual(['problem']);
  });
  it('makes the runtime recreate a missing log', async () => {
    const { rotator, state } = scene();
    await rotator.rotateAll();
    expect([await readdir(dir), state.reopened]).toEqual([['0.log'], 1]);
  });
  it('runs at its interval and stops', async () => {
    const { rotator, clock, state } = scene();
    await writeFile(log, '0123456789');
    const stop = new AbortController();
    const running = rotator.run(stop.signal).catch(() => {});
    await clock.advance(9_999);
    expect(state.reopened).toBe(0);
    await clock.advance(1);
    for (let tries = 0; tries < 100 && state.reopened === 0; tries++)
      await new Promise((go) => setTimeout(go, 5));
    expect(state.reopened).toBe(1);
    stop.abort();
    await running;
    await rename(log, `${log}.end`);
  });
  describe('between passes', () => {
    /** Counts the directories that are held anew, and those that were closed. */
    const counting = () => {
      const real = linuxHost();
      const counts = { held: 0, open: 0 };
      const counted = (held: HeldPath): HeldPath => {
        counts.open++;
        const { procPath } = held;
        return {
          procPath,
          stat: () => held.stat(),
          child: async (name) => counted(await held.child(name)),
          readlink: (name) => held.readlink(name),
          makeDirectory: (name, mode) => held.makeDirectory(name, mode),
          createFile: (name, mode) => held.createFile(name, mode),
          openFile: () => held.openFile(),
          openDirectory: () => held.openDirectory(),
          mountId: () => held.mountId(),
          close: async () => {
            counts.open--;
            await held.close();
          },
        };
      };
      const hold = async (place: string) => {
        counts.held++;
        return counted(await real.hold(place));
      };
      return { counts, host: { files: real.files, hold } };
    };

    it('holds the directory of a log with room, and lets go at the end', async () => {
      const { counts, host } = counting();
      const { rotator } = scene({ host });
      await writeFile(log, 'small');
      await rotator.rotateAll();
      await rotator.rotateAll();
      expect(counts).toEqual({ held: 1, open: 1 });
      await rotator.close();
      expect(counts.open).toBe(0);
    });
    it('sees the log grow, and rotates it in the directory that is there by then', async () => {
      const { counts, host } = counting();
      const { rotator, state } = scene({ host });
      await writeFile(log, 'small');
      await rotator.rotateAll();
      await writeFile(log, '0123456789');
      await rotator.rotateAll();
      expect([state.reopened, counts]).toEqual([1, { held: 2, open: 1 }]);
      await rotator.close();
    });
    it('sees that the directory was removed and made anew', async () => {
      const { rotator, state } = scene();
      await writeFile(log, 'small');
      await rotator.rotateAll();
      await rm(dir, { recursive: true });
      await mkdir(dir);
      await rotator.rotateAll();
      expect([await readdir(dir), state.reopened]).toEqual([['0.log'], 1]);
      await rotator.close();
    });
    it('holds no more than it may', async () => {
      const { counts, host } = counting();
      const { rotator } = scene({ host, mostHeld: 0 });
      await writeFile(log, 'small');
      await rotator.rotateAll();
      await rotator.rotateAll();
      expect(counts).toEqual({ held: 2, open: 0 });
    });
    it('lets go of containers that run no more', async () => {
      const { counts, host } = counting();
      const containers = [{ id: 'c1' }];
      const { rotator } = scene({
        host,
        cri: {
          ...unimplementedCriRuntime(),
          listContainers: async () => ListContainersResponse.create({ containers }),
          containerStatus: async () => ContainerStatusResponse.create({ status: { id: 'c1', logPath: log } }),
        },
      });
      await writeFile(log, 'small');
      await rotator.rotateAll();
      containers.pop();
      await rotator.rotateAll();
      expect(counts).toEqual({ held: 1, open: 0 });
    });
  });
  it('rejects fewer than two files and rotates nothing at a negative size', async () => {
    expect(() => scene({ maxFiles: 1 })).toThrow(/at least 2/);
    await scene({ maxSizeBytes: -1 }).rotator.run(new AbortController().signal);
  });
});
