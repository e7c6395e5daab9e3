import { beforeEach, describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../../async/index.js';
import {
  configHashAnnotation,
  configMirrorAnnotation,
  configSourceAnnotation,
  type Node,
  type Pod,
} from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { creationHindrance, mirrorStep } from './decisions.js';
import { ApiMirrorPods } from './mirror-pods.js';

const staticPod = (hash = 'h1', name = 'web-node'): Pod => ({
  metadata: {
    name,
    namespace: 'default',
    uid: hash,
    annotations: { [configSourceAnnotation]: 'file', [configHashAnnotation]: hash },
  },
  spec: { nodeName: 'node', containers: [{ name: 'a', image: 'a:1' }] },
});
const mirrorWith = (hash: string, metadata: Partial<Pod['metadata']> = {}): Pod => {
  const pod = staticPod(hash);
  const annotations = { ...pod.metadata.annotations, [configMirrorAnnotation]: hash };
  return { ...pod, metadata: { ...pod.metadata, annotations, uid: 'm-1', ...metadata } };
};
const nodeObject = (more: Node['metadata'] = {}): Node => ({
  metadata: { name: 'node', uid: 'n-1', ...more },
});

describe('mirrorStep', () => {
  const ended: Pod = { ...mirrorWith('h1'), status: { phase: 'Failed' } };
  it.each<[rule: string, mirror: Pod | undefined, kind: string, isAlive?: boolean]>([
    ['none there', undefined, 'create'],
    ['shows an end of a pod that is alive', ended, 'replace'],
    ['shows an end of a pod that may be over', ended, 'keep', false],
    ['the same hash', mirrorWith('h1'), 'keep'],
    ['another hash', mirrorWith('h0'), 'replace'],
    ['another name', mirrorWith('h1', { name: 'x' }), 'replace'],
    ['being deleted', mirrorWith('h1', { deletionTimestamp: '2026-01-01T00:00:00Z' }), 'replace'],
  ])('%s', (_, mirror, kind, isAlive = true) => {
    expect(mirrorStep(staticPod(), mirror, isAlive).kind).toBe(kind);
  });
});

describe('creationHindrance', () => {
  it.each<[rule: string, node: Node | undefined, expected: string | undefined]>([
    ['a node', nodeObject(), undefined],
    ['no node', undefined, 'the node is not in the API yet'],
    [
      'a node that is being deleted',
      nodeObject({ deletionTimestamp: '2026-01-01T00:00:00Z' }),
      'the node is being deleted',
    ],
  ])('%s', (_, node, expected) => {
    expect(creationHindrance(node)).toBe(expected);
  });
});

let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let node: Node | undefined;
let mirrors: ApiMirrorPods;

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  node = nodeObject();
  mirrors = new ApiMirrorPods({ clock, timeline, api, node: () => node });
});
const stored = async (): Promise<Pod | undefined> => (await api.list(resources.pods)).items[0];
const made = (verb: string): number => api.calls.filter((call) => call.verb === verb).length;
const problems = (): number => timeline.ofPod('h1').filter(({ kind }) => kind === 'problem').length;

