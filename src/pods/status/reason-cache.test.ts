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
  it('forgets what was not used for longest', () => {
    const cache = new ReasonCache(2);
    cache.set('p', 'a', failure);
    cache.set('p', 'b', failure);
    cache.get('p', 'a');
    cache.set('p', 'c', failure);
    expect(['a', 'b', 'c'].map((name) => cache.get('p', name) !== undefined)).toEqual([true, false, true]);
  });
});
