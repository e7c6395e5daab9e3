/** Lifecycle hooks as a whole kubelet runs them: what waits for them, what they cost, what their failure does. */
import { afterEach, describe, expect, it } from 'vitest';
import type { LifecycleHandler } from '../../src/kube/index.js';
import { endNodes, second, startNode } from './node.js';
import { apiPod, type PodShape } from './pods.js';

afterEach(endNodes);

const withPreStop = (preStop: LifecycleHandler, sim: PodShape['sim'] = {}): PodShape => ({
  graceSeconds: 30,
  containers: [{ name: 'app', image: 'app:1', lifecycle: { preStop } }],
  sim,
});

describe('preStop counts into the grace period', () => {
  it.each<[string, PodShape, number, number, number]>([
    ['a sleep of 10 s leaves 20 of 30', withPreStop({ sleep: { seconds: 10 } }), 30, 10, 20],
    [
      'a command of 10.9 s leaves 20 of 30',
      withPreStop({ exec: { command: ['x'] } }, { 'exec-time': '10.9s' }),
      30,
      10.9,
      20,
    ],
    [
      'a command that hangs leaves the least there is',
      withPreStop({ exec: { command: ['x'] } }, { 'exec-time': '1h' }),
      30,
      30,
      2,
    ],
    [
      'a command that fails costs what it took',
      withPreStop({ exec: { command: ['x'] } }, { 'exec-time': '3s', 'exec-exit-code': '1' }),
      30,
      3,
      27,
    ],
    ['a deletion without grace gives the hook one second', withPreStop({ sleep: { seconds: 10 } }), 0, 1, 2],
  ])('%s', async (_, shape, graceSeconds, stoppedAfterSeconds, timeout) => {
    const node = await startNode();
    node.set([apiPod('a', shape)]);
    await node.untilReady('a');
    const deletedMs = node.clock.now();
    node.delete('a', graceSeconds);
    await node.untilStopped('a');
    const [stop] = node.line.of('stopContainer');
    expect(stop?.request.timeout).toBe(timeout);
    expect(((stop?.atMs ?? 0) - deletedMs) / 1000).toBeCloseTo(stoppedAfterSeconds, 1);
    expect(node.events('a', 'Killing')).toHaveLength(1);
  });
});

it('a preStop hook that fails is told, and the container stops all the same', async () => {
  const node = await startNode();
  node.set([apiPod('a', withPreStop({ exec: { command: ['x'] } }, { 'exec-exit-code': '1' }))]);
  await node.untilReady('a');
  node.delete('a', 30);
  await node.untilStopped('a');
  expect(node.events('a', 'FailedPreStopHook').map(({ message, event }) => [message, event])).toEqual([
    [
      'PreStopHook failed',
      { type: 'Warning', reason: 'FailedPreStopHook', fieldPath: 'spec.containers{app}' },
    ],
  ]);
});

it('a postStart hook holds up the containers after its own, and the pod is not ready before', async () => {
  const node = await startNode();
  node.set([
    apiPod('a', {
      containers: [
        { name: 'app', image: 'app:1', lifecycle: { postStart: { sleep: { seconds: 5 } } } },
        'other',
      ],
    }),
  ]);
  await node.until('the first runs', () => node.machine.running('a').length === 1);
  await node.advance(4 * second);
  expect(node.machine.running('a').map(({ name }) => name)).toEqual(['app']);
  expect(node.isReady('a')).toBe(false);
  await node.untilReady('a', 2 * second);
});

it('a postStart hook that fails kills its container, which starts again with back-off', async () => {
  const node = await startNode({ kubelet: { random: () => 0 } });
  node.set([
    apiPod('a', {
      containers: [
        { name: 'app', image: 'app:1', lifecycle: { postStart: { exec: { command: ['check'] } } } },
        'other',
      ],
      sim: { 'app.exec-exit-code': '7', 'app.exec-output': 'no' },
    }),
  ]);
  await node.until('it waits for its turn', () => node.waitingReason('a') === 'CrashLoopBackOff');
  const failures = node.events('a', 'FailedPostStartHook');
  expect(failures[0]).toMatchObject({
    message: 'PostStartHook failed',
    event: { type: 'Warning', fieldPath: 'spec.containers{app}' },
  });
  expect(node.events('a', 'Killing')[0]?.message).toBe('FailedPostStartHook');
  expect(node.machine.running('a').map(({ name }) => name)).toEqual(['other']);
  const failure = node.recorded('container.start', 'a').find(({ kind }) => kind === 'problem');
  expect(failure).toMatchObject({ message: 'app did not start: PostStartHookError' });
  expect(failure?.error).toContain(
    `Exec lifecycle hook ([check]) for Container "app" in Pod "a_default(uid-of-a)" failed - error: command 'check' exited with 7: , message: "no"`,
  );
  await node.advance(9 * second);
  expect(node.events('a', 'FailedPostStartHook')).toHaveLength(failures.length);
  await node.until(
    'it is tried again',
    () => node.events('a', 'FailedPostStartHook').length > failures.length,
    5 * second,
  );
});

