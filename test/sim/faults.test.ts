/** Runtimes that fail, hang, lose answers or go away: nothing is lost and nothing is done twice. */
import { afterEach, describe, expect, it } from 'vitest';
import { sleep, withTimeout } from '../../src/async/index.js';
import { CriError, type CriMethodName } from '../../src/cri/index.js';
import { expectRunning } from './machine.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod } from './pods.js';

afterEach(endNodes);

const codes = ['Unavailable', 'DeadlineExceeded'] as const;

describe('answers that are lost', () => {
  const starts: readonly (readonly [CriMethodName, number])[] = [
    ['runPodSandbox', 0],
    ['podSandboxStatus', 0],
    ['imageStatus', 0],
    ['pullImage', 0],
    // The container of the lost answer counts as an attempt, as its name is taken.
    ['createContainer', 1],
    ['startContainer', 0],
  ];
  const rows = starts.flatMap(([rpc, restarts]) => codes.map((code) => [rpc, code, restarts] as const));

  it.each(rows)('%s, %s: the pod runs, once', async (rpc, code, restarts) => {
    const node = await startNode();
    node.machine.faults.add({ rpc, loseResponse: true, code });
    const pods = [apiPod('a', { containers: ['app', 'other'] })];
    node.set(pods);
    await node.untilReady('a', 40 * second);
    expectRunning(node.machine, pods);
    expect(node.machine.faults.size).toBe(0);
    expect(node.machine.seenSandboxes()).toHaveLength(1);
    expect(node.container('a')?.restartCount).toBe(restarts);
    expect(node.container('a', 'other')?.restartCount).toBe(0);
    expect(node.machine.seenContainers().filter(({ state }) => state === 'exited')).toEqual([]);
    const [...before] = node.machine.running();
    await node.advance(5 * minute);
    expect(node.machine.running()).toEqual(before);
  });

  it.each(
    (['stopContainer', 'stopPodSandbox', 'listContainers', 'containerStatus'] as const).flatMap((rpc) =>
      codes.map((code) => [rpc, code] as const),
    ),
  )('%s, %s: the pod stops', async (rpc, code) => {
    const node = await startNode();
    const [keep, go] = [apiPod('keep'), apiPod('go', { containers: ['app', 'other'] })];
    node.set([keep, go]);
    await node.untilReady('go');
    await node.untilReady('keep');
    node.machine.faults.add({ rpc, loseResponse: true, code });
    node.set([keep]);
    await node.untilStopped('go', 20 * second);
    await node.until('it is finished', () => node.recorded('pod.finished', 'go').length === 1, 20 * second);
    expectRunning(node.machine, [keep]);
    await node.advance(3 * minute);
    expect(node.machine.size).toEqual({ sandboxes: 1, containers: 1 });
  });

  it('of every tenth call, whatever it is: all pods run', async () => {
    const node = await startNode();
    const methods = [
      'runPodSandbox',
      'createContainer',
      'startContainer',
      'listContainers',
      'listPodSandbox',
    ] as const;
    for (const rpc of methods)
      for (let nth = 3; nth < 200; nth += 10) node.machine.faults.add({ rpc, nth, loseResponse: true });
    const pods = Array.from({ length: 20 }, (_, index) =>
      apiPod(`a${index}`, { containers: ['app', 'other'] }),
    );
    node.set(pods);
    for (const pod of pods) await node.untilReady(pod.metadata.name!, 2 * minute);
    node.machine.faults.clear();
    expectRunning(node.machine, pods);
    expect(node.machine.seenContainers().filter(({ state }) => state === 'exited')).toEqual([]);
  });
});

