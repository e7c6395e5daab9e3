/** The API is away for long, or comes back as it was before: pods go on, and what happened meanwhile is told afterwards. */
import { afterEach, describe, expect, it } from 'vitest';
import { type KubeApi, resources } from '../../src/kube-client/index.js';
import { type Member, startMember } from './cluster-machine.js';
import { endNodes, minute, nodeName, second } from './node.js';
import { staticName, staticPod } from './pods.js';

afterEach(endNodes);

const leaseRef = { namespace: 'kube-node-lease', name: nodeName };
const inSeconds = { 'run-time': '1s', 'exit-code': '7' };

async function leaseAgeMs({ on, node }: Member): Promise<number> {
  const { spec } = await on.api.get(resources.leases, leaseRef);
  return node.clock.now() - Date.parse(spec?.renewTime ?? '');
}

/** How many calls each second brought. */
function countSeconds(test: Member): Map<number, number> {
  const counts = new Map<number, number>();
  const seen: KubeApi = test.line.api;
  for (const verb of ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'post'] as const) {
    const call = seen[verb] as (...given: readonly unknown[]) => unknown;
    Reflect.set(seen, verb, (...given: readonly unknown[]) => {
      const at = Math.floor(test.node.clock.monotonic() / second);
      counts.set(at, (counts.get(at) ?? 0) + 1);
      return call(...given);
    });
  }
  return counts;
}

