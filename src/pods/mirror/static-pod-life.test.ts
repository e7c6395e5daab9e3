import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import {
  configHashAnnotation,
  configSourceAnnotation,
  isMirrorPod,
  isStaticPod,
  type Node,
  type Pod,
  type PodStatus,
} from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { Informer, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { PodManager } from '../desired/index.js';
import { ApiStatusSync } from '../status/api-sync.js';
import { StatusManager } from '../status/index.js';
import { ApiMirrorPods } from './mirror-pods.js';

const staticPod = (hash: string): Pod => ({
  metadata: {
    name: 'web-node',
    namespace: 'default',
    uid: hash,
    annotations: { [configSourceAnnotation]: 'file', [configHashAnnotation]: hash },
  },
  spec: { nodeName: 'node', containers: [{ name: 'a', image: 'a:1' }] },
});
const running: PodStatus = {
  phase: 'Running',
  containerStatuses: [
    {
      name: 'a',
      image: 'a:1',
      imageID: 'i',
      ready: true,
      restartCount: 3,
      state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    },
  ],
};

let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let pods: PodManager;
let statuses: StatusManager;
let mirrors: ApiMirrorPods;
let sync: ApiStatusSync;
let tasks: TaskGroup;
let node: Node | undefined;

/** What a node's sync loop and housekeeping do with mirrors. */
async function syncStaticPods(): Promise<void> {
  for (const pod of pods.list().filter(isStaticPod)) {
    await mirrors.reconcile(pod, pods.mirrorOf(pod));
    statuses.set(pod, running);
  }
  for (const fullName of pods.orphanedMirrors()) await mirrors.delete(fullName);
}

beforeEach(async () => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  pods = new PodManager();
  node = { metadata: { name: 'node', uid: 'n-1' } };
  statuses = new StatusManager({
    clock,
    timeline,
    podOf: (uid) => pods.byUid(uid),
    mirrorOf: (pod) => pods.mirrorOf(pod),
    translateUid: (uid) => pods.translateUid(uid),
  });
  mirrors = new ApiMirrorPods({ clock, timeline, api, node: () => node });
  sync = new ApiStatusSync({
    clock,
    timeline,
    api,
    statuses,
    pods,
    couldHaveRunningContainers: () => false,
    random: () => 0.5,
  });
  const informer: Informer<Pod> = new Informer({
    clock,
    api,
    resource: resources.pods,
    random: () => 0.5,
    onUpdate: () => {
      const seen = new Set(informer.list().map(({ metadata }) => metadata.uid));
      for (const mirror of pods.mirrors()) if (!seen.has(mirror.metadata.uid)) pods.remove(mirror);
      for (const pod of informer.list().filter(isMirrorPod)) {
        const annotations = { ...pod.metadata.annotations, [configSourceAnnotation]: 'api' };
        pods.upsert({ ...pod, metadata: { ...pod.metadata, annotations } });
        sync.refresh(pods.translateUid(pod.metadata.uid));
      }
    },
  });
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
  tasks.start('informer', (signal) => informer.run(signal));
  tasks.start('sync', (signal) => sync.run(signal));
  pods.upsert(staticPod('h1'));
  await syncStaticPods();
  await settle();
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
});
const stored = async (): Promise<Pod | undefined> => (await api.list(resources.pods)).items[0];
const restarts = async (): Promise<number | undefined> =>
  (await stored())?.status?.containerStatuses?.[0]?.restartCount;

describe('a static pod in the API', () => {
  it('is shown with its status as soon as its mirror exists', async () => {
    expect((await stored())?.status).toMatchObject({ phase: 'Running' });
    expect(await restarts()).toBe(3);
  });
  it('comes back as a new object with the same status after a deletion', async () => {
    const before = await stored();
    await api.delete(resources.pods, { namespace: 'default', name: 'web-node' });
    await settle();
    await syncStaticPods();
    await settle();
    const after = await stored();
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    expect([after?.metadata.deletionTimestamp, await restarts()]).toEqual([undefined, 3]);
  });
  it('comes back after a forced deletion', async () => {
    await api.delete(resources.pods, { namespace: 'default', name: 'web-node' }, { gracePeriodSeconds: 0 });
    await settle();
    await syncStaticPods();
    await settle();
    expect(await restarts()).toBe(3);
  });
  it('is another object after each edit', async () => {
    const before = await stored();
    pods.remove(staticPod('h1'));
    pods.upsert(staticPod('h2'));
    await syncStaticPods();
    await settle();
    const after = await stored();
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    expect(after?.metadata.annotations?.[configHashAnnotation]).toBe('h2');
    expect(after?.status?.phase).toBe('Running');
  });
  it('is removed with its file', async () => {
    pods.remove(staticPod('h1'));
    await syncStaticPods();
    expect(await stored()).toBeUndefined();
  });
  it('survives ten minutes without the API', async () => {
    api.setReachable(false);
    for (let minute = 0; minute < 10; minute++) {
      await syncStaticPods();
      await clock.advance(60_000);
    }
    const container = { ...running.containerStatuses![0]!, restartCount: 4 };
    statuses.set(staticPod('h1'), { ...running, containerStatuses: [container] });
    api.setReachable(true);
    await clock.advance(60_000);
    expect(await restarts()).toBe(4);
  });
  it('reappears after the API went back to a time before it', async () => {
    await api.delete(resources.pods, { namespace: 'default', name: 'web-node' }, { gracePeriodSeconds: 0 });
    await settle();
    const backup = api.snapshot();
    await syncStaticPods();
    await settle();
    expect(await restarts()).toBe(3);
    api.restore(backup);
    await clock.advance(60_000);
    await syncStaticPods();
    await clock.advance(10_000);
    expect(await restarts()).toBe(3);
  });
});
