import { describe, expect, it } from 'vitest';
import { lookKey, RecentLooks } from './recent-looks.js';

describe('RecentLooks', () => {
  it('remembers for its time only', () => {
    const looks = new RecentLooks<string>({ lifeMs: 1_000, capacity: 10 });
    looks.set('a', 'seen', 0);
    expect([looks.get('a', 999), looks.get('a', 1_000), looks.get('b', 0)]).toEqual([
      'seen',
      undefined,
      undefined,
    ]);
  });
  it('is bounded', () => {
    const looks = new RecentLooks<number>({ lifeMs: 1_000, capacity: 2 });
    for (const [index, key] of ['a', 'b', 'c'].entries()) looks.set(key, index, 0);
    expect(['a', 'b', 'c'].map((key) => looks.get(key, 0))).toEqual([undefined, undefined, 2]);
  });
});

describe('lookKey', () => {
  it.each([
    ['no annotations', {}, 'busybox:1'],
    ['where the pod came from', { 'kubernetes.io/config.seen': 'now' }, 'busybox:1'],
    ['annotations that a runtime may go by', { arch: 'arm64' }, '["busybox:1",["arch","arm64"]]'],
  ])('%s', (_, annotations, key) => {
    expect(lookKey('busybox:1', annotations)).toBe(key);
  });
});