describe('reconcile', () => {
  it('creates a copy owned by the node', async () => {
    await mirrors.reconcile(staticPod(), undefined);
    const { metadata, spec } = (await stored())!;
    expect(metadata.annotations?.[configMirrorAnnotation]).toBe('h1');
    expect(metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'node', uid: 'n-1', controller: true },
    ]);
    expect(metadata.uid).not.toBe('h1');
    expect(spec.nodeName).toBe('node');
  });
  it('creates none for pods that are not static', async () => {
    const pod = staticPod();
    pod.metadata.annotations = {};
    await mirrors.reconcile(pod, undefined);
    expect(api.calls).toEqual([]);
  });
  it('a node without a UID: nothing is created, and it is reported', async () => {
    node = { metadata: { name: 'node' } };
    await mirrors.reconcile(staticPod(), undefined);
    expect([made('create'), problems()]).toEqual([0, 1]);
  });
  it('no node: nothing is created', async () => {
    node = undefined;
    await mirrors.reconcile(staticPod(), undefined);
    expect([api.calls.length, problems()]).toEqual([0, 0]);
  });
  it('a wrong hash costs one delete and one create', async () => {
    await mirrors.reconcile(staticPod('h0'), undefined);
    const old = (await stored())!;
    await mirrors.reconcile(staticPod('h1'), old);
    expect([made('delete'), made('create')]).toEqual([1, 2]);
    const renewed = (await stored())!;
    expect(renewed.metadata.uid).not.toBe(old.metadata.uid);
    expect(renewed.metadata.annotations?.[configMirrorAnnotation]).toBe('h1');
  });
  it('a graceful deletion ends with a new mirror', async () => {
    await mirrors.reconcile(staticPod(), undefined);
    await api.delete(resources.pods, { namespace: 'default', name: 'web-node' });
    const dying = (await stored())!;
    expect(dying.metadata.deletionTimestamp).toBeDefined();
    await mirrors.reconcile(staticPod(), dying);
    const renewed = (await stored())!;
    expect(renewed.metadata.deletionTimestamp).toBeUndefined();
    expect(renewed.metadata.uid).not.toBe(dying.metadata.uid);
  });
  it('a mirror that was replaced meanwhile is neither deleted nor created', async () => {
    await mirrors.reconcile(staticPod(), undefined);
    await mirrors.reconcile(staticPod(), mirrorWith('h0', { uid: 'gone' }));
    expect([made('delete'), made('create')]).toEqual([1, 1]);
    expect((await stored())?.metadata.annotations?.[configMirrorAnnotation]).toBe('h1');
  });
  it('a create whose response was lost is found done', async () => {
    api.faults.add({ verb: 'create', fault: { kind: 'lose-response' } });
    await mirrors.reconcile(staticPod(), undefined);
    expect(problems()).toBe(1);
    await mirrors.reconcile(staticPod(), undefined);
    expect(problems()).toBe(1);
    expect((await api.list(resources.pods)).items).toHaveLength(1);
  });
  it('a foreign pod of the same name stays and is reported', async () => {
    await api.create(resources.pods, {
      ...staticPod(),
      metadata: { name: 'web-node', namespace: 'default' },
    });
    await mirrors.reconcile(staticPod(), undefined);
    expect(problems()).toBe(1);
    expect((await stored())?.metadata.annotations).toBeUndefined();
  });
  it('without the API only reports it', async () => {
    api.setReachable(false);
    await mirrors.reconcile(staticPod(), undefined);
    await mirrors.reconcile(staticPod(), mirrorWith('h0'));
    expect(problems()).toBe(1);
    expect(timeline.ofNode().map(({ what }) => what)).toEqual(['mirror.delete']);
  });
});

describe('delete', () => {
  it.each<[rule: string, error: ApiError | undefined, told: number]>([
    ['an existing one', undefined, 0],
    ['a missing one', new ApiError({ code: 404, message: 'gone' }), 0],
    ['a replaced one', new ApiError({ code: 409, message: 'other' }), 0],
    ['one that may not be deleted', new ApiError({ code: 403, message: 'no' }), 1],
  ])('%s', async (_, error, told) => {
    await mirrors.reconcile(staticPod(), undefined);
    if (error !== undefined) api.faults.add({ verb: 'delete', fault: { kind: 'refuse', error } });
    await mirrors.delete('web-node_default');
    expect((await stored()) === undefined).toBe(error === undefined);
    expect(timeline.ofNode().filter(({ kind }) => kind === 'problem')).toHaveLength(told);
  });
  it('rejects an invalid name', async () => {
    await expect(mirrors.delete('nonsense')).rejects.toThrow();
  });
});

describe('registerSoon', () => {
  it('all static pods get a mirror within a tenth of a second after the node appears', async () => {
    node = undefined;
    const list = [staticPod(), staticPod('h2', 'other-node')];
    const tasks = new TaskGroup({ onError: () => undefined });
    tasks.start('register', (signal) =>
      mirrors.registerSoon({ list: () => list, mirrorOf: () => undefined }, signal),
    );
    await clock.advance(5_000);
    expect(api.calls).toEqual([]);
    node = nodeObject();
    await clock.advance(100);
    expect((await api.list(resources.pods)).items).toHaveLength(2);
    await tasks.drained();
    expect(clock.pendingTimers).toBe(0);
  });
});
