import { expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { Recorder } from './recorder.js';

it('a timer of a recorded kubelet fires when it is due by the clock of the kubelet, and not before', async () => {
  const world = new VirtualClock();
  const { clock, enter } = bound(new Recorder({ clock: world, write: () => {} }));
  // No whole number of microseconds.
  await world.advance(1.23456789);
  const dueMs = 10.000000321;
  let firedMs: number | undefined;
  await moved(
    world,
    enter('start', () => void clock.setTimer(dueMs - clock.monotonic(), () => (firedMs = clock.monotonic()))),
  );
  await world.advance(20);
  expect(firedMs).toBeCloseTo(dueMs, 9);
});

it('says which lines are news: not timers that fire, nor answers that are as before', async () => {
  const world = new VirtualClock();
  const lines: string[] = [];
  const recorder = new Recorder({
    clock: world,
    write: (line, isNews) => lines.push(`${JSON.parse(line).k} ${isNews}`),
  });
  const long = 'x'.repeat(100);
  let items = [{ id: 'a' }, { id: 'b' }];
  const port = recorder.outside.port('port', () => ({
    text: async () => long,
    list: async () => ({ items: [...items] }),
  }));
  const ask = (): Promise<void> =>
    moved(
      world,
      recorder.enter('ask', async () => void (await Promise.all([port.text(), port.list()]))),
    );
  await ask();
  expect(lines.splice(0)).toEqual(['port true', 'go true', 'do true', 'do true', 'ok true', 'ok true']);
  items = items.toReversed();
  await ask();
  expect(lines.splice(0)).toEqual(['go true', 'do false', 'do false', 'ok false', 'ok false']);
  items = [{ id: 'c' }];
  await ask();
  expect(lines.splice(0)).toEqual(['go true', 'do false', 'do false', 'ok false', 'ok true']);
  await moved(
    world,
    recorder.enter('wait', () => void recorder.clock.setTimer(5, () => {})),
  );
  await world.advance(10);
  expect(lines).toEqual(['go true', 'at false']);
});

function bound(recorder: Recorder): Pick<Recorder, 'clock'> & { readonly enter: Recorder['enter'] } {
  return { clock: recorder.clock, enter: (name, work) => recorder.enter(name, work) };
}

/** Lets the world go on until the work is done. */
async function moved(world: VirtualClock, work: Promise<void>): Promise<void> {
  await world.advance(0);
  await work;
}
