import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import {
  configHashAnnotation,
  configMirrorAnnotation,
  configSourceAnnotation,
  type Pod,
  type PodStatus,
} from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, Informer, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { PodManager } from '../desired/index.js';
import { type ApiPodMetrics, createApiPodMetrics } from '../metrics.js';
import { ApiStatusSync } from './api-sync.js';
import { StatusManager } from './manager.js';
import { statusOf } from './pod-fixtures.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let pods: PodManager;
let statuses: StatusManager;
let sync: ApiStatusSync;
let informer: Informer<Pod>;
let tasks: TaskGroup;
let couldRun: Set<string>;
let metrics: ApiPodMetrics;

/** Feeds the manager from the API as on a node, by a list and a watch. */
function feed(): void {
  const seen = new Set(informer.list().map(({ metadata }) => metadata.uid));
  for (const pod of [...pods.list(), ...pods.mirrors()]) {
    if (pod.metadata.annotations?.[configSourceAnnotation] !== 'file' && !seen.has(pod.metadata.uid))
      pods.remove(pod);
  }
  for (const pod of informer.list()) {
    const annotations = { ...pod.metadata.annotations, [configSourceAnnotation]: 'api' };
    pods.upsert({ ...pod, metadata: { ...pod.metadata, annotations } });
  }
}

beforeEach(async () => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  pods = new PodManager();
  couldRun = new Set();
  metrics = createApiPodMetrics();
  statuses = new StatusManager({
    clock,
    timeline,
    podOf: (uid) => pods.byUid(uid),
    mirrorOf: (pod) => pods.mirrorOf(pod),
    translateUid: (uid) => pods.translateUid(uid),
  });
  sync = new ApiStatusSync({
    clock,
    timeline,
    api,
    statuses,
    pods,
    couldHaveRunningContainers: (uid) => couldRun.has(uid),
    metrics,
    random: () => 0.5,
  });
  informer = new Informer({ api, clock, resource: resources.pods, random: () => 0.5, onUpdate: feed });
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
  tasks.start('informer', (signal) => informer.run(signal));
  tasks.start('sync', (signal) => sync.run(signal));
  await settle();
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
});

async function createPod(name = 'web', more: Partial<Pod['metadata']> = {}): Promise<Pod> {
  const { metadata } = await api.create(resources.pods, {
    metadata: { name, namespace: 'default', ...more },
    spec: { nodeName: 'node', containers: [{ name: 'a', image: 'a:1' }] },
  });
  await settle();
  const pod = pods.byUid(metadata.uid);
  if (pod === undefined) throw new Error('the pod did not come through the watch');
  return pod;
}
const stored = (name = 'web'): Promise<Pod> => api.get(resources.pods, { namespace: 'default', name });
const phaseOf = async (name = 'web') => (await stored(name)).status?.phase;
const current = (pod: Pod): Pod => pods.byUid(pod.metadata.uid) ?? pod;
const isGone = (name = 'web'): Promise<boolean> =>
  stored(name).then(
    () => false,
    () => true,
  );
const made = (verb: string, subresource?: string): number =>
  api.calls.filter(
    (call) => call.verb === verb && call.subresource === subresource && call.name !== undefined,
  ).length;
const running = (isReady = true): PodStatus => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  containerStatuses: [statusOf('a', 'running', { ready: isReady, started: true })],
  podIPs: [{ ip: '10.0.0.1' }],
});