it('stopping the agent ends hooks without calling them failed', async () => {
  const node = await startNode();
  node.set([
    apiPod('a', withPreStop({ sleep: { seconds: 25 } })),
    apiPod('b', {
      containers: [{ name: 'app', image: 'app:1', lifecycle: { postStart: { sleep: { seconds: 60 } } } }],
    }),
  ]);
  await node.untilReady('a');
  node.delete('a', 30);
  await node.advance(second);
  await node.stop();
  expect(node.reasons('a')).not.toContain('FailedPreStopHook');
  expect(node.reasons('b')).not.toContain('FailedPostStartHook');
  expect(node.machine.running().map(({ podName }) => podName)).toEqual(['a', 'b']);
});

it('a pod that is deleted while its postStart hook runs does not wait for it', async () => {
  const node = await startNode();
  node.set([
    apiPod('a', {
      containers: [{ name: 'app', image: 'app:1', lifecycle: { postStart: { sleep: { seconds: 600 } } } }],
    }),
  ]);
  await node.until('it runs', () => node.machine.running('a').length === 1);
  node.delete('a', 5);
  await node.untilStopped('a', 10 * second);
  expect(node.metric('kubelet_sleep_action_terminated_early_total')).toBe(1);
});

describe('a deletion while the postStart hook runs', () => {
  const slow = apiPod('a', {
    graceSeconds: 120,
    containers: [
      { name: 'app', image: 'app:1', lifecycle: { postStart: { exec: { command: ['slow'] } } } },
      'other',
    ],
    sim: { 'exec-time': '1h', 'ignores-term': 'true' },
  });

  it('stops the container with the grace of the deletion, and no hook has failed', async () => {
    const node = await startNode();
    node.set([slow]);
    await node.until('the first runs', () => node.machine.running('a').length === 1);
    const deletedMs = node.clock.now();
    node.delete('a', 1);
    await node.untilStopped('a');
    expect(node.line.of('stopContainer').map(({ request }) => request.timeout)).toEqual([2]);
    expect(node.clock.now() - deletedMs).toBeLessThan(5 * second);
    expect(node.events('a', 'FailedPostStartHook')).toEqual([]);
    expect(node.events('a', 'Killing')).toHaveLength(1);
    expect(node.recorded('worker.sync', 'a').filter(({ kind }) => kind === 'problem')).toEqual([]);
  });
});

describe('a grace period that is shortened while the pod stops', () => {
  it.each<[string, PodShape, number]>([
    ['takes effect at once', { graceSeconds: 300, sim: { 'ignores-term': 'true' } }, 2],
    [
      'takes effect at once while a preStop hook runs, which runs once',
      { ...withPreStop({ exec: { command: ['x'] } }, { 'exec-time': '1h' }), graceSeconds: 300 },
      1,
    ],
  ])('%s', async (_, shape, stops) => {
    const node = await startNode();
    node.set([apiPod('a', shape)]);
    await node.untilReady('a');
    node.delete('a', 300);
    await node.advance(10 * second);
    const shortenedMs = node.clock.now();
    node.delete('a', 1);
    await node.untilStopped('a');
    expect(node.clock.now() - shortenedMs).toBeLessThan(5 * second);
    expect(node.line.of('stopContainer')).toHaveLength(stops);
    expect(node.line.of('stopContainer').at(-1)?.request.timeout).toBe(2);
    expect(node.line.of('execSync').length).toBeLessThanOrEqual(1);
    expect(node.events('a', 'Killing')).toHaveLength(1);
    expect(node.recorded('worker.terminating', 'a').filter(({ kind }) => kind === 'problem')).toEqual([]);
    expect(node.recorded('container.stop', 'a').filter(({ kind }) => kind === 'problem')).toEqual([]);
  });
});
