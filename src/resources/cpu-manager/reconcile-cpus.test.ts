/** When running containers are bound to other CPUs, and when nobody is called. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { CpuSet, type Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { CpuReconciler } from './reconcile-cpus.js';
import { cpuPod } from './test-cpu-node.js';

function world() {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const calls: string[] = [];
  const running = new Map<string, string>();
  const given = new Map<string, string>();
  const pods: Pod[] = [cpuPod('p', 'init:i=1 c=1')];
  let shared = '0-7';
  let failures = 0;
  let stale = 0;
  const reconciler = new CpuReconciler({
    clock,
    timeline,
    periodMs: 10_000,
    removeStale: () => stale++,
    cpusOf: (_, name) => CpuSet.parse(given.get(name) ?? shared),
    activePods: () => pods,
    runningContainers: () => running,
    update: async (id, cpus) => {
      calls.push(`${id}=${cpus}`);
      if (failures-- > 0) throw new Error('busy');
    },
  });
  const { signal } = new AbortController();
  return {
    clock,
    reconciler,
    running,
    given,
    pods,
    timeline,
    share(cpus: string): void {
      shared = cpus;
    },
    fail(times: number): void {
      failures = times;
    },
    get stale() {
      return stale;
    },
    async round(): Promise<string[]> {
      await reconciler.round(signal);
      return calls.splice(0);
    },
    calls,
  };
}

it('a container is bound once, and again when the pool has changed', async () => {
  const node = world();
  node.running.set('c', 'id1');
  expect(await node.round()).toEqual(['id1=0-7']);
  expect(await node.round()).toEqual([]);
  node.share('0,2-7');
  expect(await node.round()).toEqual(['id1=0,2-7']);
  expect(await node.round()).toEqual([]);
  expect(node.stale).toBe(4);
});

it('a container that was created with its CPUs is left alone', async () => {
  const node = world();
  node.reconciler.created('id1', '0-7');
  node.running.set('c', 'id1');
  expect(await node.round()).toEqual([]);
  node.share('0-3');
  expect(await node.round()).toEqual(['id1=0-3']);
});

it('a container that does not run, of nobody, or without CPUs to choose from is left alone', async () => {
  const node = world();
  node.running.set('stranger', 'id1');
  expect(await node.round()).toEqual([]);
  node.running.set('c', 'id2');
  node.share('');
  expect(await node.round()).toEqual([]);
});

it('an update that failed is made again in the next round', async () => {
  const node = world();
  node.running.set('c', 'id1').set('i', 'id2');
  node.given.set('i', '4');
  node.fail(1);
  expect(await node.round()).toEqual(['id2=4', 'id1=0-7']);
  expect(await node.round()).toEqual(['id2=4']);
  expect(await node.round()).toEqual([]);
  expect(node.timeline.ofPod('p').map(({ what, kind }) => `${what} ${kind}`)).toEqual([
    'cpu.update problem',
    'cpu.update effect',
    'cpu.update effect',
  ]);
});

it('runs at once when the pool changes, and every period', async () => {
  const node = world();
  node.running.set('c', 'id1');
  const stop = new AbortController();
  const loop = node.reconciler.run(stop.signal).catch(() => 'stopped');
  await node.clock.advance(9_000);
  expect(node.calls).toEqual([]);
  await node.clock.advance(1_000);
  expect(node.calls.splice(0)).toEqual(['id1=0-7']);
  node.share('0-3');
  node.reconciler.wake();
  node.reconciler.wake();
  await node.clock.advance(1);
  expect(node.calls.splice(0)).toEqual(['id1=0-3']);
  node.reconciler.stopped('id1');
  await node.clock.advance(10_000);
  expect(node.calls).toEqual(['id1=0-3']);
  stop.abort();
  expect(await loop).toBe('stopped');
  expect(node.clock.pendingTimers).toBe(0);
});

it('ids of containers that are gone are forgotten in time', async () => {
  const node = world();
  for (let n = 0; n < 1000; n++) node.reconciler.created(`gone-${n}`, '0-7');
  node.running.set('c', 'gone-5');
  await node.round();
  node.share('0-3');
  expect(await node.round()).toEqual(['gone-5=0-3']);
});