describe('a runtime that goes away for 40 s', () => {
  it.each([true, false])(
    'events %s: the loop waits, and nothing is lost or started twice',
    async (events) => {
      const node = await startNode({ events });
      const pods = [apiPod('a'), apiPod('b'), apiPod('c')];
      node.set(pods);
      for (const { metadata } of pods) await node.untilReady(metadata.name!);
      const before = node.machine.running();
      node.machine.goAway();
      await node.advance(5 * second);
      expect(node.kubelet.blockers()).toEqual([]);
      // What is asked for and what happens meanwhile is done once it is back.
      node.put(apiPod('d'));
      node.drop('c');
      await node.advance(second);
      node.machine.exitContainer(before.find(({ podName }) => podName === 'b')!.id, 1);
      await node.advance(29 * second);
      expect(node.kubelet.blockers()).toContain('container runtime is down');
      expect(node.status('a')?.phase).toBe('Running');
      expect(node.isReady('a')).toBe(true);
      await node.advance(5 * second);
      node.machine.comeBack();
      await node.until('the gate opens', () => node.kubelet.blockers().length === 0, 6 * second);
      await node.untilReady('d', 20 * second);
      await node.untilStopped('c', 20 * second);
      await node.until('b runs again', () => node.machine.running('b').length === 1, 20 * second);
      await node.untilReady('b');
      expectRunning(node.machine, [apiPod('a'), apiPod('b'), apiPod('d')]);
      expect(node.machine.running('a')).toEqual(before.filter(({ podName }) => podName === 'a'));
      expect(node.container('a')?.restartCount).toBe(0);
      expect(node.container('b')?.restartCount).toBe(1);
      expect(node.machine.ready().every(({ attempt }) => attempt === 0)).toBe(true);
      expect(
        node.recorded('loop.gate').filter(({ because }) => because === 'container runtime is down'),
      ).toHaveLength(1);
    },
  );

  it('in the middle of many starts: every pod runs in the end, once', async () => {
    const node = await startNode();
    const pods = Array.from({ length: 12 }, (_, index) =>
      apiPod(`a${index}`, { containers: ['app', 'other'], sim: { 'start-delay': '300ms' } }),
    );
    node.set(pods);
    await node.until('some run', () => node.machine.running().length >= 5);
    const before = node.machine.running();
    node.machine.goAway();
    await node.advance(40 * second);
    node.machine.comeBack();
    for (const { metadata } of pods) await node.untilReady(metadata.name!, minute);
    expectRunning(node.machine, pods);
    const after = new Set(node.machine.running().map(({ id }) => id));
    expect(before.filter(({ id }) => !after.has(id))).toEqual([]);
  });

  it('in the middle of stopping: the pod is stopped once it is back', async () => {
    const node = await startNode();
    node.set([apiPod('a', { sim: { 'stop-delay': '10s' } })]);
    await node.untilReady('a');
    node.set([]);
    await node.advance(2 * second);
    node.machine.goAway();
    await node.advance(40 * second);
    node.machine.comeBack();
    await node.untilStopped('a', 20 * second);
    await node.until('it is finished', () => node.recorded('pod.finished', 'a').length === 1, 20 * second);
    await node.advance(2 * minute);
    expect(node.machine.size).toEqual({ sandboxes: 0, containers: 0 });
  });
});

