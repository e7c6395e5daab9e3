/** Admission, pods that are over already, and housekeeping as a whole kubelet shows them. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError } from '../../src/cri/index.js';
import type { AdmissionHandler } from '../../src/kubelet/index.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { apiPod } from './pods.js';

afterEach(endNodes);

const refused = new CriError('Unknown', 'it cannot be stopped');

const working = (node: Node, lifecycle: string, config: string, isStatic: string): number | undefined =>
  node.metric('kubelet_working_pods', { lifecycle, config, static: isStatic });

const stopTimeouts = (node: Node): unknown[] =>
  node.line.of('stopContainer').map(({ request }) => request.timeout);

describe('admission', () => {
  const noBadPods: AdmissionHandler = {
    name: 'no bad pods',
    admit: ({ pod }) =>
      pod.metadata.name === 'bad'
        ? { admit: false, reason: 'NotWanted', message: 'it is bad' }
        : { admit: true },
  };

  it('a refused pod fails, never runs, and is finished when it is deleted', async () => {
    const node = await startNode({ kubelet: { admission: [noBadPods] } });
    const bad = apiPod('bad');
    node.set([bad, apiPod('good')]);
    await node.untilReady('good');
    await node.advance(10 * second);
    expect(node.status('bad')).toMatchObject({
      phase: 'Failed',
      reason: 'NotWanted',
      message: 'Pod was rejected: it is bad',
      qosClass: 'BestEffort',
    });
    expect(node.status('bad')?.containerStatuses).toBeUndefined();
    expect(node.status('bad')?.conditions).toBeUndefined();
    expect(node.events('bad').map(({ event, message }) => [event?.type, event?.reason, message])).toEqual([
      ['Warning', 'NotWanted', 'it is bad'],
    ]);
    expect(node.machine.seenSandboxes('bad')).toEqual([]);
    expect(node.metric('kubelet_admission_rejections_total', { reason: 'Other' })).toBe(1);
    expect(node.metric('kubelet_desired_pods', { static: '' })).toBe(2);
    expect(node.metric('kubelet_active_pods', { static: '' })).toBe(1);
    expect(working(node, 'sync', 'desired', '')).toBe(1);

    node.put({ ...bad, status: { phase: 'Failed' } });
    node.delete('bad', 30);
    await node.until('it is finished', () => node.recorded('pod.finished', 'bad').length === 1, 5 * second);
    expect(node.machine.seenSandboxes('bad')).toEqual([]);
    expect(node.status('bad')?.phase).toBe('Failed');
  });

  it('admitted pods are counted by where they name their resources, and by their class', async () => {
    const some = { cpu: '100m', memory: '64Mi' };
    const container = { name: 'app', image: 'app:1', resources: { requests: { cpu: '50m' } } };
    const node = await startNode({ kubelet: { admission: [noBadPods] } });
    node.set([
      apiPod('bad'),
      apiPod('none'),
      apiPod('both', { containers: [container], spec: { resources: { requests: some } } }),
      apiPod('whole', { spec: { resources: { requests: some, limits: some } } }),
    ]);
    for (const name of ['none', 'both', 'whole']) await node.untilReady(name);
    const counted = (config_mode: string, qos_class: string): number | undefined =>
      node.metric('kubelet_pod_level_resources_admission_total', { config_mode, qos_class });
    expect(counted('pod_and_container_level', 'burstable')).toBe(1);
    expect(counted('pod_level', 'guaranteed')).toBe(1);
    expect(counted('', 'besteffort')).toBe(1);
  });

  it('a refused pod that changes is taken over, and its worker is told nothing', async () => {
    const node = await startNode({ kubelet: { admission: [noBadPods] } });
    const bad = apiPod('bad');
    node.put(bad);
    await node.untilPhase('bad', 'Failed');
    node.put({ ...bad, metadata: { ...bad.metadata, labels: { tier: 'front' } } });
    await node.advance(2 * minute);
    expect(node.kubelet.pods().find(({ metadata }) => metadata.name === 'bad')?.metadata.labels).toEqual({
      tier: 'front',
    });
    expect(working(node, 'sync', 'desired', '') ?? 0).toBe(0);
    expect(node.status('bad')?.phase).toBe('Failed');
  });

  it('a refused pod that is deleted before its status is in the API is finished soon after that', async () => {
    const node = await startNode({ kubelet: { admission: [noBadPods] } });
    node.put(apiPod('bad'));
    await node.untilPhase('bad', 'Failed');
    node.delete('bad', 30);
    await node.advance(10 * second);
    expect(node.recorded('pod.finished', 'bad')).toEqual([]);
    const [deleted] = node.desired();
    node.put({ ...deleted!, status: { phase: 'Failed', reason: 'NotWanted' } });
    await node.until('it is finished', () => node.recorded('pod.finished', 'bad').length === 1, 3 * second);
    expect(node.machine.seenSandboxes('bad')).toEqual([]);
  });

  it('a pod that is too big leaves its room to one that comes with it', async () => {
    const allocatable = { cpu: '2', memory: '8Gi', pods: '110' };
    const node = await startNode({
      kubelet: { node: () => ({ metadata: { name: 'n', labels: {} }, status: { allocatable } }) },
    });
    const asking = (name: string, cpu: string) =>
      apiPod(name, { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu } } }] });
    node.set([asking('a', '3'), asking('b', '2')]);
    await node.untilReady('b');
    expect(node.status('a')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
  });

  it('a refused pod makes room for none, so that the next one is admitted', async () => {
    const node = await startNode({ kubelet: { config: { maxPods: 2 } } });
    node.set([apiPod('a'), apiPod('b'), apiPod('c')]);
    await node.untilPhase('c', 'Failed');
    expect(node.status('c')).toMatchObject({
      reason: 'OutOfpods',
      message: "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
    });
    node.drop('a');
    await node.untilStopped('a');
    await node.advance(10 * second);
    expect(node.machine.seenSandboxes('c')).toEqual([]);
    node.put(apiPod('d'));
    await node.untilReady('d');
  });
});

it('a change of labels alone is no change of the status', async () => {
  const node = await startNode();
  node.put(apiPod('a'));
  await node.untilReady('a');
  await node.advance(5 * second);
  const changes: string[] = [];
  const end = node.kubelet.onStatus(({ uid }) => changes.push(uid));
  const pod = apiPod('a');
  node.put({ ...pod, metadata: { ...pod.metadata, labels: { new: 'yes' } } });
  await node.advance(10 * second);
  expect(node.pod('a')?.metadata.labels).toEqual({ new: 'yes' });
  expect(changes).toEqual([]);
  end();
});

describe('a kubelet that starts', () => {
  it('only cleans up after a pod that is over and of which nothing runs', async () => {
    const node = await startNode();
    node.set([apiPod('a', { status: { phase: 'Succeeded' } })]);
    await node.until('it is finished', () => node.recorded('pod.finished', 'a').length === 1);
    await node.advance(2 * minute);
    expect(node.recorded('pod.admit', 'a')).toEqual([]);
    expect(node.recorded('pod.finished', 'a')).toHaveLength(1);
    expect(node.metric('kubelet_active_pods', { static: '' })).toBe(0);
    expect(node.machine.seenSandboxes('a')).toEqual([]);
    expect(node.status('a')?.phase).toBe('Succeeded');
  });

  it('first stops what still runs of a pod that is over', async () => {
    const first = await startNode();
    first.set([apiPod('a')]);
    await first.untilReady('a');
    await first.crash();
    const node = await startNode({ machine: first.machine });
    node.set([apiPod('a', { status: { phase: 'Succeeded' } })]);
    await node.untilStopped('a');
    await node.until('it is finished', () => node.recorded('pod.finished', 'a').length === 1);
    expect(node.recorded('pod.terminated', 'a')).toHaveLength(1);
    expect(node.recorded('pod.admit', 'a')).toEqual([]);
    expect(node.status('a')?.phase).toBe('Succeeded');
    expect(node.line.of('startContainer')).toEqual([]);
  });
});

describe('what the API says of an evicted pod', () => {
  it.each([
    ['removes what is dead of it, if it was admitted here', false, 0],
    ['removes nothing of one that was not', true, 1],
  ])('%s', async (_rule, isRestarted, left) => {
    const pod = apiPod('p', { sim: { 'run-time': '1s' }, spec: { restartPolicy: 'Never' } });
    let node = await startNode();
    node.put(pod);
    await node.untilPhase('p', 'Succeeded');
    if (isRestarted) {
      await node.stop();
      node = await startNode({ machine: node.machine });
    }
    node.put({ ...pod, status: { phase: 'Failed' } });
    await node.advance(10 * second);
    node.put({ ...pod, status: { phase: 'Failed', reason: 'Evicted' } });
    await node.advance(10 * second);
    expect(node.machine.seenContainers('p')).toHaveLength(left);
  });
});

describe('housekeeping', () => {
  async function orphaned(sim: Record<string, string>): Promise<Node> {
    const first = await startNode();
    first.set([apiPod('a', { sim })]);
    await first.untilReady('a');
    await first.crash();
    const node = await startNode({ machine: first.machine });
    node.set([]);
    return node;
  }

  it('kills a pod that runs but is not configured with a grace period of one second', async () => {
    const node = await orphaned({ 'ignores-term': 'true' });
    await node.until('it is being stopped', () => node.line.of('stopContainer').length === 1);
    // The runtime is never given less than two seconds.
    expect(stopTimeouts(node)).toEqual([2]);
    expect(node.metric('kubelet_orphaned_runtime_pods_total')).toBe(1);
    await node.advance(100);
    expect(working(node, 'terminating', 'runtime_only', 'unknown')).toBe(1);
    await node.untilStopped('a', 3 * second);
    await node.advance(4 * second);
    expect(working(node, 'terminating', 'runtime_only', 'unknown')).toBe(0);
    expect(node.metric('kubelet_orphaned_runtime_pods_total')).toBe(1);
    await node.advance(2 * minute);
    expect(node.machine.size).toEqual({ sandboxes: 0, containers: 0 });
  });

  it('tries a kill that failed again with the next pass', async () => {
    const node = await orphaned({});
    node.machine.faults.add({ rpc: 'stopContainer', times: 2, error: refused });
    node.machine.faults.add({ rpc: 'stopPodSandbox', times: 2, error: refused });
    await node.untilStopped('a', 10 * second);
    const [first, next, last] = node.line.of('stopContainer').map(({ atMs }) => atMs);
    expect(next! - first!).toBe(2_000);
    expect(last! - next!).toBe(2_000);
    expect(node.events('a', 'FailedKillPod')).toHaveLength(2);
    await node.advance(4 * second);
    expect(working(node, 'terminating', 'runtime_only', 'unknown')).toBe(0);
    expect(node.metric('kubelet_orphaned_runtime_pods_total')).toBe(1);
  });

  it('drives a pod that was deleted by force while it could not be stopped, with the same grace', async () => {
    const node = await startNode();
    node.set([apiPod('a')]);
    await node.untilReady('a');
    const works = [
      node.machine.faults.add({ rpc: 'stopContainer', times: Infinity, error: refused }),
      node.machine.faults.add({ rpc: 'stopPodSandbox', times: Infinity, error: refused }),
    ];
    node.delete('a', 15);
    await node.advance(2 * second);
    node.drop('a');
    await node.advance(9 * second);
    expect(working(node, 'terminating', 'orphan', '')).toBe(1);
    const timeouts = stopTimeouts(node);
    expect(timeouts.length).toBeGreaterThanOrEqual(5);
    expect(new Set(timeouts)).toEqual(new Set([15]));
    for (const work of works) work();
    await node.untilStopped('a', 3 * second);
    await node.until('it is finished', () => node.recorded('pod.finished', 'a').length === 1, second);
    await node.advance(4 * second);
    expect(working(node, 'terminating', 'orphan', '')).toBe(0);
    expect(working(node, 'terminated', 'orphan', '')).toBe(0);
    expect(node.kubelet.status('uid-of-a')).toBeUndefined();
  });

  it('ends a started pod that is gone from the configuration and from the runtime', async () => {
    const node = await startNode({ sources: ['api', 'file'] });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    node.set([]);
    await node.advance(second);
    for (const { id } of node.machine.seenSandboxes('a')) {
      await node.machine.removePodSandbox({ podSandboxId: id });
    }
    node.set([], 'file');
    await node.until('it is finished', () => node.recorded('pod.finished', 'a').length === 1, 20 * second);
    expect(node.recorded('pod.terminated', 'a')).toHaveLength(1);
    expect(node.machine.size).toEqual({ sandboxes: 0, containers: 0 });
    expect(node.line.of('runPodSandbox')).toHaveLength(1);
    await node.advance(4 * second);
    expect(working(node, 'terminated', 'orphan', '')).toBe(0);
  });
});

describe('deletion', () => {
  it('nothing brings a pod back once it is being stopped', async () => {
    const node = await startNode();
    const pod = apiPod('a');
    node.put(pod);
    node.delete('a', 30);
    const [deleted] = node.desired();
    node.put({ ...deleted!, metadata: { ...deleted!.metadata, labels: { later: 'yes' } } });
    await node.until('it is finished', () => node.recorded('pod.finished', 'a').length === 1);
    node.put({ ...deleted!, metadata: { ...deleted!.metadata, labels: { later: 'still' } } });
    await node.advance(2 * minute);
    expect(node.line.of('startContainer').length).toBeLessThanOrEqual(1);
    expect(node.machine.running('a')).toEqual([]);
    expect(node.machine.ready('a')).toEqual([]);
    expect(node.recorded('pod.finished', 'a')).toHaveLength(1);
    expect(node.status('a')?.phase).toBe('Failed');
  });

  it('the grace period of a running pod is taken over and only ever shrinks', async () => {
    const node = await startNode();
    node.set([apiPod('a', { graceSeconds: 40, sim: { 'ignores-term': 'true' } })]);
    await node.untilReady('a');
    node.machine.faults.add({ rpc: 'stopContainer', times: 3, error: refused });
    node.machine.faults.add({ rpc: 'stopPodSandbox', times: 3, error: refused });
    node.delete('a', 15);
    await node.advance(100);
    node.delete('a', 5);
    await node.advance(100);
    node.delete('a', 60);
    await node.advance(100);
    expect(stopTimeouts(node)).toEqual([15, 5, 5]);
    await node.untilStopped('a', 25 * second);
    expect(stopTimeouts(node)).toEqual([15, 5, 5, 5]);
  });

  it('a pod whose image cannot be pulled fails when it is deleted', async () => {
    const node = await startNode({ images: [] });
    node.set([apiPod('a')]);
    await node.until('the pull fails', () => node.waitingReason('a') === 'ErrImagePull');
    expect(node.status('a')?.phase).toBe('Pending');
    node.delete('a', 5);
    await node.untilPhase('a', 'Failed', 5 * second);
    await node.untilStopped('a');
  });
});
