/** Which containers are set free when nobody has CPUs of its own any more, and what happens if one cannot be. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { type BoundPlace, isHeldBack, unbindContainers } from './unbind-containers.js';

it.each<[rule: string, cpus: string | undefined, expected: boolean]>([
  ['bound to some CPUs', '1,5', true],
  ['the runtime does not tell', undefined, true],
  ['never bound', '', false],
  ['bound to all CPUs', '0-7', false],
])('%s', (_, cpus, expected) => {
  expect(isHeldBack(cpus, '0-7')).toBe(expected);
});

describe('unbindContainers', () => {
  function world(cpus: readonly (string | undefined)[], fails: (call: number) => boolean = () => false) {
    const clock = new VirtualClock();
    const timeline = new Timeline({ clock });
    const told: string[] = [];
    timeline.subscribe(({ what, message }) => told.push(`${what}: ${message}`));
    const calls: string[] = [];
    const stopping = new AbortController();
    const running = cpus.map(
      (bound, index): BoundPlace => ({
        containerId: `id${index}`,
        pod: { uid: 'p', name: 'web', namespace: 'default' },
        name: `c${index}`,
        bound,
      }),
    );
    const lists: number[] = [];
    const work = unbindContainers(
      {
        clock,
        timeline,
        periodMs: 10_000,
        all: async () => '0-7',
        kind: 'CPUs',
        running: async () => {
          lists.push(clock.monotonic());
          return running;
        },
        update: async (id, set) => {
          calls.push(`${id}=${set}`);
          if (fails(calls.length)) throw new Error('busy');
        },
      },
      stopping.signal,
    );
    return { clock, told, calls, stopping, lists, work };
  }

  it('sets each bound container free once, and tells', async () => {
    const { work, calls, told, lists } = world(['1,5', '', undefined]);
    await work;
    expect(calls).toEqual(['id0=0-7', 'id2=0-7']);
    expect(told).toEqual(['cpu.update: let c0 use all CPUs: 0-7', 'cpu.update: let c2 use all CPUs: 0-7']);
    expect(lists).toHaveLength(1);
  });

  it('tries again those that failed, and no others', async () => {
    const { work, calls, told, clock } = world(['1', '2'], (call) => call === 1);
    await clock.advance(10_000);
    await work;
    expect(calls).toEqual(['id0=0-7', 'id1=0-7', 'id0=0-7']);
    expect(told[0]).toBe('cpu.update: could not let c0 use all CPUs: busy');
  });

  it('gives up after ten rounds', async () => {
    const { work, calls, clock } = world(['1'], () => true);
    await clock.advance(200_000);
    await work;
    expect(calls).toHaveLength(10);
  });

  it('ends when it is cancelled', async () => {
    const { work, calls, stopping } = world(['1'], () => true);
    const ended = expect(work).rejects.toThrow();
    await new Promise((resolve) => setImmediate(resolve));
    stopping.abort();
    await ended;
    expect(calls).toHaveLength(1);
  });
});
