import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { configSourceAnnotation, type Node, type Pod, parseQuantity } from '../../kube/index.js';
import { hasRoomAppeared, RefusedStaticPods, type UsedByPods } from './refused-static-pods.js';

const using = (pods: Readonly<Record<string, string>>): UsedByPods =>
  new Map(Object.entries(pods).map(([uid, cpu]) => [uid, new Map([['cpu', parseQuantity(cpu)]])]));

it.each<[rule: string, before: Record<string, string>, now: Record<string, string>, expected: boolean]>([
  ['nothing changed', { a: '1' }, { a: '1' }, false],
  ['a pod came', { a: '1' }, { a: '1', b: '1' }, false],
  ['a pod needs more', { a: '1' }, { a: '2' }, false],
  ['a pod needs less', { a: '1' }, { a: '500m' }, true],
  ['a pod is gone, and another came', { a: '1' }, { b: '2' }, true],
])('%s: room %s', (_rule, before, now, expected) => {
  expect(hasRoomAppeared(using(before), using(now))).toBe(expected);
});

describe('the pods to judge again', () => {
  const pod = (uid: string, source = 'file'): Pod => ({
    metadata: { uid, name: uid, namespace: 'default', annotations: { [configSourceAnnotation]: source } },
    spec: { containers: [] },
  });

  function start() {
    const clock = new VirtualClock();
    const world = {
      used: { a: '1' } as Record<string, string>,
      node: { metadata: { name: 'node' }, status: { allocatable: { cpu: '1' } } } as Node,
      configured: new Set(['s', 'api']),
    };
    const refusals = new RefusedStaticPods({
      clock,
      isConfigured: (uid) => world.configured.has(uid),
      node: () => world.node,
      used: () => using(world.used),
    });
    return { clock, world, refusals };
  }
  const uids = (refusals: RefusedStaticPods): string[] => refusals.due().map(({ uid }) => uid);

  it('are none of the API, none that nothing helps, and none that are gone', async () => {
    const { clock, world, refusals } = start();
    refusals.refused(pod('api', 'api'), 'OutOfcpu');
    refusals.refused(pod('s'), 'PodOSNotSupported');
    await clock.advance(3_600_000);
    expect(uids(refusals)).toEqual([]);
    refusals.refused(pod('s'), 'OutOfcpu');
    world.configured.delete('s');
    await clock.advance(3_600_000);
    expect(uids(refusals)).toEqual([]);
  });

  it('are told once per change, with longer pauses between refusals', async () => {
    const { clock, world, refusals } = start();
    refusals.refused(pod('s'), 'OutOfcpu');
    await clock.advance(10_000);
    expect(uids(refusals)).toEqual([]);
    world.used = {};
    expect(refusals.due()).toEqual([{ uid: 's', because: 'another pod has made room' }]);
    await clock.advance(1);
    refusals.refused(pod('s'), 'OutOfcpu');
    await clock.advance(60_000);
    expect(uids(refusals)).toEqual([]);
    refusals.roomAppeared();
    expect(uids(refusals)).toEqual(['s']);
    refusals.admitted('s');
    expect(uids(refusals)).toEqual([]);
  });

  it.each<[what: string, node: Partial<Node>]>([
    ['labels', { metadata: { name: 'node', labels: { disk: 'ssd' } } }],
    ['taints', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }],
    ['resources', { status: { allocatable: { cpu: '2' } } }],
  ])('include one for which the node had the wrong %s', async (_what, changed) => {
    const { clock, world, refusals } = start();
    refusals.refused(pod('s'), 'NodeAffinity');
    await clock.advance(10_000);
    world.used = {};
    expect(uids(refusals)).toEqual([]);
    world.node = { ...world.node, ...changed };
    expect(refusals.due()).toEqual([{ uid: 's', because: 'the node has changed' }]);
  });
});
