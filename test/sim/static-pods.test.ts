/** Static pods as a whole kubelet shows them: one at a time under a name, and a UID that can come back. */
import { afterEach, describe, expect, it } from 'vitest';
import { type PodVolumes, withoutVolumes } from '../../src/kubelet/ports.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { apiPod, staticName, staticPod } from './pods.js';

afterEach(endNodes);

const slowStop = { 'stop-delay': '10s' };
const name = staticName('web');

const version = (image: string) => staticPod('web', { image, sim: slowStop });

const imagesRun = (node: Node): string[] => node.machine.seenContainers(name).map(({ image }) => image);

describe('a manifest that is edited', () => {
  it('is replaced by the version that came last, and by none in between', async () => {
    const node = await startNode({ sources: ['file'] });
    node.set([version('web:0')], 'file');
    await node.untilReady(name);
    for (let edit = 1; edit <= 300; edit++) {
      node.set([version(`web:${edit}`)], 'file');
      await node.advance(20);
    }
    const last = version('web:300');
    await node.until(
      'the last version runs',
      () => node.machine.running(name)[0]?.image === 'web:300',
      minute,
    );
    await node.untilReady(name);
    const ran = new Set(node.line.of('runPodSandbox').map(({ request }) => uidOf(request)));
    expect(ran).toEqual(new Set([version('web:0').metadata.uid, last.metadata.uid]));
    expect(node.machine.ready(name)).toHaveLength(1);
    await node.advance(2 * minute);
    expect(imagesRun(node)).toEqual(['web:300']);
    expect(node.metric('kubelet_desired_pods', { static: 'true' })).toBe(1);
    expect(
      node.metric('kubelet_working_pods', { lifecycle: 'sync', config: 'desired', static: 'true' }),
    ).toBe(1);
  });

  it('waits until the version before has ended', async () => {
    const node = await startNode({ sources: ['file'] });
    node.set([version('web:1')], 'file');
    await node.untilReady(name);
    node.set([version('web:2')], 'file');
    await node.advance(9 * second);
    expect(imagesRun(node)).toEqual(['web:1']);
    expect(node.recorded('pod.wait', name)).not.toEqual([]);
    await node.until('it runs', () => node.machine.running(name)[0]?.image === 'web:2', 2 * second);
    expect(node.machine.ready(name)).toHaveLength(1);
  });

  it('a version that is removed while it waits never starts; the next one does', async () => {
    const node = await startNode({ sources: ['file'] });
    node.set([version('web:2')], 'file');
    await node.untilReady(name);
    node.set([version('web:3')], 'file');
    await node.advance(second);
    node.set([version('web:4')], 'file');
    await node.until('it runs', () => node.machine.running(name)[0]?.image === 'web:4', 30 * second);
    const ran = new Set(node.line.of('runPodSandbox').map(({ request }) => uidOf(request)));
    expect(ran.has(version('web:3').metadata.uid!)).toBe(false);
    const never = node
      .recorded('pod.finished', name)
      .filter(({ message }) => message === 'pod never started');
    expect(never.map(({ pod }) => pod?.uid)).toEqual([version('web:3').metadata.uid]);
  });

  it('a pod of the API may have the same full name and runs beside it', async () => {
    const node = await startNode({ sources: ['file', 'api'] });
    node.set([version('web:1')], 'file');
    node.set([apiPod(name, { image: 'api:1' })], 'api');
    await node.until('both run', () => node.machine.running(name).length === 2);
    expect(imagesRun(node).sort()).toEqual(['api:1', 'web:1']);
  });

  it('one that never started is forgotten without a trace when it goes', async () => {
    const node = await startNode({ sources: ['file', 'api'] });
    node.set([version('web:1')], 'file');
    await node.untilReady(name);
    // Nothing is stopped before all sources are ready, so the first version keeps its turn.
    node.set([version('web:2')], 'file');
    await node.advance(5 * second);
    node.set([], 'file');
    await node.advance(5 * second);
    expect(imagesRun(node)).toEqual(['web:1']);
    node.set([], 'api');
    await node.untilStopped(name, 20 * second);
    await node.advance(10 * second);
    expect(node.line.of('runPodSandbox')).toHaveLength(1);
    const uid = version('web:2').metadata.uid;
    const told = node.entries.filter(({ pod, kind }) => pod?.uid === uid && kind !== 'decision');
    expect(told.map(({ what }) => what)).toEqual(['pod.seen']);
    for (const lifecycle of ['sync', 'terminating', 'terminated'])
      expect(node.metric('kubelet_working_pods', { lifecycle, config: 'orphan', static: 'true' })).toBe(0);
  });
});

describe('the same manifest again', () => {
  it('is started anew by the first housekeeping after its former life ended', async () => {
    const node = await startNode({ sources: ['file'] });
    const pod = version('web:1');
    node.set([pod], 'file');
    await node.untilReady(name);
    node.set([], 'file');
    node.set([pod], 'file');
    await node.advance(9 * second);
    expect(node.line.of('runPodSandbox')).toHaveLength(1);
    expect(node.metric('kubelet_restarted_pods_total', { static: 'true' })).toBe(0);
    await node.until('it runs again', () => node.machine.running(name)[0]?.attempt === 1, 5 * second);
    await node.untilReady(name);
    expect(node.metric('kubelet_restarted_pods_total', { static: 'true' })).toBe(1);
    expect(node.container(name)?.restartCount).toBe(1);
    expect(node.container(name)?.lastState?.terminated?.exitCode).toBe(143);
    await node.advance(2 * minute);
    expect(node.line.of('runPodSandbox')).toHaveLength(2);
    expect(node.metric('kubelet_restarted_pods_total', { static: 'true' })).toBe(1);
  });

  it('cannot start as long as a volume of its former life is there', async () => {
    let isMounted = true;
    const volumes: PodVolumes = {
      ...withoutVolumes,
      exist: () => isMounted,
    };
    const node = await startNode({ sources: ['file'], kubelet: { volumes } });
    const pod = staticPod('web');
    node.set([pod], 'file');
    await node.untilReady(name);
    node.set([], 'file');
    await node.untilStopped(name);
    node.set([pod], 'file');
    await node.advance(5 * minute);
    expect(node.recorded('pod.finished', name)).toEqual([]);
    expect(node.machine.running(name)).toEqual([]);
    isMounted = false;
    await node.until('it runs again', () => node.machine.running(name).length === 1, 5 * second);
    expect(node.recorded('pod.finished', name)).toHaveLength(1);
    await node.untilReady(name);
  });
});

function uidOf(request: Readonly<Record<string, unknown>>): string {
  return (request.config as { metadata: { uid: string } }).metadata.uid;
}
