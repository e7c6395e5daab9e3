import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, sleep, VirtualClock } from '../../async/index.js';
import { KeyQueue, type KeyQueueOptions } from './key-queue.js';

let clock: VirtualClock;
let stop: AbortController;
let running: Promise<void>;
let log: string[];
beforeEach(() => {
  clock = new VirtualClock();
  stop = new AbortController();
  running = Promise.resolve();
  log = [];
});
afterEach(async () => {
  stop.abort();
  await running;
  expect(clock.pendingTimers).toBe(0);
});
const begin = (options: Partial<KeyQueueOptions>): KeyQueue => {
  const queue = new KeyQueue({
    clock,
    sync: async (key) => {
      log.push(key);
      return {};
    },
    onFailure: (key, _, retryAfterMs) => log.push(`${key} failed, again in ${retryAfterMs}`),
    onDropped: () => log.push('dropped'),
    ...options,
  });
  running = queue.run(stop.signal);
  return queue;
};

describe('KeyQueue', () => {
  it('works on a key once however often it was added before', async () => {
    const queue = begin({});
    for (const key of ['a', 'a', 'b', 'a']) queue.add(key);
    await settle();
    expect(log).toEqual(['a', 'b']);
  });

  it('has one worker for each key, and looks again after one that was running', async () => {
    const queue = begin({
      sync: async (key, signal) => {
        log.push(`${key} begins`);
        await sleep(clock, 100, signal);
        log.push(`${key} ends`);
        return {};
      },
    });
    queue.add('a');
    await clock.advance(50);
    queue.add('a');
    queue.add('a');
    await clock.advance(500);
    expect(log).toEqual(['a begins', 'a ends', 'a begins', 'a ends']);
  });

  it('works on no more keys at a time than allowed', async () => {
    let most = 0;
    let now = 0;
    const queue = begin({
      concurrentKeys: 2,
      sync: async (_, signal) => {
        most = Math.max(most, ++now);
        await sleep(clock, 10, signal);
        now--;
        return {};
      },
    });
    for (let key = 0; key < 10; key++) queue.add(String(key));
    await clock.advance(1000);
    expect([most, now, queue.size]).toEqual([2, 0, 0]);
  });

  it('pauses longer after each failure, and forgets the pauses after a success', async () => {
    let failures = 3;
    const queue = begin({
      sync: async () => {
        if (failures-- > 0) throw new Error('no');
        log.push('done');
        return {};
      },
    });
    queue.add('a');
    await clock.advance(1000);
    failures = 1;
    queue.add('a');
    await clock.advance(1000);
    expect(log).toEqual([
      'a failed, again in 20',
      'a failed, again in 40',
      'a failed, again in 80',
      'done',
      'a failed, again in 20',
      'done',
    ]);
  });

  it('waits no longer than a minute, however often a key fails', async () => {
    const queue = begin({
      sync: async () => {
        throw new Error('no');
      },
    });
    queue.add('a');
    await clock.advance(3_600_000);
    expect(log.at(-1)).toBe('a failed, again in 60000');
    expect(log.length).toBeGreaterThan(60);
  });

  it('looks again when asked to, and sooner when something happens', async () => {
    const queue = begin({
      sync: async (key) => {
        log.push(`${key} at ${clock.monotonic()}`);
        return { againAfterMs: 1000 };
      },
    });
    queue.add('a');
    await clock.advance(1500);
    queue.add('a');
    await clock.advance(1100);
    expect(log).toEqual(['a at 0', 'a at 1000', 'a at 1500', 'a at 2500']);
  });

  it('drops keys beyond its bound, and asks for all of them later', async () => {
    const queue = begin({
      maxKeys: 3,
      concurrentKeys: 1,
      sync: (_, signal) => sleep(clock, 100, signal).then(() => ({})),
    });
    for (let key = 0; key < 10; key++) queue.add(String(key));
    expect(queue.size).toBe(3);
    await clock.advance(2000);
    expect(log).toEqual(['dropped']);
  });

  it('ends its workers with the signal', async () => {
    const queue = begin({
      sync: async (_, signal) => {
        await sleep(clock, 1000, signal);
        return {};
      },
    });
    queue.add('a');
    queue.add('b', 500);
    await settle();
    stop.abort();
    await running;
    expect(log).toEqual([]);
  });
});
