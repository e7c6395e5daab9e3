import { expect, it } from 'vitest';
import { type Clock, VirtualClock } from '../async/index.js';
import { Timeline } from '../timeline/index.js';
import { Recorder } from './recorder.js';

it('a recorded kubelet hears what it says once, and of others their events, which the record has', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const recorder = new Recorder({ clock, write: (line) => lines.push(line) });
  const timeline = new Timeline({ clock });
  const heard: string[] = [];
  await recorder.enter('create', () => {
    const own = recorder.timelineOf(timeline);
    own.subscribe(({ message }) => heard.push(message));
    own.nodeEvent('n', 'Normal', 'Starting', 'of the kubelet');
    own.record({ kind: 'notice', what: 'agent.record', message: 'a notice of the kubelet' });
  });
  timeline.nodeEvent('n', 'Normal', 'NodeAllocatableEnforced', 'told elsewhere');
  timeline.record({ kind: 'notice', what: 'agent.record', message: 'noticed elsewhere' });
  await clock.advance(1);
  expect(heard).toEqual(['of the kubelet', 'a notice of the kubelet', 'told elsewhere']);
  const inRecord = (text: string): number => lines.filter((line) => line.includes(text)).length;
  expect(['told elsewhere', 'noticed elsewhere'].map(inRecord)).toEqual([1, 0]);
});

it('what a kubelet says has the time of its turn', async () => {
  const clock = new VirtualClock();
  const recorder = new Recorder({ clock, write: () => undefined });
  const later: Clock = {
    now: () => clock.now() + 1,
    monotonic: () => clock.monotonic(),
    setTimer: (delayMs, fire) => clock.setTimer(delayMs, fire),
  };
  const timeline = new Timeline({ clock: later });
  const said = await recorder.enter('create', () =>
    recorder.timelineOf(timeline).nodeEvent('n', 'Normal', 'Starting', 'of the kubelet'),
  );
  expect(said.timeMs).toBe(clock.now());
  expect(timeline.nodeEvent('n', 'Normal', 'Starting', 'of others').timeMs).toBe(clock.now() + 1);
});
