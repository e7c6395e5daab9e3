import { describe, expect, it } from 'vitest';
import { forecastImages, type NamedImageRecord } from './image-forecast.js';

const minute = 60_000;
const now = 1_000 * minute;
const image = (id: string, over: Partial<NamedImageRecord> = {}): NamedImageRecord => ({
  id,
  name: `${id}:1`,
  sizeBytes: 10,
  pinned: false,
  inUse: false,
  firstDetectedMs: now - 500 * minute,
  lastUsedMs: now - 100 * minute,
  ...over,
});
const policy = {
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAgeMs: 2 * minute,
  maxAgeMs: 0,
};
const forecast = (
  images: NamedImageRecord[],
  over: Partial<Parameters<typeof forecastImages>[0]> = {},
): string[] =>
  forecastImages({
    images,
    usage: { capacityBytes: 100, availableBytes: 50 },
    policy,
    nowMs: now,
    startedMs: 0,
    ...over,
  }).images.map(({ id, when, because }) => `${id} ${when}: ${because}`);

describe('forecastImages', () => {
  it.each<[string, NamedImageRecord, string]>([
    ['one in use', image('a', { inUse: true }), 'a kept: a container, a sandbox or a volume uses it'],
    ['a pinned one', image('a', { pinned: true }), 'a kept: the runtime has pinned it'],
    [
      'a young one',
      image('a', { firstDetectedMs: now - minute, lastUsedMs: 0 }),
      'a kept: it was first seen 1m0s ago, less than 2m0s',
    ],
    ['one that was just used', image('a', { lastUsedMs: now }), 'a kept: it was just used'],
    ['an unused one', image('a'), 'a disk-pressure: unused for 1h40m0s; there is space for it'],
    [
      'one that nobody ever used',
      image('a', { lastUsedMs: 0 }),
      'a disk-pressure: unused since it was first seen 8h20m0s ago; there is space for it',
    ],
  ])('%s', (_, given, expected) => {
    expect(forecast([given])).toEqual([expected]);
  });

  it('takes the longest unused first, until there is enough', () => {
    const images = [
      image('c', { lastUsedMs: now - minute }),
      image('b', { lastUsedMs: now - 2 * minute }),
      image('a', { lastUsedMs: now - 3 * minute }),
    ];
    const usage = { capacityBytes: 100, availableBytes: 5 };
    const full = '; the image file system is 95% full, at or above 85%';
    expect(forecast(images, { usage })).toEqual([
      `a now: unused for 3m0s${full}`,
      `b now: unused for 2m0s${full}`,
      'c disk-pressure: unused for 1m0s; there is space for it',
    ]);
  });

  it('what is too old goes first and counts for the space', () => {
    const images = [image('new', { lastUsedMs: now - 4 * minute }), image('old')];
    const usage = { capacityBytes: 100, availableBytes: 12 };
    expect(forecast(images, { usage, policy: { ...policy, maxAgeMs: 60 * minute } })).toEqual([
      'old now: unused for 1h40m0s, longer than 1h0m0s',
      'new disk-pressure: unused for 4m0s; there is space for it',
    ]);
  });

  it('foretells nothing for space where nobody knows how full the file system is', () => {
    const { usedPercent, wantedBytes } = forecastImages({
      images: [],
      usage: undefined,
      policy,
      nowMs: now,
      startedMs: 0,
    });
    expect({ usedPercent, wantedBytes }).toEqual({ usedPercent: undefined, wantedBytes: 0 });
  });
});
