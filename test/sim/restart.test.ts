/** A kubelet that starts again, after a stop or a reboot: what runs goes on, and what changed meanwhile is made up for. */
import { afterEach, describe, expect, it } from 'vitest';
import { sleep } from '../../src/async/index.js';
import type { Pod } from '../../src/kube/index.js';
import type { LifecycleHooks } from '../../src/runtime-manager/index.js';
import { expectRunning, expectUntouched, Machine } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { apiPod, staticName, staticPod } from './pods.js';

afterEach(endNodes);

const sidecar = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
const pods: readonly Pod[] = [
  apiPod('plain', { containers: ['app', 'other'] }),
  apiPod('prepared', { init: ['setup', sidecar], sim: { 'setup.run-time': '1s' } }),
  apiPod('job', { spec: { restartPolicy: 'Never' }, sim: { 'run-time': '1h' } }),
];

const allReady = (node: Node, wanted: readonly Pod[]): boolean =>
  wanted.every(({ metadata }) => node.isReady(metadata.name!));

async function untilAllReady(node: Node, wanted: readonly Pod[]): Promise<void> {
  await node.until('all pods are ready', () => allReady(node, wanted), minute);
}

describe('a kubelet that starts again', () => {
  it('leaves everything as it is, and says so in its first statuses', async () => {
    const machine = new Machine();
    const first = await startNode({ machine });
    first.set(pods);
    await untilAllReady(first, pods);
    const before = machine.running();
    const statuses = pods.map(({ metadata }) => first.status(metadata.name!)?.containerStatuses);
    await first.stop();
    await machine.time.advance(10 * minute);
    const node = await startNode({ machine });
    node.set(pods);
    await untilAllReady(node, pods);
    await node.advance(5 * minute);
    expect(node.line.changes).toEqual([]);
    expect(machine.running()).toEqual(before);
    expect(pods.map(({ metadata }) => node.status(metadata.name!)?.containerStatuses)).toEqual(statuses);
  });

  it('does nothing to anything before its sources have spoken', async () => {
    const machine = new Machine();
    const first = await startNode({ machine });
    first.set(pods);
    await untilAllReady(first, pods);
    const before = machine.running();
    await first.crash();
    const node = await startNode({ machine });
    await node.advance(10 * minute);
    expect(machine.running()).toEqual(before);
    expect(node.line.changes).toEqual([]);
  });

  it('restarts what ended meanwhile, counting on', async () => {
    const machine = new Machine();
    const first = await startNode({ machine });
    first.set(pods);
    await untilAllReady(first, pods);
    await first.crash();
    const [app] = machine.running('plain');
    machine.exitContainer(app!.id, 9);
    await machine.time.advance(minute);
    const node = await startNode({ machine });
    node.set(pods);
    await untilAllReady(node, pods);
    expectRunning(machine, pods);
    expect(node.container('plain')).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 9 } },
    });
  });

  it('finishes a job that ended meanwhile', async () => {
    const machine = new Machine();
    const first = await startNode({ machine });
    first.set(pods);
    await untilAllReady(first, pods);
    await first.crash();
    await machine.time.advance(61 * minute);
    const node = await startNode({ machine });
    node.set(pods);
    await node.untilPhase('job', 'Succeeded');
    await node.untilStopped('job');
    expect(node.machine.seenContainers('job')).toHaveLength(1);
  });

  it('stops what was removed meanwhile, and starts what was added', async () => {
    const machine = new Machine();
    const first = await startNode({ machine, sources: ['file'] });
    first.set([staticPod('old'), staticPod('kept')], 'file');
    await first.untilReady(staticName('old'));
    await first.untilReady(staticName('kept'));
    await first.crash();
    const [kept] = machine.running(staticName('kept'));
    const node = await startNode({ machine, sources: ['file'] });
    const wanted = [staticPod('kept'), staticPod('added')];
    node.set(wanted, 'file');
    await node.untilReady(staticName('added'));
    await node.untilStopped(staticName('old'), 5 * second);
    expectRunning(machine, wanted);
    expectUntouched(machine, [kept!]);
    await node.advance(2 * minute);
    expect(machine.size).toEqual({ sandboxes: 2, containers: 2 });
  });

  it('replaces a static pod that was edited meanwhile', async () => {
    const machine = new Machine();
    const first = await startNode({ machine, sources: ['file'] });
    first.set([staticPod('web', { image: 'web:1' })], 'file');
    await first.untilReady(staticName('web'));
    await first.crash();
    const node = await startNode({ machine, sources: ['file'] });
    const edited = staticPod('web', { image: 'web:2' });
    node.set([edited], 'file');
    await node.until('only the new one runs', () => {
      const running = machine.running();
      return running.length === 1 && running[0]?.image === 'web:2';
    });
    await node.untilReady(staticName('web'));
    expectRunning(machine, [edited]);
  });
});

