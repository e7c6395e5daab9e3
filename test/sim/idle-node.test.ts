/** What a node at rest does in ten minutes, counted on virtual time: idle work must be driven by events, not by ticking. */
import { expect, it } from 'vitest';
import { CountingClock } from '../../bench/hollow/counting-clock.js';
import { HollowNodes } from '../../bench/hollow/nodes.js';
import { settle, VirtualClock } from '../../src/async/index.js';
import { resources } from '../../src/kube-client/index.js';
import { minute } from './node.js';

interface Rest {
  readonly timersFired: number;
  readonly runtimeCalls: number;
  readonly apiCalls: number;
}

async function tenMinutesOfRest(pods: number, networkReady: boolean): Promise<Rest> {
  const time = new VirtualClock();
  const clock = new CountingClock(time);
  const hollow = new HollowNodes(clock, 10_000);
  await hollow.open(1, { networkReady });
  await time.advance(minute);
  await hollow.createPods(pods);
  await time.advance(3 * minute);
  expect(await hollow.readyNodes()).toBe(networkReady ? 1 : 0);
  expect((await hollow.pods()).filter(({ status }) => status?.phase === 'Running')).toHaveLength(pods);
  const [node] = hollow.nodes;
  const calls = (): number => Object.values(node!.runtime.calls).reduce((sum, count) => sum + count, 0);
  const before = { fired: clock.fired, calls: calls(), api: node!.api.calls.length };
  await time.advance(10 * minute);
  const rest = {
    timersFired: clock.fired - before.fired,
    runtimeCalls: calls() - before.calls,
    apiCalls: node!.api.calls.length - before.api,
  };
  await hollow.stop();
  await settle();
  return rest;
}

it.each([
  // Looks at the runtime each 5 s, relists, statuses and leases each 10 s, and what is rarer.
  ['an idle node', { pods: 0, networkReady: true }, { timersFired: 520, runtimeCalls: 320, apiCalls: 80 }],
  [
    'a node that is not Ready',
    { pods: 0, networkReady: false },
    { timersFired: 520, runtimeCalls: 320, apiCalls: 80 },
  ],
  // Each pod is synced once in 60 to 90 s.
  [
    'a node with 30 pods',
    { pods: 30, networkReady: true },
    { timersFired: 800, runtimeCalls: 320, apiCalls: 80 },
  ],
])('%s does little in ten minutes', async (_, { pods, networkReady }, most) => {
  const rest = await tenMinutesOfRest(pods, networkReady);
  expect(rest.timersFired).toBeLessThanOrEqual(most.timersFired);
  expect(rest.runtimeCalls).toBeLessThanOrEqual(most.runtimeCalls);
  expect(rest.apiCalls).toBeLessThanOrEqual(most.apiCalls);
  // It is not dead either: its lease is renewed.
  expect(rest.apiCalls).toBeGreaterThan(50);
});

it('a kubelet holds what stays the same in a pod once, however often the pod changes', async () => {
  const time = new VirtualClock();
  const hollow = new HollowNodes(time);
  await hollow.open(1);
  await time.advance(minute);
  await hollow.createPods(1);
  await time.advance(minute);
  const [node] = hollow.nodes;
  const [before] = node!.kubelet.pods();
  const ref = { namespace: 'default', name: before!.metadata.name };
  const body = { metadata: { labels: { changed: 'yes' } } };
  await node!.api.patch(resources.pods, ref, { type: 'merge', body });
  await time.advance(minute);
  const [after] = node!.kubelet.pods();
  expect(after!.metadata.labels).toMatchObject({ changed: 'yes', app: 'web' });
  expect(after!.spec).toBe(before!.spec);
  expect(after!.metadata.ownerReferences).toBe(before!.metadata.ownerReferences);
  await hollow.stop();
});
