import { describe, expect, it } from 'vitest';
import { ReasonCache } from './reason-cache.js';

const failure = { reason: 'ErrImagePull', message: 'no such image' };

describe('ReasonCache', () => {
  it('remembers failed starts until one succeeds', () => {
    const cache = new ReasonCache();
    cache.update('p', [
      { action: 'StartContainer', target: 'a', failure },
      { action: 'KillContainer', target: 'b', failure },
    ]);
    expect(cache.get('p', 'a')).toEqual(failure);
    expect(cache.get('p', 'b')).toBeUndefined();
    expect(cache.get('q', 'a')).toBeUndefined();
    cache.update('p', []);
    expect(cache.get('p', 'a')).toEqual(failure);
    cache.update('p', [{ action: 'StartContainer', target: 'a' }]);
    expect(cache.get('p', 'a')).toBeUndefined();
  });
  it('forgets deleted pods', () => {
    const cache = new ReasonCache();
    for (const uid of ['p', 'q']) for (const name of ['a', 'b']) cache.set(uid, name, failure);
    cache.keepOnly(new Set(['q']));
    expect(cache.size).toBe(2);
    expect(cache.get('q', 'b')).toEqual(failure);
  });
  it('forgets long messages earlier', () => {
    const cache = new ReasonCache();
    for (let n = 0; n < 100; n++)
      cache.set(`${n}`, 'a', { reason: 'ErrImagePull', message: 'm'.repeat(20_000) });
    expect(cache.size).toBe(13);
  });
  it('forgets the least recently used', () => {
    const cache = new ReasonCache(2);
    cache.set('p', 'a', failure);
    cache.set('p', 'b', failure);
    cache.get('p', 'a');
    cache.set('p', 'c', failure);
    expect(['a', 'b', 'c'].map((name) => cache.get('p', name) !== undefined)).toEqual([true, false, true]);
  });
});
