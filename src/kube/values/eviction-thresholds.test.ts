import { describe, expect, it } from 'vitest';
import {
  type EvictionThresholdSettings,
  readEvictionThresholds,
  thresholdUnits,
} from './eviction-thresholds.js';
import { parseQuantity } from './quantity.js';

const gi = 1024 ** 3;
const none: EvictionThresholdSettings = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
};
const read = (settings: Partial<EvictionThresholdSettings>) =>
  readEvictionThresholds({ ...none, ...settings });
const hard = (value: string, signal = 'memory.available') => read({ evictionHard: { [signal]: value } });

describe('a hard threshold', () => {
  it.each([
    ['0% switches it off', '0%', 0],
    ['100% switches it off', '100%', 0],
    ['0.0% is kept', '0.0%', 1],
    ['a share', '10%', 1],
    ['an amount', '100Mi', 1],
  ])('%s', (_rule, value, count) => {
    const { thresholds, problems } = hard(value);
    expect(problems).toEqual([]);
    expect(thresholds).toHaveLength(count);
  });

  it.each([
    ['a negative share', '-5%', 'eviction percentage threshold memory.available must be >= 0%: -5%'],
    ['more than all', '150%', 'eviction percentage threshold memory.available must be <= 100%: 150%'],
    ['zero', '0', 'eviction threshold memory.available must be positive: 0'],
    ['a negative amount', '-1Gi', 'eviction threshold memory.available must be positive: -1Gi'],
    ['no number', 'x%', 'strconv.ParseFloat: parsing "x": invalid syntax'],
    ['no quantity', 'lots', '"lots" is not a quantity'],
  ])('%s is refused', (_rule, value, text) => {
    const { thresholds, problems } = hard(value);
    expect(thresholds).toEqual([]);
    expect(problems).toEqual([{ field: 'evictionHard', text: expect.stringContaining(text) }]);
  });

  it('an unknown signal is refused', () => {
    expect(hard('1Gi', 'disk.available').problems).toEqual([
      { field: 'evictionHard', text: 'unsupported eviction signal disk.available' },
    ]);
  });
});

describe('a share of the capacity, in single precision', () => {
  it.each([
    ['10%', 100 * gi, 10_737_418_400],
    ['15%', 100 * gi, 16_106_128_000],
    ['5%', 8 * gi, 429_496_736],
    ['0.0%', 8 * gi, 0],
  ])('%s of %d is %d', (value, capacity, expected) => {
    const [threshold] = hard(value).thresholds;
    expect(thresholdUnits(threshold!.value, capacity)).toBe(expected);
  });
});

describe('soft thresholds and what belongs to them', () => {
  it.each<[string, Partial<EvictionThresholdSettings>, keyof EvictionThresholdSettings, string]>([
    [
      'a soft threshold without a grace period',
      { evictionSoft: { 'memory.available': '1Gi' } },
      'evictionSoftGracePeriod',
      'grace period must be specified for the soft eviction threshold memory.available',
    ],
    [
      'a negative grace period',
      {
        evictionSoft: { 'memory.available': '1Gi' },
        evictionSoftGracePeriod: { 'memory.available': '-1m' },
      },
      'evictionSoftGracePeriod',
      'invalid eviction grace period specified: -1m, must be a positive value',
    ],
    [
      'a share of nothing to reclaim',
      { evictionMinimumReclaim: { 'memory.available': '0%' } },
      'evictionMinimumReclaim',
      'eviction percentage minimum reclaim memory.available must be positive: 0%',
    ],
    [
      'less than nothing to reclaim',
      { evictionMinimumReclaim: { 'memory.available': '-1' } },
      'evictionMinimumReclaim',
      'negative eviction minimum reclaim specified for memory.available',
    ],
  ])('%s is refused', (_rule, settings, field, text) => {
    expect(read(settings).problems).toEqual([{ field, text }]);
  });

  it('a grace period of zero makes a soft threshold a hard one, and a surplus one means nothing', () => {
    const { thresholds, problems } = read({
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '0s', 'pid.available': '1m' },
    });
    expect(problems).toEqual([]);
    expect(thresholds).toMatchObject([{ signal: 'memory.available', graceMs: 0 }]);
  });

  it('the minimum to reclaim belongs to the hard and to the soft threshold of its signal', () => {
    const { thresholds } = read({
      evictionHard: { 'memory.available': '100Mi', 'pid.available': '10' },
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '1m30s' },
      evictionMinimumReclaim: { 'memory.available': '500Mi' },
    });
    const minReclaim = { kind: 'quantity', quantity: parseQuantity('500Mi') };
    expect(thresholds).toEqual([
      {
        signal: 'memory.available',
        value: { kind: 'quantity', quantity: parseQuantity('100Mi') },
        graceMs: 0,
        minReclaim,
      },
      { signal: 'pid.available', value: { kind: 'quantity', quantity: parseQuantity('10') }, graceMs: 0 },
      {
        signal: 'memory.available',
        value: { kind: 'quantity', quantity: parseQuantity('1Gi') },
        graceMs: 90_000,
        minReclaim,
      },
    ]);
  });
});
