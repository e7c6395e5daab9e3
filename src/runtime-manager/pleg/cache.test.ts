import { describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import { absentPodStatus, type ObservedPodStatus } from '../../cri/index.js';
import { PodCache } from './cache.js';

describe('PodCache', () => {
  const status = (uid: string): { status: ObservedPodStatus } => ({
    status: { ...absentPodStatus(uid), name: 'x' },
  });
  const outcome = async (promise: Promise<ObservedPodStatus>): Promise<string> => {
    let text = 'waiting';
    promise.then(
      (value) => {
        text = value.name === '' ? 'empty' : value.name;
      },
      (error: Error) => {
        text = error.message;
      },
    );
    await settle();
    return text;
  };
  it.each<[string, (cache: PodCache) => void, string]>([
    ['nothing was ever observed', () => {}, 'waiting'],
    ['the global time equals the limit', (cache) => cache.setGlobal(10), 'waiting'],
    ['no entry, global time after the limit', (cache) => cache.setGlobal(11), 'empty'],
    ['the entry was modified after the limit', (cache) => cache.set('u', status('u'), 11), 'x'],
    [
      'the entry was observed after the limit',
      (cache) => {
        cache.set('u', status('u'), 5);
        cache.setObserved('u', 11);
      },
      'x',
    ],
    [
      'an observed time without an entry does not resolve later calls',
      (cache) => cache.setObserved('u', 11),
      'waiting',
    ],
    ['the observation failed', (cache) => cache.set('u', { error: new Error('no') }, 11), 'no'],
  ])('newerThan(10): %s', async (_rule, prepare, answer) => {
    const cache = new PodCache();
    prepare(cache);
    expect(await outcome(cache.newerThan('u', 10))).toBe(answer);
  });
  it.each<[string, (cache: PodCache) => void, string]>([
    ['a global time equal to its limit', (cache) => cache.setGlobal(10), 'empty'],
    ['an earlier global time does not', (cache) => cache.setGlobal(9), 'waiting'],
    ['a set at its limit', (cache) => cache.set('u', status('u'), 10), 'x'],
    ['an observed time even without entry', (cache) => cache.setObserved('u', 10), 'empty'],
    ['another pod does not', (cache) => cache.setObserved('v', 20), 'waiting'],
    ['a deletion does not', (cache) => cache.delete('u'), 'waiting'],
  ])('a waiter is woken: %s', async (_rule, act, answer) => {
    const cache = new PodCache();
    const waiting = cache.newerThan('u', 10);
    act(cache);
    expect(await outcome(waiting)).toBe(answer);
  });
  describe('a pod not read when all were relisted', () => {
    const cacheWithUnread = (): PodCache => {
      const cache = new PodCache();
      cache.setGlobal(5);
      cache.setGlobal(20, new Set(['u']));
      return cache;
    };
    it.each<[string, number, (cache: PodCache) => void, string]>([
      ['the earlier global time still resolves', 4, () => {}, 'empty'],
      ['the new one does not', 10, () => {}, 'waiting'],
      ['nor does a later one while it is unread', 10, (c) => c.setGlobal(30, new Set(['u'])), 'waiting'],
      ['what was seen first resolves once it is read', 10, (c) => c.set('u', status('u'), 20), 'x'],
      [
        'what was seen first does not resolve for a later relist',
        25,
        (c) => {
          c.setGlobal(30, new Set(['u']));
          c.set('u', status('u'), 20);
        },
        'waiting',
      ],
      ['the next global time that finds it read does', 10, (c) => c.setGlobal(30), 'empty'],
      ['other pods are not affected', 10, (c) => c.setGlobal(30, new Set(['v'])), 'empty'],
    ])('%s', async (_rule, afterMs, act, answer) => {
      const early = cacheWithUnread();
      const waiting = early.newerThan('u', afterMs);
      act(early);
      expect(await outcome(waiting)).toBe(answer);
      const late = cacheWithUnread();
      act(late);
      expect(await outcome(late.newerThan('u', afterMs))).toBe(answer);
    });
  });
  it('a cancelled waiter leaves nothing behind', async () => {
    const cache = new PodCache();
    const stop = new AbortController();
    const waiting = cache.newerThan('u', 0, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow('context canceled');
    expect(cache.waiting).toBe(0);
  });
});
