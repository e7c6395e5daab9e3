import { afterEach, describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../../async/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { leaseNamespace } from './lease.js';
import { LeaseRenewer } from './renewer.js';

const started: TaskGroup[] = [];
afterEach(async () => {
  for (const tasks of started.splice(0)) await tasks.stop();
});
const ref = { namespace: leaseNamespace, name: 'n1' };

async function leaseUnderTest({ withNode = true } = {}) {
  const clock = new VirtualClock();
  const api = new SimulatedKubeApi({ clock });
  if (withNode) await api.create(resources.nodes, { metadata: { name: 'n1' } });
  let repeated = 0;
  const renewer = new LeaseRenewer({
    api,
    clock,
    timeline: new Timeline({ clock }),
    random: () => 0,
    nodeName: 'n1',
    durationSeconds: 40,
    onRepeatedFailure: () => void repeated++,
  });
  const tasks = new TaskGroup({ onError: (_task, error) => expect.fail(String(error)) });
  started.push(tasks);
  tasks.start('lease', (signal) => renewer.run(signal));
  await clock.advance(0);
  const calls = (verb: string) =>
    api.calls.filter((call) => call.verb === verb && call.resource === 'leases').length;
  return {
    clock,
    api,
    tasks,
    calls,
    renewer,
    repeated: () => repeated,
    lease: () => api.get(resources.leases, ref),
  };
}

describe('the lease', () => {
  it('is created, owned by the node, with only the required fields', async () => {
    const test = await leaseUnderTest();
    const lease = await test.lease();
    expect(lease.metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: '00000000-0000-4000-8000-000000000001' },
    ]);
    expect(lease.spec).toEqual({
      holderIdentity: 'n1',
      leaseDurationSeconds: 40,
      renewTime: '2026-01-01T00:00:00.000000Z',
    });
  });
  it('is created as soon as its node exists, and renewed only from then on', async () => {
    const test = await leaseUnderTest({ withNode: false });
    await test.clock.advance(150);
    expect(test.calls('create')).toBe(0);
    await test.api.create(resources.nodes, { metadata: { name: 'n1' } });
    test.renewer.nodeRegistered();
    await test.clock.advance(0);
    expect((await test.lease()).spec?.renewTime).toBe('2026-01-01T00:00:00.150000Z');
    test.renewer.nodeRegistered();
    await test.clock.advance(9_000);
    expect(test.calls('update')).toBe(0);
    await test.clock.advance(1_000);
    expect(test.calls('update')).toBe(1);
  });
  it('is created if the node appears while a lookup is still failing', async () => {
    const test = await leaseUnderTest({ withNode: false });
    const reading = { verb: 'get', resource: resources.nodes } as const;
    test.api.faults.add({ ...reading, fault: { kind: 'delay', delayMs: 500 } });
    test.api.faults.add({ ...reading, fault: { kind: 'unreachable' } });
    await test.clock.advance(10_200);
    test.renewer.nodeRegistered();
    await test.api.create(resources.nodes, { metadata: { name: 'n1' } });
    await test.clock.advance(400);
    expect(test.calls('create')).toBe(1);
  });
  it('is renewed every quarter of its duration, without being read again', async () => {
    const test = await leaseUnderTest();
    const reads = test.calls('get');
    await test.clock.advance(30_000);
    expect(test.calls('update')).toBe(3);
    expect(test.calls('get')).toBe(reads);
    expect((await test.lease()).spec?.renewTime).toBe('2026-01-01T00:00:30.000000Z');
  });
  it('adopts an existing lease', async () => {
    const test = await leaseUnderTest();
    await test.tasks.stop();
    const again = new LeaseRenewer({
      api: test.api,
      clock: test.clock,
      timeline: new Timeline({ clock: test.clock }),
      random: () => 0,
      nodeName: 'n1',
      durationSeconds: 20,
    });
    await again.sync(new AbortController().signal);
    expect((await test.lease()).spec?.leaseDurationSeconds).toBe(20);
    expect(test.calls('create')).toBe(1);
  });
  it('waits for its node', async () => {
    const test = await leaseUnderTest({ withNode: false });
    expect(test.calls('create')).toBe(0);
    await test.api.create(resources.nodes, { metadata: { name: 'n1' } });
    await test.clock.advance(10_000);
    expect(test.calls('create')).toBe(1);
  });
  it('is recreated after deletion, but not without its node', async () => {
    const test = await leaseUnderTest();
    await test.api.delete(resources.leases, ref);
    await test.clock.advance(10_000);
    expect((await test.lease()).metadata.ownerReferences).toHaveLength(1);
    await test.api.delete(resources.leases, ref);
    await test.api.delete(resources.nodes, { name: 'n1' });
    await test.clock.advance(60_000);
    await expect(test.lease()).rejects.toThrow('not found');
  });
  it('rereads and retries after a conflict in the same round', async () => {
    const test = await leaseUnderTest();
    const patch = { type: 'merge', body: { metadata: { labels: { a: 'b' } } } } as const;
    await test.api.patch(resources.leases, ref, patch);
    await test.clock.advance(10_000);
    const lease = await test.lease();
    expect([lease.metadata.labels, lease.spec?.renewTime]).toEqual([
      { a: 'b' },
      '2026-01-01T00:00:10.000000Z',
    ]);
    expect(test.calls('update')).toBe(2);
  });
  it('makes five attempts, then reads with growing delays until the server is back', async () => {
    const test = await leaseUnderTest();
    const reads = test.calls('get');
    test.api.setReachable(false);
    await test.clock.advance(10_000);
    expect(test.calls('update')).toBe(5);
    expect(test.repeated()).toBe(4);
    await test.clock.advance(200 + 400 + 800);
    expect(test.calls('get') - reads).toBe(4);
    test.api.setReachable(true);
    await test.clock.advance(7_000);
    expect((await test.lease()).spec?.renewTime).toMatch(/^2026-01-01T00:00:1/);
  });
  it('stopping leaves no timer', async () => {
    const test = await leaseUnderTest();
    await test.tasks.stop();
    expect(test.clock.pendingTimers).toBe(0);
  });
});
