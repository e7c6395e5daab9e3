import { expect, it } from 'vitest';
import { changeLine, shortWait } from './pod-view.js';

it.each([
  [
    'container app: CrashLoopBackOff, next try at 10:00:00 (in 5s): back-off 10s restarting failed container',
    'app: next try at 10:00:00 (in 5s)',
  ],
  ['container app: ErrImagePull: not found', 'app: not found'],
  ['its turn: another pod of its name', 'its turn: another pod of its name'],
])('shortWait(%s)', (text, short) => {
  expect(shortWait(text)).toBe(short);
});

it('tells a change in words that stay the same while only time passes', () => {
  const view = {
    namespace: 'default',
    name: 'a',
    fullName: 'a',
    ready: '0/1',
    status: 'CrashLoopBackOff',
    restarts: '2 (5s ago)',
    restartCount: 2,
    age: '9s',
    waitsFor: 'app: next try at 10:00:00 (in 5s)',
  };
  expect(changeLine(view)).toBe(
    'a: CrashLoopBackOff, 0/1 ready, 2 restarts; waits for app: next try at 10:00:00',
  );
  expect(
    changeLine({ ...view, age: '10s', restarts: '2 (6s ago)', waitsFor: view.waitsFor.replace('5s', '4s') }),
  ).toBe(changeLine(view));
});