describe('a kubelet that is stopped while a pod stops', () => {
  const hook = { name: 'app', image: 'app:1', lifecycle: { preStop: { sleep: { seconds: 20 } } } };
  const rows: readonly (readonly [string, Pod])[] = [
    ['waits for a container', apiPod('a', { sim: { 'stop-delay': '20s' } })],
    ['waits for a preStop hook', apiPod('a', { containers: [hook] })],
    [
      'has a sidecar wait for a container',
      apiPod('a', { init: [sidecar], sim: { 'app.stop-delay': '20s' } }),
    ],
  ];

  it.each(rows)('%s: it stops at once, and the next one goes on', async (_, pod) => {
    const machine = new Machine();
    const hooks: LifecycleHooks = {
      postStart: async () => {},
      preStop: (_pod, _container, _id, signal) => sleep(machine.time, 20 * second, signal),
    };
    const first = await startNode({ machine, kubelet: { hooks } });
    first.set([pod]);
    await first.untilReady('a');
    first.set([]);
    await first.advance(2 * second);
    const before = machine.running();
    await first.stop();
    expect(machine.running()).toEqual(before);
    const node = await startNode({ machine, kubelet: { hooks } });
    node.set([]);
    await node.untilStopped('a', 10 * second);
    await node.advance(2 * minute);
    expect(machine.size).toEqual({ sandboxes: 0, containers: 0 });
  });
});

describe('a reboot', () => {
  const restartable = [
    apiPod('plain', { containers: ['app', 'other'] }),
    apiPod('prepared', { init: ['setup', sidecar], sim: { 'setup.run-time': '1s' } }),
  ];
  const wanted = [
    ...restartable,
    apiPod('job', { spec: { restartPolicy: 'Never' }, sim: { 'run-time': '1h' } }),
  ];

  it.each(['with the kubelet down', 'under the running kubelet'])(
    '%s starts everything anew',
    async (how) => {
      const machine = new Machine();
      const first = await startNode({ machine });
      first.set(wanted);
      await untilAllReady(first, wanted);
      let node = first;
      if (how === 'with the kubelet down') {
        await first.crash();
        machine.reboot();
        await machine.time.advance(minute);
        node = await startNode({ machine });
        node.set(wanted);
      } else machine.reboot();
      await node.until('all run again', () => machine.running().length === 4);
      await untilAllReady(node, restartable);
      await node.untilPhase('job', 'Failed');
      expectRunning(machine, restartable);
      expect(machine.ready().every(({ attempt }) => attempt === 1)).toBe(true);
      expect(node.container('plain')).toMatchObject({
        restartCount: 1,
        lastState: { terminated: { exitCode: 255 } },
      });
      expect(node.container('prepared', 'setup')?.state?.terminated?.exitCode).toBe(0);
      await node.advance(5 * minute);
      expectRunning(machine, restartable);
      expect(machine.seenContainers('job')).toHaveLength(1);
    },
  );
});

describe('a kubelet that becomes the node of another cluster', () => {
  it('ends what the former one gave it before it starts a pod of the new one', async () => {
    const machine = new Machine();
    const first = await startNode({ machine });
    first.set([apiPod('web', { uid: 'old', sim: { 'stop-delay': '10s' } }), apiPod('db', { uid: 'old-db' })]);
    await first.untilReady('web');
    await first.stop();
    const node = await startNode({ machine });
    const wanted = [apiPod('web', { uid: 'new' }), apiPod('other')];
    node.set(wanted);
    const uids = (): Set<string> => new Set(machine.running().map(({ podUid }) => podUid));
    const isOld = (uid: string): boolean => uid.startsWith('old');
    for (let step = 0; step < 200 && !allReady(node, wanted); step++) {
      const running = [...uids()];
      expect(running.every(isOld) || !running.some(isOld)).toBe(true);
      await node.advance(50);
    }
    await untilAllReady(node, wanted);
    expectRunning(machine, wanted);
  });

  it('keeps the static pods, and lets them wait for nothing', async () => {
    const machine = new Machine();
    const first = await startNode({ machine, sources: ['file', 'api'] });
    first.set([staticPod('fixed')], 'file');
    first.set([apiPod('web', { uid: 'old' })]);
    await first.untilReady(staticName('fixed'));
    await first.untilReady('web');
    const [fixed] = machine.running(staticName('fixed'));
    await first.stop();
    const node = await startNode({ machine, sources: ['file', 'api'] });
    node.set([staticPod('fixed'), staticPod('added')], 'file');
    await node.untilReady(staticName('added'));
    expect(machine.running('web')).toHaveLength(1);
    node.set([apiPod('web', { uid: 'new' })]);
    await node.until('the new pod runs', () => machine.running('web').some(({ podUid }) => podUid === 'new'));
    expectUntouched(machine, [fixed!]);
    expectRunning(machine, [staticPod('fixed'), staticPod('added'), apiPod('web', { uid: 'new' })]);
  });
});
