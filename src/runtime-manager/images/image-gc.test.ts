import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import {
  CriError,
  type CriRuntime,
  ImageFsInfoResponse,
  ImageStatusResponse,
  ListContainersResponse,
  ListImagesResponse,
  ListPodSandboxResponse,
  RemoveImageResponse,
  StatusResponse,
  unimplementedCriRuntime,
} from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { ImageCollector, type ImageCollectorOptions } from './image-collector.js';
import {
  bytesToFree,
  formatBytes,
  type ImageRecord,
  removableForSpace,
  tooOld,
  usagePercent,
} from './image-gc.js';
import { ImageList } from './image-list.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const policy = { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 2 * minuteMs, maxAgeMs: 0 };
const record = (id: string, over: Partial<ImageRecord> = {}): ImageRecord => ({
  id,
  sizeBytes: 10,
  pinned: false,
  firstDetectedMs: 0,
  lastUsedMs: 0,
  inUse: false,
  ...over,
});
const ids = (records: readonly ImageRecord[]): string[] => records.map(({ id }) => id);

describe('decisions of image GC', () => {
  it.each([
    [100, 5, 95],
    [100, 100, 0],
    [100, 200, 0],
    [3, 1, 67],
  ])('of %d bytes %d are free: %d%% used', (capacity, available, percent) => {
    expect(usagePercent(capacity, available)).toBe(percent);
  });
  it.each([
    ['below the threshold', 16, 0],
    ['at the threshold', 15, 5],
    ['above it', 5, 15],
  ])('%s', (_, available, bytes) => {
    expect(bytesToFree(policy, 100, available)).toBe(bytes);
  });
  it('orders by last use, then by first sight; keeps pinned, used and young ones', () => {
    const nowMs = hourMs;
    const records = [
      record('late', { lastUsedMs: 30 * minuteMs }),
      record('early', { lastUsedMs: 10 * minuteMs }),
      record('never2', { firstDetectedMs: 5 }),
      record('never1', { firstDetectedMs: 4 }),
      record('pinned', { pinned: true }),
      record('used', { inUse: true }),
      record('young', { firstDetectedMs: nowMs - 2 * minuteMs + 1 }),
      record('just used', { lastUsedMs: nowMs }),
    ];
    expect(ids(removableForSpace(records, policy.minAgeMs, nowMs))).toEqual([
      'never1',
      'never2',
      'early',
      'late',
    ]);
  });
  it.each([
    ['kept while the agent is younger than the maximum age', 30 * minuteMs, []],
    ['removed afterwards', 2 * hourMs, ['a']],
  ])('an image that was never used is %s', (_, nowMs, expected) => {
    expect(ids(tooOld([record('a')], { ...policy, maxAgeMs: hourMs }, nowMs, 0))).toEqual(expected);
  });
  it.each([
    [512, '512 B'],
    [1536, '1.5 KiB'],
    [26.4 * 1024 ** 3, '26.4 GiB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});

interface Stored {
  readonly id: string;
  readonly size: number;
  readonly pinned?: boolean;
  readonly repoTags?: readonly string[];
}

const sandboxImage = 'example.com/pause:1';

function scene(images: Stored[], over: Partial<ImageCollectorOptions> = {}) {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const stored = new Map(images.map((image) => [image.id, image]));
  const used = new Set<string>();
  const stuck = new Set<string>();
  const removed: string[] = [];
  const usage = { capacityBytes: 100, availableBytes: 5 };
  const cri: CriRuntime = {
    ...unimplementedCriRuntime(),
    listImages: async () =>
      ListImagesResponse.create({
        images: [...stored.values()].map(({ repoTags = [], ...image }) => ({
          ...image,
          repoTags: [...repoTags],
        })),
      }),
    status: async () => StatusResponse.create({ info: { config: JSON.stringify({ sandboxImage }) } }),
    listPodSandbox: async () => ListPodSandboxResponse.create(),
    imageStatus: async ({ image }) => {
      const found = [...stored.values()].find(({ repoTags }) => repoTags?.includes(image?.image ?? ''));
      return ImageStatusResponse.create(
        found === undefined ? {} : { image: { id: found.id, size: found.size } },
      );
    },
    listContainers: async () =>
      ListContainersResponse.create({
        containers: [...used].map((imageId) => ({ id: `c-${imageId}`, imageId })),
      }),
    imageFsInfo: async () =>
      ImageFsInfoResponse.create({ imageFilesystems: [{ fsId: { mountpoint: '/images' } }] }),
    async removeImage({ image }) {
      const id = image?.image ?? '';
      if (stuck.has(id)) throw new CriError('Internal', `${id} is stuck`);
      stored.delete(id);
      removed.push(id);
      return RemoveImageResponse.create();
    },
  };
  const collector = new ImageCollector({
    cri,
    clock,
    timeline,
    nodeName: 'n1',
    policy,
    usageOf: async () => usage,
    ...over,
  });
  const events = (): string[] =>
    timeline
      .ofNode()
      .flatMap(({ event, message }) => (event === undefined ? [] : [`${event.reason}: ${message}`]));
  return { clock, collector, cri, timeline, used, stuck, removed, usage, events };
}

describe('ImageCollector', () => {
  it('frees down to the low threshold, oldest use first', async () => {
    const { clock, collector, used, removed } = scene([
      { id: 'a', size: 5 },
      { id: 'b', size: 10 },
      { id: 'c', size: 10 },
      { id: 'pinned', size: 50, pinned: true },
      { id: 'used', size: 50 },
    ]);
    used.add('used').add('c');
    await collector.detect();
    used.delete('c');
    await clock.advance(2 * minuteMs);
    await collector.collect();
    expect(removed).toEqual(['a', 'b']);
  });
  it('keeps young images and reports that it could not free enough', async () => {
    const { collector, removed, events } = scene([{ id: 'a', size: 50 }]);
    const message =
      "Insufficient free disk space on the node's image filesystem (95% of 100 B used). Failed to free sufficient space by deleting unused images (freed 0 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.";
    await expect(collector.collect()).rejects.toThrow(message);
    expect(removed).toEqual([]);
    expect(events()).toEqual([`FreeDiskSpaceFailed: ${message}`]);
  });
  it('goes on after an image that cannot be removed, and fails at the end', async () => {
    const { clock, collector, stuck, removed } = scene([
      { id: 'a', size: 20 },
      { id: 'b', size: 20 },
    ]);
    stuck.add('a');
    await collector.detect();
    await clock.advance(2 * minuteMs);
    await expect(collector.collect()).rejects.toThrow(
      'wanted to free 15 bytes, but freed 20 bytes space with errors in image deletion: rpc error: code = Internal desc = a is stuck',
    );
    expect(removed).toEqual(['b']);
  });
  it('counts images mounted as volumes as used', async () => {
    const { clock, collector, removed } = scene([{ id: 'a', size: 20 }], {
      mountedImages: () => new Set(['a']),
    });
    await collector.detect();
    await clock.advance(2 * minuteMs);
    await collector.deleteUnused();
    expect(removed).toEqual([]);
  });
  it('keeps the sandbox image, whether by space or by age', async () => {
    const { clock, collector, removed, usage } = scene(
      [
        { id: 'sandbox', size: 20, repoTags: [sandboxImage] },
        { id: 'other', size: 20, repoTags: ['example.com/other:1'] },
      ],
      { policy: { ...policy, maxAgeMs: hourMs } },
    );
    usage.availableBytes = 50;
    await collector.detect();
    await clock.advance(2 * hourMs);
    await collector.collect();
    expect(removed).toEqual(['other']);
    expect(await collector.deleteUnused()).toEqual({ freedBytes: 0 });
  });
  it('removes nothing while the sandbox image is unknown', async () => {
    const { cri } = scene([]);
    const { clock, collector, removed } = scene([{ id: 'a', size: 20 }], {
      cri: { ...cri, status: () => Promise.reject(new CriError('Unavailable', 'down')) },
    });
    await clock.advance(2 * minuteMs);
    await expect(collector.deleteUnused()).rejects.toThrow('down');
    expect(removed).toEqual([]);
  });
  it('deletes everything unused that is old enough', async () => {
    const { clock, collector, removed, used } = scene([
      { id: 'a', size: 20 },
      { id: 'b', size: 30 },
      { id: 'c', size: 1 },
    ]);
    used.add('c');
    expect(await collector.deleteUnused()).toEqual({ freedBytes: 0 });
    await clock.advance(2 * minuteMs);
    expect(await collector.deleteUnused()).toEqual({ freedBytes: 50 });
    expect(removed).toEqual(['a', 'b']);
  });
  it('a file system without capacity is an error', async () => {
    const { collector, usage, events } = scene([]);
    usage.capacityBytes = 0;
    await expect(collector.collect()).rejects.toThrow('invalid capacity 0 on image filesystem');
    expect(events()).toEqual(['InvalidDiskCapacity: invalid capacity 0 on image filesystem']);
  });
  it('records an event only for the second consecutive failure', async () => {
    const { clock, collector, usage, events } = scene([]);
    usage.capacityBytes = 0;
    const stop = new AbortController();
    const running = collector.run(stop.signal).catch(() => {});
    await settle();
    expect(events().filter((event) => event.startsWith('ImageGCFailed'))).toEqual([]);
    await clock.advance(5 * minuteMs);
    expect(events().filter((event) => event.startsWith('ImageGCFailed'))).toEqual([
      'ImageGCFailed: invalid capacity 0 on image filesystem',
    ]);
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });
  it.each([
    [101, 80],
    [85, -1],
    [80, 85],
  ])('rejects the thresholds %d and %d', (highThresholdPercent, lowThresholdPercent) => {
    expect(() => scene([], { policy: { ...policy, highThresholdPercent, lowThresholdPercent } })).toThrow(
      /threshold/,
    );
  });
});

describe('ImageList', () => {
  it('shows the largest first and keeps the old list after a failure', async () => {
    const { clock, cri, timeline } = scene([
      { id: 'a', size: 1 },
      { id: 'b', size: 2 },
      { id: 'c', size: 1 },
    ]);
    let broken = false;
    const list = new ImageList({
      clock,
      timeline,
      cri: {
        listImages: (request) =>
          broken ? Promise.reject(new CriError('Unavailable', 'down')) : cri.listImages(request),
      },
    });
    const stop = new AbortController();
    const running = list.run(stop.signal).catch(() => {});
    await settle();
    expect(list.images.map(({ id }) => id)).toEqual(['b', 'c', 'a']);
    broken = true;
    await clock.advance(30_000);
    expect(list.images).toHaveLength(3);
    stop.abort();
    await running;
  });
});
