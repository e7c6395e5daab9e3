import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import type { Volume } from '../../kube/index.js';
import { testDurableFiles } from '../test-durable-files.js';
import { container, makePod, makeStatus, running } from '../test-fixtures.js';
import { ActuatedResources } from './actuated-resources.js';
import { resizedVolumes } from './decide-resize.js';
import { type ResizeWorld, sized, worldOf } from './test-world.js';

const inMemory = (name: string, sizeLimit?: string): Volume => ({
  name,
  emptyDir: { medium: 'Memory', ...(sizeLimit === undefined ? {} : { sizeLimit }) },
});

describe('which volumes are resized', () => {
  it.each<[rule: string, volume: Volume, told: string | undefined, expected: string | undefined]>([
    ['one that grows', inMemory('v', '64Mi'), '32Mi', 'v 64Mi up'],
    ['one that shrinks', inMemory('v', '16Mi'), '32Mi', 'v 16Mi down'],
    ['one that stays, in other words', inMemory('v', '32768Ki'), '32Mi', undefined],
    ['one of which nothing is recorded', inMemory('v', '64Mi'), undefined, undefined],
    ['one whose record was lost', inMemory('v', '64Mi'), '0', 'v 64Mi up'],
    ['one that has no limit any more', inMemory('v'), '32Mi', undefined],
    ['one whose limit became zero', inMemory('v', '0'), '32Mi', undefined],
    ['one on disk', { name: 'v', emptyDir: { sizeLimit: '64Mi' } }, '32Mi', undefined],
    [
      'one in huge pages',
      { name: 'v', emptyDir: { medium: 'HugePages', sizeLimit: '4Mi' } },
      '2Mi',
      undefined,
    ],
  ])('%s', (_rule, volume, told, expected) => {
    const [resize] = resizedVolumes(makePod({ volumes: [volume] }), () => told);
    expect(resize && `${resize.name} ${resize.limit} ${resize.decreases ? 'down' : 'up'}`).toBe(expected);
  });
});

describe('the resize of volumes', () => {
  const world = (from: string, to: string, more: Partial<ResizeWorld> = {}): ResizeWorld => ({
    wanted: { app: sized('2', '200Mi') },
    told: { app: sized('1', '100Mi') },
    spec: { volumes: [inMemory('v', to)] },
    volumesTold: { v: from },
    wantedBounds: { memoryLimitBytes: 200 * 1024 * 1024, cpuShares: 2048, quotaMicros: 200_000 },
    ...more,
  });
  const kinds = (calls: readonly string[]): string[] =>
    calls.flatMap((call) => /^(volume \S+|pod \w+)/.exec(call)?.[0] ?? (call.startsWith('app') ? 'app' : []));

  it('a volume grows after the memory and before the CPU', async () => {
    const { sync, calls, actuated } = worldOf(world('32Mi', '64Mi'));
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(kinds(calls)).toEqual([
      'pod memoryLimitBytes',
      'app',
      'volume v=64Mi',
      'pod quotaMicros',
      'pod cpuShares',
      'app',
    ]);
    expect(actuated.volumeLimit('uid-1', 'v')).toBe('64Mi');
  });

  it('a volume shrinks before the memory', async () => {
    const { sync, calls } = worldOf(world('64Mi', '32Mi'));
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(kinds(calls).slice(0, 2)).toEqual(['volume v=32Mi', 'pod memoryLimitBytes']);
  });

  it('a volume alone is resized, and again only when its limit changes', async () => {
    const { sync, calls } = worldOf(
      world('64Mi', '32Mi', { told: { app: sized('2', '200Mi') }, wantedBounds: {} }),
    );
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(kinds(calls)).toEqual(['volume v=32Mi']);
  });

  it('a volume waits for the preparations of its pod, which other resizes do not', () => {
    expect(worldOf(world('64Mi', '32Mi')).resizesAlone()).toBe(false);
    expect(worldOf(world('64Mi', '64Mi')).resizesAlone()).toBe(true);
  });

  it('one that cannot shrink ends the resize before anything else changes, and is tried again', async () => {
    let isFull = true;
    const { sync, calls, actuated, clock } = worldOf(
      world('64Mi', '32Mi', {
        resizeVolume: async () => {
          if (isFull) throw new Error('volume v is not yet mounted; deferring resize');
        },
      }),
    );
    const failure = 'failed to resize volume v: volume v is not yet mounted; deferring resize';
    expect(await sync()).toMatchObject({ inProgress: true, failure: expect.stringContaining(failure) });
    expect(kinds(calls)).toEqual([]);
    expect(actuated.volumeLimit('uid-1', 'v')).toBe('64Mi');
    isFull = false;
    await clock.advance(10_000);
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(kinds(calls)[0]).toBe('volume v=32Mi');
  });

  it('nothing happens to volumes where they are not followed', async () => {
    const { sync, calls } = worldOf({
      ...world('32Mi', '64Mi'),
      volumesTold: undefined as never,
    });
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(kinds(calls)).not.toContain('volume v=64Mi');
  });
});

describe('what is remembered of volumes', () => {
  let rootDir: string;
  beforeEach(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'nodelet-actuated-'));
  });
  afterEach(() => rm(rootDir, { recursive: true }));
  const open = async (hasVolumes = true): Promise<ActuatedResources> => {
    const actuated = new ActuatedResources({
      checkpoint: { rootDir, store: testDurableFiles(systemClock) },
      hasVolumes,
    });
    await actuated.start();
    return actuated;
  };
  const pod = (limit: string) => makePod({ containers: [container('app')], volumes: [inMemory('v', limit)] });
  const status = makeStatus(pod('1Mi'), [running('app')]);

  it('survives a restart', async () => {
    const before = await open();
    before.podBegins(pod('64Mi'));
    await before.stop();
    const after = await open();
    after.podGoesOn(pod('32Mi'), status);
    expect(after.volumeLimit('uid-1', 'v')).toBe('64Mi');
    await after.stop();
  });

  it('is what the pod is allocated if an earlier run did not follow volumes', async () => {
    const before = await open(false);
    before.podBegins(pod('64Mi'));
    before.setContainer('uid-1', 'app', sized('1', '1Mi'));
    expect(before.volumeLimit('uid-1', 'v')).toBeUndefined();
    await before.stop();
    const after = await open();
    after.podGoesOn(pod('64Mi'), status);
    expect(after.volumeLimit('uid-1', 'v')).toBe('64Mi');
    await after.stop();
  });

  it('is not known if the file is lost: the volume gets its size once more', async () => {
    await writeFile(join(rootDir, 'actuated_pods_state'), JSON.stringify({ data: '{}', checksum: 1 }));
    const actuated = await open();
    actuated.podGoesOn(pod('64Mi'), status);
    actuated.podGoesOn(pod('64Mi'), status);
    expect(actuated.volumeLimit('uid-1', 'v')).toBe('0');
    await actuated.stop();
  });
});