describe('a runtime whose answers fail for a while', () => {
  const rows = ['listPodSandbox', 'listContainers', 'containerStatus', 'podSandboxStatus'] as const;

  it.each(rows)('%s: running pods stay, new and dead ones follow once it works', async (rpc) => {
    const node = await startNode();
    node.set([apiPod('a'), apiPod('b')]);
    await node.untilReady('a');
    await node.untilReady('b');
    const before = node.machine.running('a');
    const [dying] = node.machine.running('b');
    const works = node.machine.faults.add({
      rpc,
      times: Infinity,
      error: new CriError('Unknown', 'no idea'),
    });
    node.machine.exitContainer(dying!.id, 2);
    node.put(apiPod('c'));
    await node.advance(20 * second);
    expect(node.machine.running('a')).toEqual(before);
    expect(node.status('a')?.phase).toBe('Running');
    works();
    await node.untilReady('c', 20 * second);
    await node.until(
      'b runs again',
      () => node.container('b')?.restartCount === 1 && node.isReady('b'),
      20 * second,
    );
    expectRunning(node.machine, node.desired());
    expect(node.machine.running('a')).toEqual(before);
  });

  it('a status that cannot be determined when the pod is synced is told as FailedSync', async () => {
    const node = await startNode();
    const pod = apiPod('a');
    node.set([pod]);
    await node.untilReady('a');
    const [app] = node.machine.running('a');
    const works = node.machine.faults.add({
      rpc: 'containerStatus',
      times: Infinity,
      error: new CriError('Unknown', 'no idea'),
    });
    node.machine.exitContainer(app!.id, 2);
    await node.advance(second);
    expect(node.events('a', 'FailedSync')).toEqual([]);
    node.put({ ...pod, metadata: { ...pod.metadata, labels: { edited: 'yes' } } });
    await node.until('it is told', () => node.events('a', 'FailedSync').length > 0, 5 * second);
    expect(node.events('a', 'FailedSync')[0]?.message).toBe(
      'error determining status: rpc error: code = Unknown desc = no idea',
    );
    works();
    await node.until('it runs again', () => node.container('a')?.restartCount === 1, 5 * second);
  });

  it('what a sync started before it failed is not started again by the next', async () => {
    const node = await startNode();
    node.machine.faults.add({ rpc: 'createContainer', error: new CriError('Unknown', 'not this one') });
    const pod = apiPod('a', { containers: ['app', 'other'], sim: { 'other.start-delay': '400ms' } });
    node.set([pod]);
    await node.until('the second container starts', () => node.line.of('startContainer').length === 1);
    // This waits for the sync under way and follows it at once.
    node.put({ ...pod, metadata: { ...pod.metadata, labels: { edited: 'yes' } } });
    await node.untilReady('a');
    expectRunning(node.machine, [pod]);
    expect(node.container('a', 'other')?.restartCount).toBe(0);
    expect(node.line.of('startContainer')).toHaveLength(2);
  });

  it('a call that hangs holds back its own pod only', async () => {
    const node = await startNode();
    node.machine.faults.add({ rpc: 'runPodSandbox', delayMs: 10 * minute });
    node.set([apiPod('stuck'), ...Array.from({ length: 6 }, (_, index) => apiPod(`a${index}`))]);
    for (let index = 0; index < 6; index++) await node.untilReady(`a${index}`, 2 * second);
    // A sandbox gets twice the time of an ordinary call.
    await node.untilReady('stuck', 4 * minute + 20 * second);
    expect(node.events('stuck', 'FailedCreatePodSandBox')).toHaveLength(1);
  });

  it('networks that hang hold up the starts of other pods once and for seconds, however many hang', async () => {
    const node = await startNode();
    const hanging = Array.from({ length: 30 }, (_, index) => apiPod(`stuck${index}`));
    node.machine.faults.add({ rpc: 'runPodSandbox', delayMs: 10 * minute, times: hanging.length });
    node.set(hanging);
    await node.until('all try', () => node.line.of('runPodSandbox').length === hanging.length, 10 * second);
    node.put(apiPod('other'));
    await node.untilReady('other', second);
  });

  it('networks that hang hold up the ends of other pods once and for seconds, however many hang', async () => {
    const node = await startNode();
    const hanging = Array.from({ length: 30 }, (_, index) => apiPod(`stuck${index}`));
    node.set([...hanging, apiPod('other')]);
    for (const { metadata } of [...hanging, apiPod('other')]) await node.untilReady(metadata.name);
    node.machine.faults.add({ rpc: 'stopPodSandbox', delayMs: 10 * minute, times: hanging.length });
    node.set([apiPod('other')]);
    await node.until('all end', () => node.line.of('stopPodSandbox').length === hanging.length, 20 * second);
    node.set([]);
    await node.untilStopped('other', 2 * second);
  });

  it('what comes up after its pod was given up does not stay', async () => {
    const node = await startNode({
      through: (machine) => ({
        ...machine,
        // A runtime that goes on with what it began although nobody waits for it any more.
        runPodSandbox: async (request, options) => {
          const late = sleep(machine.time, 3 * second).then(() => machine.runPodSandbox(request));
          return withTimeout(machine.time, minute, options?.signal, () => late);
        },
      }),
    });
    node.set([apiPod('a')]);
    await node.until('the sandbox is asked for', () => node.line.of('runPodSandbox').length === 1);
    node.set([]);
    await node.advance(4 * second);
    await node.untilStopped('a', 5 * second);
    await node.advance(2 * minute);
    expect(node.machine.size).toEqual({ sandboxes: 0, containers: 0 });
    expect(node.line.of('createContainer')).toEqual([]);
  });

  it('event streams that break cost nothing but a look', async () => {
    const node = await startNode();
    node.set([apiPod('a')]);
    await node.untilReady('a');
    for (let round = 1; round <= 5; round++) {
      node.machine.breakEventStreams();
      const [app] = node.machine.running('a');
      node.machine.exitContainer(app!.id, 0);
      await node.until(
        'it was started again',
        () => node.container('a')?.restartCount === round,
        10 * minute,
      );
    }
  });
});
