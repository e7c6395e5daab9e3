import { describe, expect, it } from 'vitest';
import { type EvictionSignal, type EvictionThreshold, readEvictionThresholds } from '../../kube/index.js';
import { decideLayout, type FileSystemLayout } from './layout.js';
import type { SignalReading } from './signals.js';
import { gi, mi } from './test-pods.js';
import { isMet, withAllocatableMemory, withContainerFs } from './thresholds.js';

const none = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
};
const read = (
  settings: Partial<Parameters<typeof readEvictionThresholds>[0]>,
): readonly EvictionThreshold[] => readEvictionThresholds({ ...none, ...settings }).thresholds;
const signals = (thresholds: readonly EvictionThreshold[]): EvictionSignal[] =>
  thresholds.map(({ signal }) => signal);

describe('a threshold is met', () => {
  const at = (available: number, capacity = 8 * gi): ReadonlyMap<EvictionSignal, SignalReading> =>
    new Map([['memory.available', { available, capacity, atMs: 0 }]]);
  it.each<[string, string, number, boolean]>([
    ['below it', '100Mi', 99 * mi, true],
    ['not at it', '100Mi', 100 * mi, false],
    ['below its share', '5%', 400 * mi, true],
    ['never at a share of nothing', '0.0%', 0, false],
    ['below nothing, by any share', '5%', -1, true],
  ])('%s', (_rule, value, available, met) => {
    const [threshold] = read({ evictionHard: { 'memory.available': value } });
    expect(isMet(threshold!, at(available))).toBe(met);
  });

  it('never without a reading', () => {
    const [threshold] = read({ evictionHard: { 'allocatableMemory.available': '5%' } });
    expect(isMet(threshold!, at(0))).toBe(false);
  });

  it('of the memory of all pods, which use more than they may', () => {
    const [threshold] = withAllocatableMemory(read({ evictionHard: { 'memory.available': '5%' } })).slice(-1);
    const reading: SignalReading = { available: -0.5 * gi, capacity: 4 * gi, atMs: 0 };
    expect(isMet(threshold!, new Map([['allocatableMemory.available', reading]]))).toBe(true);
  });
});

it('hard thresholds of memory hold for all pods together, with their minimum to reclaim', () => {
  const all = withAllocatableMemory(
    read({
      evictionHard: { 'memory.available': '100Mi', 'pid.available': '10' },
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '1m' },
      evictionMinimumReclaim: { 'memory.available': '1Mi' },
    }),
  );
  expect(signals(all).filter((signal) => signal === 'allocatableMemory.available')).toHaveLength(1);
  expect(all.at(-1)?.minReclaim).toEqual(all[0]?.minReclaim);
});

describe('the layout of file systems', () => {
  const fs = { time: null, availableBytes: 1, capacityBytes: 2, inodesFree: 3, inodes: 4 };
  it.each<[string, Partial<Parameters<typeof decideLayout>[0]>, FileSystemLayout]>([
    ['one for all', {}, { dedicated: false, split: false }],
    ['images apart', { imageDevice: 2n }, { dedicated: true, split: false }],
    [
      'one device whose file systems differ',
      { containerFs: { ...fs, inodes: 5 } },
      { dedicated: true, split: false },
    ],
    [
      'images and containers apart',
      { imageDevice: 2n, containerDevice: 1n },
      { dedicated: true, split: true },
    ],
    ['a runtime that does not tell them apart', { imageDevice: 2n }, { dedicated: true, split: false }],
  ])('%s', (_rule, figures, layout) => {
    const one = { rootDevice: 1n, imageDevice: 1n, containerDevice: undefined, imageFs: fs, containerFs: fs };
    expect(decideLayout({ ...one, ...figures })).toEqual(layout);
  });
});

it('files of containers are not told apart where nobody looks', () => {
  const fs = { time: null, availableBytes: 1, capacityBytes: 2, inodesFree: 3, inodes: 4 };
  const figures = { rootDevice: 1n, imageDevice: 2n, containerDevice: 1n, imageFs: fs, containerFs: fs };
  const layout = decideLayout(figures, false);
  expect(layout).toEqual({ dedicated: true, split: false });
  const configured = read({ evictionHard: { 'imagefs.available': '15%', 'nodefs.available': '10%' } });
  expect(withContainerFs(configured, layout, false)).toEqual({ thresholds: configured, ignored: [] });
  expect(signals(withContainerFs(configured, layout).thresholds)).toContain('containerfs.available');
});

describe('thresholds of the files of containers', () => {
  const configured = read({
    evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%', 'imagefs.inodesFree': '5%' },
  });
  const containerFs = (layout: FileSystemLayout, thresholds = configured) =>
    withContainerFs(thresholds, layout).thresholds.filter(({ signal }) => signal.startsWith('containerfs.'));
  const share = (percent: number) => ({
    kind: 'fraction',
    fraction: Math.fround(Math.fround(percent) / 100),
  });
  it.each<[string, FileSystemLayout, unknown]>([
    [
      'are those of the node on one file system',
      { dedicated: false, split: false },
      [{ signal: 'containerfs.available', value: share(10), graceMs: 0 }],
    ],
    [
      'are those of the node where containers lie apart from images',
      { dedicated: true, split: true },
      [{ signal: 'containerfs.available', value: share(10), graceMs: 0 }],
    ],
    [
      'are those of images where both lie apart',
      { dedicated: true, split: false },
      [
        { signal: 'containerfs.available', value: share(15), graceMs: 0 },
        { signal: 'containerfs.inodesFree', value: share(5), graceMs: 0 },
      ],
    ],
    ['are not there where only containers lie apart', { dedicated: false, split: true }, []],
  ])('%s', (_rule, layout, expected) => {
    expect(containerFs(layout)).toEqual(expected);
  });

  it('take the place of configured ones, which are named', () => {
    const given = read({ evictionHard: { 'nodefs.available': '10%', 'containerfs.available': '50%' } });
    const { thresholds, ignored } = withContainerFs(given, { dedicated: false, split: false });
    expect(ignored).toEqual(['containerfs.available']);
    expect(signals(thresholds)).toEqual(['nodefs.available', 'containerfs.available']);
    expect(thresholds.at(-1)?.value).toEqual(share(10));
  });
});
