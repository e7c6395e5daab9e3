/** Static pods that a whole kubelet refused: who is tried again when room appears, and what the API shows of it. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Node as ApiNode } from '../../src/kube/index.js';
import { startMember } from './cluster-machine.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod, type PodShape, staticName, staticPod } from './pods.js';

afterEach(endNodes);

const nodeWith = (cpu: string, more: Partial<ApiNode> = {}): ApiNode => ({
  metadata: { name: 'node', labels: {} },
  status: { allocatable: { cpu, memory: '8Gi', pods: '110' }, capacity: { cpu, memory: '8Gi', pods: '110' } },
  ...more,
});
const asking = (cpu: string): PodShape => ({
  containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu } } }],
});
const web = staticName('web');

async function start(first: ApiNode = nodeWith('1')) {
  let current = first;
  const node = await startNode({ sources: ['api', 'file'], kubelet: { node: () => current } });
  node.set([], 'api');
  const change = (next: ApiNode): void => {
    current = next;
  };
  return { node, change };
}

describe('a static pod that was refused', () => {
  it('starts when another pod is gone, and says why', async () => {
    const { node } = await start();
    node.put(staticPod('first', asking('800m')), 'file');
    await node.untilReady(staticName('first'));
    node.put(staticPod('web', asking('500m')), 'file');
    await node.untilPhase(web, 'Failed');
    await node.advance(30 * second);
    expect(node.status(web)?.phase).toBe('Failed');
    node.drop(staticName('first'), 'file');
    await node.untilReady(web);
    expect(node.recorded('pod.retry', web).at(-1)).toMatchObject({
      because: 'another pod has made room',
      data: { admitted: true },
    });
    expect(node.reasons(web)).toContain('AdmittedOnRetry');
    await node.advance(2 * minute);
    expect(node.isReady(web)).toBe(true);
    expect(node.container(web)?.restartCount).toBe(0);
  });

  it('starts when a pod ends by itself', async () => {
    const { node } = await start();
    const ending = { ...asking('800m'), sim: { 'run-time': '20s' }, spec: { restartPolicy: 'Never' } };
    node.put(staticPod('first', ending), 'file');
    await node.untilReady(staticName('first'));
    node.put(staticPod('web', asking('500m')), 'file');
    await node.untilPhase(web, 'Failed');
    await node.untilReady(web);
  });

  it('starts when the node has more', async () => {
    const { node, change } = await start();
    node.put(staticPod('web', asking('1500m')), 'file');
    await node.untilPhase(web, 'Failed');
    change(nodeWith('2'));
    await node.untilReady(web, 10 * second);
    expect(node.recorded('pod.retry', web).at(-1)?.because).toBe('the node has changed');
  });

  it('is tried rarely while nothing changes, and changes nothing meanwhile', async () => {
    const { node } = await start();
    node.put(staticPod('web', asking('1500m')), 'file');
    await node.untilPhase(web, 'Failed');
    const events = node.events(web).length;
    await node.advance(31 * minute);
    expect(node.recorded('pod.retry', web)).toHaveLength(6);
    expect(node.events(web)).toHaveLength(events);
    expect(node.status(web)?.phase).toBe('Failed');
    expect(node.machine.seenSandboxes(web)).toEqual([]);
  });

  it('ends nobody for its room', async () => {
    const { node, change } = await start();
    node.put(staticPod('web', asking('1500m')), 'file');
    await node.untilPhase(web, 'Failed');
    node.put(apiPod('small', asking('900m')));
    await node.untilReady('small');
    change(nodeWith('2'));
    await node.advance(minute);
    expect([node.isReady('small'), node.status(web)?.phase]).toEqual([true, 'Failed']);
    node.drop('small');
    await node.untilReady(web);
  });

  it.each<[what: string, shape: PodShape]>([
    ['for its operating system', { spec: { os: { name: 'windows' } } }],
    ['for a sysctl', { spec: { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } } }],
  ])('%s is not tried again', async (_what, shape) => {
    const { node, change } = await start();
    node.put(staticPod('web', shape), 'file');
    await node.untilPhase(web, 'Failed');
    change(nodeWith('2'));
    await node.advance(11 * minute);
    expect(node.recorded('pod.retry', web)).toEqual([]);
    expect(node.status(web)?.phase).toBe('Failed');
  });

  it('is forgotten with its manifest', async () => {
    const { node, change } = await start();
    node.put(staticPod('web', asking('1500m')), 'file');
    await node.untilPhase(web, 'Failed');
    node.drop(web, 'file');
    await node.advance(5 * second);
    change(nodeWith('2'));
    await node.advance(11 * minute);
    expect(node.recorded('pod.retry', web)).toEqual([]);
    expect(node.machine.seenSandboxes(web)).toEqual([]);
  });

  it('is not tried again when a pod of the API was refused', async () => {
    const { node, change } = await start();
    node.put(apiPod('a', asking('1500m')));
    await node.untilPhase('a', 'Failed');
    change(nodeWith('2'));
    await node.advance(11 * minute);
    expect(node.status('a')?.phase).toBe('Failed');
  });
});

it('the mirror of a pod that is admitted at last is made anew', async () => {
  let isFull = true;
  const room = {
    name: 'room',
    admit: ({ pod }: { pod: { metadata: { name: string } } }) =>
      pod.metadata.name === web && isFull
        ? ({ admit: false, reason: 'OutOfcpu', message: 'no CPU is left' } as const)
        : ({ admit: true } as const),
  };
  const other = staticPod('other');
  const test = await startMember({
    statics: [staticPod('web'), other],
    kubelet: { admission: [room] },
  });
  await test.node.untilPhase(web, 'Failed');
  await test.node.untilReady(staticName('other'));
  await test.node.advance(minute);
  const before = await test.on.pod(web);
  expect(before.status).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
  isFull = false;
  test.node.set([staticPod('web')], 'file');
  await test.node.untilReady(web, 5 * minute);
  await test.node.advance(minute);
  const after = await test.on.pod(web);
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.status?.phase).toBe('Running');
});