describe('an API that is away for ten minutes', () => {
  it('is told afterwards what happened meanwhile, and nothing was stopped that it did not delete', async () => {
    const test = await startMember({ statics: [staticPod('static'), staticPod('leaves')] });
    const { on, node } = test;
    const { api, machine } = on;
    await on.create('steady', { containers: ['app', 'other'] });
    await on.create('crashing', { sim: inSeconds });
    await on.create('job', { spec: { restartPolicy: 'Never' }, sim: { 'run-time': '3m', 'exit-code': '4' } });
    for (const name of ['deleted', 'forced']) await on.create(name, { graceSeconds: 5 });
    for (const name of ['steady', 'deleted', 'forced', staticName('leaves')]) await test.untilReady(name);
    await node.advance(10 * second);
    const kept = ['steady', 'deleted', 'forced', staticName('static')];
    const running = (): unknown => kept.map((name) => machine.running(name));
    const before = running();
    const restartsBefore = node.container('crashing')?.restartCount ?? 0;

    const calls = countSeconds(test);
    const lostMs = node.clock.now();
    api.setReachable(false);
    await node.advance(30 * second);
    node.set([staticPod('static'), staticPod('comes')], 'file');
    await node.untilReady(staticName('comes'));
    await node.untilStopped(staticName('leaves'));
    await node.advance(lostMs + 10 * minute - node.clock.now());
    expect(running()).toEqual(before);
    const restarts = node.container('crashing')?.restartCount ?? 0;
    expect(restarts).toBeGreaterThan(restartsBefore + 3);
    expect(node.status('job')?.phase).toBe('Failed');
    // No hurry while nothing answers: a few calls a second at the worst, much less as a rule.
    expect(Math.max(...calls.values())).toBeLessThan(30);
    expect([...calls.values()].reduce((sum, count) => sum + count, 0)).toBeLessThan(1500);

    calls.clear();
    api.setReachable(true);
    await on.delete('deleted');
    await on.delete('forced', 0);
    await on.create('new');
    await node.advance(90 * second);
    expect(Math.max(...calls.values())).toBeLessThan(40);
    expect(await leaseAgeMs(test)).toBeLessThan(15 * second);
    const crashing = (await on.pod('crashing')).status?.containerStatuses?.[0];
    expect(crashing?.restartCount).toBe(node.container('crashing')?.restartCount);
    expect(crashing?.lastState?.terminated?.exitCode).toBe(7);
    const job = await on.pod('job');
    expect(job.status?.phase).toBe('Failed');
    const { exitCode, finishedAt } = job.status?.containerStatuses?.[0]?.state?.terminated ?? {};
    expect(exitCode).toBe(4);
    expect(Date.parse(finishedAt ?? '')).toBeLessThan(lostMs + 4 * minute);
    await test.untilReady('new');
    await test.untilGone('deleted', second);
    for (const name of ['deleted', 'forced']) expect(machine.running(name)).toEqual([]);
    for (const name of ['steady', staticName('static'), staticName('comes')]) await test.untilReady(name);
    await test.untilGone(staticName('leaves'), second);
    expect([machine.running('steady'), machine.running(staticName('static'))]).toEqual([
      (before as unknown[])[0],
      (before as unknown[])[3],
    ]);
    expect((await on.pod('steady')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  }, 120_000);

  it('is not asked by all nodes at the same moments when it is back', async () => {
    const firsts: number[] = [];
    for (let seed = 1; seed <= 5; seed++) {
      const test = await startMember({ seed });
      await test.on.create('steady');
      await test.untilReady('steady');
      const backMs = test.node.clock.monotonic() + minute;
      test.on.api.setReachable(false);
      await test.node.advance(minute);
      test.on.api.setReachable(true);
      const before = test.on.api.calls.length;
      const isRead = (): boolean =>
        test.on.api.calls.slice(before).some(({ verb, resource }) => verb === 'watch' && resource === 'pods');
      await test.node.until('the pods are read', isRead, 90 * second);
      firsts.push(Math.round((test.node.clock.monotonic() - backMs) / 100));
      await endNodes();
    }
    expect(new Set(firsts).size).toBeGreaterThan(3);
    expect(Math.max(...firsts) - Math.min(...firsts)).toBeGreaterThan(20);
  }, 120_000);
});

describe('an API that comes back as it was before', () => {
  it('gets its statuses again; what it no longer has is stopped, what it has again runs', async () => {
    const test = await startMember({ statics: [staticPod('static')] });
    const { on, node } = test;
    await on.create('steady');
    const { metadata } = await on.create('ended', { graceSeconds: 1 });
    await test.untilReady('ended');
    const backup = on.api.snapshot();
    const steady = await test.untilReady('steady');
    await on.delete('ended');
    await test.untilGone('ended');
    await on.create('younger');
    await test.untilReady('younger');
    await test.untilReady(staticName('static'));
    const before = on.machine.running('steady');
    on.api.restore(backup);
    await node.untilStopped('younger');
    const again = await test.untilReady('ended');
    expect(again.metadata.uid).toBe(metadata.uid);
    expect((await test.untilReady('steady')).status?.containerStatuses).toEqual(
      steady.status?.containerStatuses,
    );
    await test.untilReady(staticName('static'));
    expect(on.machine.running('steady')).toEqual(before);
    await node.advance(2 * minute);
    expect(on.machine.running('steady')).toEqual(before);
    expect(on.machine.running('younger')).toEqual([]);
    expect(await leaseAgeMs(test)).toBeLessThan(15 * second);
  }, 120_000);
});

describe('a kubelet that starts while the API is away', () => {
  it('runs static pods, leaves the others alone, and acts on the API when it is back', async () => {
    const first = await startMember();
    const { on } = first;
    await on.create('steady');
    await on.create('forced');
    for (const name of ['steady', 'forced']) await first.untilReady(name);
    const before = on.machine.running('steady');
    await first.crash();
    on.api.setReachable(false);
    const test = await startMember({ on, statics: [staticPod('static')] });
    await test.node.untilReady(staticName('static'));
    await test.node.advance(10 * minute);
    expect(on.machine.running('steady')).toEqual(before);
    expect(on.machine.running('forced')).toHaveLength(1);
    on.api.setReachable(true);
    await on.delete('forced', 0);
    await test.node.untilStopped('forced');
    await test.untilReady('steady');
    await test.untilReady(staticName('static'));
    expect(on.machine.running('steady')).toEqual(before);
  }, 120_000);
});
