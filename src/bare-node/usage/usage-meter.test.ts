import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/virtual-clock.js';
import type { Summary } from '../../resources/stats/index.js';
import { UsageMeter } from './usage-meter.js';

function meter({ failure }: { failure?: Error } = {}) {
  const clock = new VirtualClock();
  let reads = 0;
  const summary = async (): Promise<Summary> => {
    reads += 1;
    if (failure !== undefined) throw failure;
    const time = new Date(clock.now()).toISOString();
    const node = {
      nodeName: 'vm',
      startTime: null,
      cpu: { time, usageCoreNanoSeconds: clock.monotonic() * 1e6 },
      memory: { time, workingSetBytes: 4096 },
    };
    return { node, pods: [] };
  };
  const stop = new AbortController();
  const options = { nodeName: 'vm', clock, signal: stop.signal };
  const reader = new UsageMeter({ ...options, stats: () => ({ summary }) });
  return { clock, stop, reader, options, reads: () => reads };
}

it('the first who asks waits for a window; who asks with it shares its readings', async () => {
  const { clock, reader, reads } = meter();
  const asked = Promise.all([reader.read(), reader.read()]);
  await clock.advance(2_000);
  const [one, other] = await asked;
  expect(one).toBe(other);
  expect(one.node).toMatchObject({ windowMs: 1_250, cpuNanoCores: 1e9 });
  expect(reads()).toBe(2);
});

it('the next one gets the time since the last answer, with one reading more', async () => {
  const { clock, reader, reads } = meter();
  const asked = reader.read();
  await clock.advance(1_250);
  await asked;
  await clock.advance(15_000);
  expect((await reader.read()).node).toMatchObject({ windowMs: 15_000 });
  expect(reads()).toBe(3);
});

it('who asks again in the same second gets the same answer', async () => {
  const { clock, reader, reads } = meter();
  const asked = reader.read();
  await clock.advance(1_250);
  const first = await asked;
  await clock.advance(500);
  expect(await reader.read()).toBe(first);
  expect(reads()).toBe(2);
});

it('a reading of long ago begins no window', async () => {
  const { clock, reader, reads } = meter();
  const asked = reader.read();
  await clock.advance(1_250);
  await asked;
  await clock.advance(3_600_000);
  const again = reader.read();
  await clock.advance(1_250);
  expect((await again).node).toMatchObject({ windowMs: 1_250 });
  expect(reads()).toBe(4);
});

it('nothing is read while nobody asks', async () => {
  const { clock, reader, reads } = meter();
  const asked = reader.read();
  await clock.advance(1_250);
  await asked;
  await clock.advance(3_600_000);
  expect(reads()).toBe(2);
});

it.each([
  ['while the node starts', undefined, 'the node is still starting'],
  [
    'when its statistics fail',
    new Error('no cgroups'),
    'the statistics of the node cannot be read: no cgroups',
  ],
])('says so %s', async (_when, failure, message) => {
  const { reader, options } = meter(failure === undefined ? {} : { failure });
  const asked = failure === undefined ? new UsageMeter({ ...options, stats: () => undefined }) : reader;
  await expect(asked.read()).rejects.toMatchObject({ code: 503, message: expect.stringContaining(message) });
});

it('a wait ends with the node', async () => {
  const { reader, stop, reads } = meter();
  const asked = reader.read();
  await expect.poll(reads).toBe(1);
  stop.abort();
  await expect(asked).rejects.toMatchObject({ code: 503, message: 'the node stops' });
});
