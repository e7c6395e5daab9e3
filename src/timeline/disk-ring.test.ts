/** The timeline's copy on disks that are full, stuck or cut off. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { openDiskRing, type RingDirectory } from './disk-ring.js';
import { Timeline } from './timeline.js';

const failure = (code: string): Error => Object.assign(new Error(`${code}: disk`), { code });

function world() {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const told: string[] = [];
  let text = '';
  let calls = 0;
  let before: () => Promise<void> = async () => {};
  const directory: RingDirectory = {
    open: async () => {
      calls++;
      await before();
      return {
        sizeBytes: text.length,
        append: async (more) => {
          calls++;
          await before();
          text += more;
        },
        appendNow: (more) => {
          text += more;
        },
        close: async () => {},
      };
    },
    rename: async () => {},
  };
  const ring = openDiskRing({
    dir: '/nowhere',
    clock,
    directory,
    onError: (error) => told.push(`failing ${error instanceof Error ? error.message : ''}`),
    onRecovered: (lost) => told.push(`recovered ${lost}`),
  });
  timeline.subscribe(ring.reader);
  return {
    clock,
    ring,
    told,
    record: (message: string) => timeline.record({ kind: 'effect', what: 'agent.task', message }),
    messages: (): string[] =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).message),
    calls: () => calls,
    meet: (next: () => Promise<void>) => {
      before = next;
    },
  };
}

describe('the ring on disk', () => {
  it.each(['ENOSPC', 'EIO', 'EROFS', 'EMFILE'])(
    '%s: told once, tried again with pauses, and all is there when it ends',
    async (code) => {
      const { clock, ring, told, record, messages, calls, meet } = world();
      record('before');
      await clock.advance(0);
      meet(() => Promise.reject(failure(code)));
      for (let n = 0; n < 100; n++) {
        record(`during ${n}`);
        await clock.advance(6_000);
      }
      expect(told).toEqual([`failing ${code}: disk`]);
      expect(calls()).toBeLessThan(40);
      meet(async () => {});
      await clock.advance(60_000);
      expect(told).toEqual([`failing ${code}: disk`, 'recovered 0']);
      expect(messages()).toEqual(['before', ...Array.from({ length: 100 }, (_, n) => `during ${n}`)]);
      await ring.close();
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('of more than fits the oldest are lost, and counted', async () => {
    const { clock, ring, told, record, messages, meet } = world();
    meet(() => Promise.reject(failure('ENOSPC')));
    await clock.advance(0);
    for (let n = 0; n < 5000; n++) record(`entry ${n}`);
    meet(async () => {});
    await clock.advance(60_000);
    expect(messages()).toHaveLength(4096);
    expect(messages().at(-1)).toBe('entry 4999');
    expect(told).toEqual(['failing ENOSPC: disk', 'recovered 904']);
    await ring.close();
  });

  it('a disk that hangs holds up neither who records nor the end', async () => {
    const { clock, ring, record, messages, meet } = world();
    await clock.advance(0);
    meet(() => new Promise(() => {}));
    for (let n = 0; n < 5000; n++) record(`entry ${n}`);
    const closed = ring.close();
    await clock.advance(5_000);
    await closed;
    expect(messages()).toEqual([]);
  });
});
