/** A whole kubelet that a critical pod comes to: others make room, or it is refused; nothing is promised twice. */
import { afterEach, expect, it } from 'vitest';
import type { Node as NodeObject, Pod } from '../../src/kube/index.js';
import { endNodes, minute, type Node, nodeName, second, startNode } from './node.js';
import { apiPod, type PodShape } from './pods.js';

afterEach(endNodes);

const self: NodeObject = {
  metadata: { name: nodeName, labels: {} },
  status: { allocatable: { cpu: '1', memory: '8Gi', pods: '110' } },
};
const start = (): Promise<Node> => startNode({ kubelet: { node: () => self } });

const asking = (name: string, cpu: string, shape: PodShape = {}): Pod =>
  apiPod(name, {
    ...shape,
    containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu } } }],
  });
const critical = (name: string, cpu: string): Pod => asking(name, cpu, { spec: { priority: 2_000_000_000 } });

it('a pod makes room, has failed, and the critical one runs', async () => {
  const node = await start();
  node.put(asking('small', '100m'));
  node.put(asking('large', '600m', { graceSeconds: 5, sim: { 'stop-delay': '3s' } }));
  await node.untilReady('small');
  await node.untilReady('large');
  node.put(critical('critical', '500m'));
  await node.until('it is being ended', () => node.reasons('large').includes('Preempting'));
  expect(node.machine.running('critical')).toEqual([]);
  await node.untilReady('critical');
  expect(node.machine.running('large')).toEqual([]);
  expect(node.isReady('small')).toBe(true);
  expect(node.status('large')).toMatchObject({
    phase: 'Failed',
    reason: 'Preempting',
    message: 'Preempted in order to admit critical pod',
  });
  expect(node.status('large')?.conditions?.find(({ type }) => type === 'DisruptionTarget')).toMatchObject({
    status: 'True',
    reason: 'TerminationByKubelet',
    message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
  });
  expect(node.recorded('pod.preempted', 'large')[0]?.data).toEqual({ by: 'default/critical' });
  expect(node.metric('kubelet_preemptions', { preemption_signal: 'cpu' })).toBe(1);
  await node.advance(minute);
  expect(node.machine.running('large')).toEqual([]);
});

it('what others must wait for delays nobody else: pods go on, and later ones come in order', async () => {
  const node = await start();
  node.put(asking('large', '900m', { graceSeconds: 30, sim: { 'stop-delay': '20s' } }));
  node.put(apiPod('restarting', { sim: { 'run-time': '2s' } }));
  await node.untilReady('large');
  node.put(critical('critical', '500m'));
  await node.until('it is being ended', () => node.reasons('large').includes('Preempting'));
  node.put(asking('greedy', '600m'));
  node.put(asking('modest', '100m'));
  await node.advance(10 * second);
  expect(node.machine.running('critical')).toEqual([]);
  expect(node.status('greedy')).toBeUndefined();
  expect(node.container('restarting')?.restartCount).toBeGreaterThan(0);
  await node.untilReady('critical');
  await node.untilReady('modest');
  expect(node.status('greedy')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
});

it('a pod with a huge grace period delays the critical one, and all others, for a minute at most', async () => {
  const node = await start();
  node.put(asking('large', '900m', { graceSeconds: 86_400, sim: { 'stop-delay': '7200s' } }));
  await node.untilReady('large');
  node.put(critical('critical', '500m'));
  await node.until('it is being ended', () => node.reasons('large').includes('Preempting'));
  node.put(apiPod('modest'));
  await node.untilReady('critical', 70 * second);
  await node.untilReady('modest', 10 * second);
  expect(node.machine.running('large')).toHaveLength(1);
  expect(node.reasons('large')).not.toContain('ExceededGracePeriod');
});

it('a critical pod for which nobody can make room is refused', async () => {
  const node = await start();
  node.put(asking('small', '100m'));
  node.put(critical('other', '700m'));
  await node.untilReady('small');
  await node.untilReady('other');
  node.put(critical('critical', '500m'));
  await node.untilPhase('critical', 'Failed');
  expect(node.status('critical')).toMatchObject({
    reason: 'UnexpectedAdmissionError',
    message: expect.stringContaining(
      'no set of running pods found to reclaim resources: [(res: cpu, q: 200), ]',
    ),
  });
  expect(node.isReady('small')).toBe(true);
});

it('pods without requests make no room for what is missing, and stay', async () => {
  const node = await start();
  node.put(apiPod('best-effort'));
  node.put(critical('other', '700m'));
  await node.untilReady('best-effort');
  await node.untilReady('other');
  node.put(critical('critical', '500m'));
  await node.untilPhase('critical', 'Failed');
  expect(node.status('critical')).toMatchObject({
    reason: 'UnexpectedAdmissionError',
    message:
      'Pod was rejected: Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 200), ]',
  });
  expect(node.isReady('best-effort')).toBe(true);
});

it('nobody makes room for a critical pod that does not belong on the node', async () => {
  const node = await start();
  node.put(asking('large', '900m'));
  await node.untilReady('large');
  const spec = { priority: 2_000_000_000, nodeSelector: { disk: 'ssd' } };
  node.put(asking('critical', '500m', { spec }));
  await node.untilPhase('critical', 'Failed');
  expect(node.status('critical')?.reason).toBe('NodeAffinity');
  expect(node.recorded('pod.preempted')).toEqual([]);
  expect(node.isReady('large')).toBe(true);
});

it('a restart while others make room ends what was begun, and starts nothing that does not fit', async () => {
  const first = await start();
  const large = asking('large', '900m', { graceSeconds: 30, sim: { 'stop-delay': '20s' } });
  first.put(large);
  await first.untilReady('large');
  first.put(critical('critical', '500m'));
  await first.until('it is being ended', () => first.reasons('large').includes('Preempting'));
  await first.crash();
  const next = await startNode({ machine: first.machine, kubelet: { node: () => self } });
  next.set([large, critical('critical', '500m')]);
  await next.untilReady('critical', 2 * minute);
  expect(next.machine.running('large')).toEqual([]);
});
