import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { changeLine, viewPod } from './pod-view.js';

it('does not show the back-off of a pod that is being stopped', () => {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const pod = { uid: 'u', name: 'a', namespace: 'default' };
  timeline.record({ kind: 'decision', what: 'pod.plan', message: 'start', pod });
  timeline.record({
    kind: 'transition',
    what: 'container.state',
    message: 'Terminated (exit 1) → Waiting (CrashLoopBackOff)',
    because: 'back-off 10s',
    container: 'app',
    pod,
    data: { from: 'terminated', to: 'waiting', reason: 'CrashLoopBackOff', restartCount: 1 },
  });
  const shown = {
    metadata: pod,
    spec: { containers: [{ name: 'app' }] },
    status: { phase: 'Running' as const },
  };
  expect(viewPod({ pod: shown, state: 'active' }, timeline, clock.now()).waitsFor).toBe('app: back-off 10s');
  expect(viewPod({ pod: shown, state: 'stopping' }, timeline, clock.now()).waitsFor).toBe('');
});

it('describes a change with a text that stays the same while only time passes', () => {
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
  expect(changeLine({ ...view, waitsFor: 'app: it failed\n  twice\n' })).toMatch(
    /; waits for app: it failed twice ?$/,
  );
});