describe('writing', () => {
  it('sends one patch at once, without a read, for each urgent change', async () => {
    const pod = await createPod();
    statuses.set(pod, running(true));
    await settle();
    statuses.set(pod, running(false));
    await settle();
    statuses.set(pod, running(true));
    await settle();
    expect([made('get'), made('patch', 'status')]).toEqual([0, 3]);
    const { status } = await stored();
    expect(status?.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
    expect(status?.containerStatuses?.[0]).toMatchObject({ ready: true, state: { running: {} } });
    const { statusSyncDuration } = metrics;
    expect([statusSyncDuration.count(), statusSyncDuration.sum()]).toEqual([3, 0]);
  });
  it('an intermediate status waits half a second, and yields to an urgent one', async () => {
    const [slow, quick] = [await createPod('slow'), await createPod('quick')];
    for (const pod of [slow, quick]) statuses.set(pod, { phase: 'Pending', message: 'on its way' });
    await clock.advance(499);
    expect(made('patch', 'status')).toBe(0);
    statuses.set(quick, running());
    await settle();
    expect([await phaseOf('quick'), made('patch', 'status')]).toEqual(['Running', 1]);
    await clock.advance(1);
    expect((await stored('slow')).status?.message).toBe('on its way');
    await clock.advance(60_000);
    expect(made('patch', 'status')).toBe(2);
  });
  it('a hundred intermediate statuses are written one by one, the latest first, and none is late', async () => {
    const all = [];
    for (let n = 0; n < 100; n++) all.push(await createPod(`p${n}`));
    for (const pod of all) statuses.set(pod, { phase: 'Pending', message: 'on its way' });
    await clock.advance(1000);
    const names = api.calls.flatMap(({ verb, name }) => (verb === 'patch' ? [name] : []));
    expect(names).toEqual(['p99', 'p98', 'p97', 'p96', 'p95', 'p94']);
    await clock.advance(9000);
    expect(made('patch', 'status')).toBe(100);
  });
  it('an equal status makes no request', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    const before = api.calls.length;
    expect(statuses.set(pod, running())).toBe('unchanged');
    await clock.advance(60_000);
    expect(api.calls.slice(before).filter(({ verb }) => verb === 'patch' || verb === 'get')).toEqual([]);
  });
  it('an equal status of a pod that is being deleted is neither read nor written', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    await api.delete(resources.pods, { namespace: 'default', name: 'web' });
    await settle();
    statuses.set(current(pod), { ...running() });
    await clock.advance(2000);
    const patches = made('patch', 'status');
    const gets = made('get');
    expect(statuses.set(current(pod), running())).toBe('accepted');
    await clock.advance(2000);
    expect([made('get') - gets, made('patch', 'status') - patches]).toEqual([0, 0]);
  });
  it('changes that come while a write is under way become one', async () => {
    const pod = await createPod();
    api.faults.add({ verb: 'patch', fault: { kind: 'delay', delayMs: 500 } });
    statuses.set(pod, running(true));
    await settle();
    for (let count = 1; count <= 20; count++) {
      statuses.set(pod, {
        ...running(),
        containerStatuses: [statusOf('a', 'running', { restartCount: count })],
      });
    }
    await clock.advance(1000);
    expect(made('patch', 'status')).toBe(2);
    expect((await stored()).status?.containerStatuses?.[0]?.restartCount).toBe(20);
  });
  it('never exceeds the write limit, important ones first', async () => {
    const all = [];
    for (let n = 0; n < 20; n++) all.push(await createPod(`p${String(n).padStart(2, '0')}`));
    api.faults.add({ verb: 'patch', fault: { kind: 'delay', delayMs: 100 }, times: 100 });
    for (const pod of all) statuses.set(pod, { phase: 'Pending' });
    for (const pod of all.slice(0, 10)) statuses.set(pod, running());
    await settle();
    expect(made('patch', 'status')).toBe(8);
    await clock.advance(100);
    expect(made('patch', 'status')).toBe(10);
    statuses.set(all[19]!, running());
    await settle();
    expect(api.calls.filter(({ verb }) => verb === 'patch')[10]?.name).toBe('p19');
    await clock.advance(5000);
    expect(made('patch', 'status')).toBe(20);
  });
  it('a queued status is not also read by the pass', async () => {
    const all = [];
    for (let n = 0; n < 20; n++) all.push(await createPod(`p${n}`));
    api.faults.add({ verb: 'patch', fault: { kind: 'delay', delayMs: 6000 }, times: 100 });
    for (const pod of all) statuses.set(pod, running());
    await clock.advance(18_000);
    expect([made('get'), made('patch', 'status'), sync.isIdle]).toEqual([0, 20, true]);
  });
  it('keeps conditions of others and claim statuses', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    const body = { status: { conditions: [{ type: 'example.com/x', status: 'True' }] } };
    await api.patch(
      resources.pods,
      { namespace: 'default', name: 'web' },
      { type: 'strategic', body },
      { subresource: 'status' },
    );
    statuses.set(pod, running(false));
    await clock.advance(20_000);
    statuses.set(pod, { ...running(), message: 'again' });
    await clock.advance(20_000);
    expect((await stored()).status?.conditions).toMatchObject([
      { type: 'example.com/x', status: 'True' },
      { type: 'Ready', status: 'True' },
    ]);
  });
  it('writes ours back within ten seconds when somebody else overwrote it', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    const body = { status: { containerStatuses: [statusOf('a', 'waiting')] } };
    await api.patch(
      resources.pods,
      { namespace: 'default', name: 'web' },
      { type: 'strategic', body },
      { subresource: 'status' },
    );
    await clock.advance(10_000);
    expect((await stored()).status?.containerStatuses?.[0]?.state).toHaveProperty('running');
  });
  it('the response corrects a write from a stale copy', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    const body = { status: { phase: 'Unknown', containerStatuses: [statusOf('a', 'waiting')] } };
    await api.patch(
      resources.pods,
      { namespace: 'default', name: 'web' },
      { type: 'strategic', body },
      { subresource: 'status' },
    );
    statuses.set(pod, { ...running(), message: 'changed' });
    await clock.advance(500);
    expect((await stored()).status).toMatchObject({ phase: 'Running', message: 'changed' });
    expect((await stored()).status?.containerStatuses?.[0]?.state).toHaveProperty('running');
  });
  it('the end is withheld while containers could run, and written when they cannot', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    couldRun.add(pod.metadata.uid);
    statuses.set(pod, { phase: 'Failed', reason: 'Evicted' });
    await settle();
    expect((await stored()).status).toMatchObject({ phase: 'Running' });
    couldRun.clear();
    await clock.advance(10_000);
    expect((await stored()).status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  });
});

describe('other pods under the same name', () => {
  it('a pod of another UID is not written and our entry is dropped', async () => {
    const pod = await createPod();
    await tasks.stop();
    tasks = new TaskGroup({ onError: () => undefined });
    const lone = new ApiStatusSync({
      clock,
      timeline,
      api,
      statuses,
      pods,
      couldHaveRunningContainers: () => false,
    });
    await api.delete(resources.pods, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
    await api.create(resources.pods, { metadata: { name: 'web', namespace: 'default' }, spec: pod.spec });
    tasks.start('sync', (signal) => lone.run(signal));
    statuses.set(pod, running());
    await settle();
    expect(statuses.entry(pod.metadata.uid)).toBeUndefined();
    expect(await phaseOf()).toBe('Pending');
  });
  it('a deleted pod is left alone', async () => {
    const pod = await createPod();
    api.faults.add({ verb: 'watch', times: 100, fault: { kind: 'unreachable' } });
    api.cutWatches();
    await api.delete(resources.pods, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
    statuses.set(pod, running());
    await settle();
    expect(made('patch', 'status')).toBe(1);
    expect(timeline.ofPod(pod.metadata.uid).at(-1)?.what).toBe('status.gone');
  });
});

describe('deletion', () => {
  const askForDeletion = async (): Promise<void> => {
    await api.delete(resources.pods, { namespace: 'default', name: 'web' });
    await settle();
  };
  it('an ended pod is deleted only once it is finished', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    await askForDeletion();
    statuses.set(current(pod), { phase: 'Failed' });
    await clock.advance(30_000);
    expect(await phaseOf()).toBe('Failed');
    statuses.terminate(current(pod));
    await settle();
    expect([await isGone(), statuses.entry(pod.metadata.uid)]).toEqual([true, undefined]);
  });
  it('the end of a pod is one patch and one delete, whatever its intermediate statuses', async () => {
    const pod = await createPod();
    statuses.set(pod, running());
    await settle();
    await askForDeletion();
    couldRun.add(pod.metadata.uid);
    statuses.set(current(pod), running());
    statuses.set(current(pod), { ...running(false), phase: 'Failed' });
    await clock.advance(1900);
    couldRun.clear();
    statuses.terminate(current(pod));
    await settle();
    expect(await isGone()).toBe(true);
    expect([made('get') - 1, made('patch', 'status'), made('delete')]).toEqual([0, 2, 2]);
  });
  it('a finished pod that nobody deleted stays', async () => {
    const pod = await createPod();
    statuses.terminate(pod);
    await clock.advance(60_000);
    expect([await phaseOf(), made('delete')]).toEqual(['Failed', 0]);
  });
  it('a failed delete is retried by the next pass', async () => {
    const pod = await createPod();
    await askForDeletion();
    api.faults.add({
      verb: 'delete',
      fault: { kind: 'refuse', error: new ApiError({ code: 403, message: 'no' }) },
    });
    statuses.terminate(current(pod));
    await settle();
    expect(await isGone()).toBe(false);
    await clock.advance(10_000);
    expect(await isGone()).toBe(true);
  });
  it('a delete whose response was lost is not repeated on another pod', async () => {
    const pod = await createPod();
    await askForDeletion();
    api.faults.add({ verb: 'delete', fault: { kind: 'lose-response' } });
    statuses.terminate(current(pod));
    await settle();
    expect(await isGone()).toBe(true);
    const successor = await createPod();
    await clock.advance(60_000);
    expect((await stored()).metadata.uid).toBe(successor.metadata.uid);
  });
  it('a mirror is never deleted here', async () => {
    const { metadata } = await api.create(resources.pods, {
      metadata: { name: 'web', namespace: 'default', annotations: { [configMirrorAnnotation]: 'h' } },
      spec: { nodeName: 'node', containers: [{ name: 'a', image: 'a:1' }] },
    });
    const own: Pod = {
      metadata: {
        name: 'web',
        namespace: 'default',
        uid: 'h',
        annotations: { [configSourceAnnotation]: 'file', [configHashAnnotation]: 'h' },
      },
      spec: { containers: [{ name: 'a', image: 'a:1' }] },
    };
    pods.upsert(own);
    await settle();
    statuses.set(own, running());
    await settle();
    expect((await stored()).status?.phase).toBe('Running');
    await askForDeletion();
    statuses.terminate({ ...own, status: { phase: 'Failed' } });
    await clock.advance(60_000);
    expect((await stored()).metadata.uid).toBe(metadata.uid);
  });
  it('a static pod is written when its mirror appears, and again to the next mirror', async () => {
    const own: Pod = {
      metadata: {
        name: 'web',
        namespace: 'default',
        uid: 'h',
        annotations: { [configSourceAnnotation]: 'file', [configHashAnnotation]: 'h' },
      },
      spec: { containers: [{ name: 'a', image: 'a:1' }] },
    };
    pods.upsert(own);
    statuses.set(own, running());
    await clock.advance(20_000);
    expect(made('get')).toBe(0);
    for (let round = 0; round < 2; round++) {
      await api.create(resources.pods, {
        metadata: { name: 'web', namespace: 'default', annotations: { [configMirrorAnnotation]: 'h' } },
        spec: { nodeName: 'node', containers: [{ name: 'a', image: 'a:1' }] },
      });
      await settle();
      sync.refresh('h');
      await settle();
      expect(await phaseOf()).toBe('Running');
      await api.delete(resources.pods, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
      await settle();
    }
    expect(statuses.entry('h')).toBeDefined();
  });
});

describe('loss', () => {
  it('ten minutes without the API: few tries, one problem recorded, everything written after its return', async () => {
    const all: Pod[] = [];
    for (let n = 0; n < 30; n++) all.push(await createPod(`p${n}`));
    api.setReachable(false);
    for (const pod of all) statuses.set(pod, { phase: 'Pending' });
    const before = api.calls.length;
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(60_000);
      for (const pod of all) statuses.set(pod, { ...running(), message: `minute ${minute}` });
    }
    expect(
      api.calls
        .slice(before)
        .filter(({ resource, verb }) => resource === 'pods' && (verb === 'patch' || verb === 'get')).length,
    ).toBeLessThan(150);
    expect(timeline.ofNode().filter(({ what }) => what === 'status.unreachable')).toHaveLength(1);
    api.setReachable(true);
    await clock.advance(15_000);
    for (const pod of all) {
      expect((await stored(pod.metadata.name)).status).toMatchObject({
        phase: 'Running',
        message: 'minute 9',
      });
    }
    expect(timeline.ofNode().at(-1)?.what).toBe('status.reachable');
  });
  it('a patch whose response was lost is found done', async () => {
    const pod = await createPod();
    api.faults.add({ verb: 'patch', fault: { kind: 'lose-response' } });
    statuses.set(pod, running());
    await clock.advance(1000);
    expect([made('patch', 'status'), made('get'), await phaseOf()]).toEqual([1, 1, 'Running']);
  });
  it('a rejection is retried at the next pass', async () => {
    const pod = await createPod();
    api.faults.add({
      verb: 'patch',
      fault: { kind: 'refuse', error: new ApiError({ code: 403, message: 'no' }) },
    });
    statuses.set(pod, running());
    await settle();
    expect(await phaseOf()).toBe('Pending');
    await clock.advance(10_000);
    expect(await phaseOf()).toBe('Running');
  });
  it('after a restore to an older state statuses are written again, and no other pod is deleted', async () => {
    const pod = await createPod();
    const other = await createPod('other');
    const backup = api.snapshot();
    statuses.set(pod, running());
    statuses.set(other, running());
    await settle();
    await api.delete(resources.pods, { namespace: 'default', name: 'web' });
    await settle();
    statuses.set(current(pod), { phase: 'Failed' });
    await clock.advance(2000);
    // The deletion was requested and the pod has ended, but the restored API knows of neither.
    api.restore(backup);
    statuses.terminate(current(pod));
    await clock.advance(120_000);
    expect((await stored()).metadata.deletionTimestamp).toBeUndefined();
    expect([await phaseOf(), await phaseOf('other'), made('delete')]).toEqual(['Failed', 'Running', 1]);
  });
});
