/** The life of a pod from its first container to its last phase, as a whole kubelet shows it. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError } from '../../src/cri/index.js';
import type { PodStatus } from '../../src/kube/index.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod, type PodShape } from './pods.js';

afterEach(endNodes);

it('containers may be started as soon as the sandbox stands, though images are still pulled', async () => {
  const node = await startNode({ images: [] });
  node.put(apiPod('a', { sim: { 'pull-time': '1h' } }));
  await node.until('the sandbox stands', () => node.machine.ready('a').length === 1);
  await node.advance(second);
  expect(node.container('a')?.state?.waiting?.reason).toBe('ContainerCreating');
  const found = node.status('a')?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers');
  expect(found?.status).toBe('True');
  expect([found?.reason, found?.message]).toEqual([undefined, undefined]);
});

describe('pods that come to their end', () => {
  const rows: readonly (readonly [string, PodShape, string])[] = [
    ['Never, exit 0', { sim: { 'run-time': '3s' }, spec: { restartPolicy: 'Never' } }, 'Succeeded'],
    ['OnFailure, exit 0', { sim: { 'run-time': '3s' }, spec: { restartPolicy: 'OnFailure' } }, 'Succeeded'],
    [
      'Never, exit 0 and exit 1',
      {
        containers: ['app', 'other'],
        sim: { 'run-time': '3s', 'other.exit-code': '1' },
        spec: { restartPolicy: 'Never' },
      },
      'Failed',
    ],
    [
      'Never, init exit 1',
      { init: ['setup'], sim: { 'setup.exit-code': '1' }, spec: { restartPolicy: 'Never' } },
      'Failed',
    ],
  ];

  it.each(rows)('%s: %s', async (_, shape, phase) => {
    const node = await startNode();
    const phases: (string | undefined)[] = [];
    node.kubelet.onStatus(({ status }) => {
      if (phases.at(-1) !== status.phase) phases.push(status.phase);
    });
    node.set([apiPod('a', shape)]);
    await node.untilPhase('a', phase);
    const endedMs = node.clock.now();
    await node.until('it is finished', () => node.recorded('pod.finished', 'a').length === 1, 5 * second);
    expect(node.clock.now() - endedMs).toBeLessThan(second);
    expect(node.machine.running('a')).toEqual([]);
    expect(node.machine.ready('a')).toEqual([]);
    const started = node.line.of('startContainer').length;
    await node.advance(5 * minute);
    expect(node.line.of('startContainer')).toHaveLength(started);
    expect(phases.at(-1)).toBe(phase);
    expect(phases.filter((one) => one === 'Succeeded' || one === 'Failed')).toHaveLength(1);
    expect(node.metric('kubelet_active_pods', { static: '' })).toBe(0);
  });

  it('a pod that is over leaves one dead container of each, until it is removed', async () => {
    const node = await startNode();
    node.set([apiPod('a', { sim: { 'run-time': '3s' }, spec: { restartPolicy: 'Never' } })]);
    await node.untilPhase('a', 'Succeeded');
    await node.advance(3 * minute);
    expect(node.machine.size).toEqual({ sandboxes: 1, containers: 1 });
    expect(node.container('a')?.state?.terminated?.exitCode).toBe(0);
    node.set([]);
    await node.advance(2 * minute);
    expect(node.machine.size).toEqual({ sandboxes: 0, containers: 0 });
  });

  it('a deadline that has passed fails the pod at the next tick', async () => {
    const node = await startNode();
    node.set([
      apiPod('short', { spec: { activeDeadlineSeconds: 30 } }),
      apiPod('long', { spec: { activeDeadlineSeconds: 120 } }),
    ]);
    await node.untilReady('short');
    await node.advance(29 * second);
    expect(node.status('short')?.phase).toBe('Running');
    await node.untilPhase('short', 'Failed', 3 * second);
    expect(node.status('short')).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    });
    expect(node.events('short', 'DeadlineExceeded')).toHaveLength(1);
    await node.untilStopped('short');
    await node.advance(minute);
    expect(node.machine.running('long')).toHaveLength(1);
    expect(node.status('long')?.phase).toBe('Running');
    await node.untilPhase('long', 'Failed', minute);
  });

  it('a deadline holds across a restart of the kubelet', async () => {
    const first = await startNode();
    first.set([apiPod('a', { spec: { activeDeadlineSeconds: 60 } })]);
    await first.untilReady('a');
    await first.advance(40 * second);
    const startTime = first.status('a')!.startTime!;
    await first.stop();
    const node = await startNode({ machine: first.machine });
    node.set([apiPod('a', { spec: { activeDeadlineSeconds: 60 }, status: { phase: 'Running', startTime } })]);
    await node.advance(15 * second);
    expect(node.status('a')?.phase).toBe('Running');
    await node.untilPhase('a', 'Failed', 10 * second);
  });
});

describe('pods that start', () => {
  it('init containers run one after the other, then the regular ones', async () => {
    const node = await startNode();
    node.set([apiPod('a', { init: ['one', 'two'], sim: { 'one.run-time': '5s', 'two.run-time': '5s' } })]);
    const seen: string[] = [];
    node.kubelet.onStatus(({ status }) => {
      const now = runningNames(status);
      if (seen.at(-1) !== now) seen.push(now);
    });
    await node.untilReady('a', 15 * second);
    expect(seen.filter((names) => names !== '')).toEqual(['one', 'two', 'app']);
    expect(node.line.of('createContainer')).toHaveLength(3);
    expect(node.status('a')?.phase).toBe('Running');
  });

  it('a pod whose init container fails stays Pending and tries again', async () => {
    const node = await startNode();
    node.set([apiPod('a', { init: ['setup'], sim: { 'setup.run-time': '0s', 'setup.exit-code': '1,1,0' } })]);
    await node.until('it crashed', () => node.waitingReason('a', 'setup') === 'CrashLoopBackOff');
    expect(node.status('a')?.phase).toBe('Pending');
    await node.untilReady('a');
    expect(node.container('a', 'setup')?.restartCount).toBe(2);
    expect(node.machine.running('a').map(({ name, attempt }) => [name, attempt])).toEqual([['app', 0]]);
  });

  it('a sidecar runs beside the regular containers and stops after them', async () => {
    const node = await startNode();
    const sidecar = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
    node.set([apiPod('a', { init: [sidecar], sim: { 'app.stop-delay': '5s' } })]);
    await node.untilReady('a');
    expect(node.machine.running('a').map(({ name }) => name)).toEqual(['proxy', 'app']);
    node.set([]);
    await node.advance(4 * second);
    expect(node.machine.running('a').map(({ name }) => name)).toEqual(['proxy', 'app']);
    await node.untilStopped('a', 3 * second);
    const stops = node.line.of('stopContainer').map(({ request }) => request.timeout);
    expect(stops).toEqual([30, 25]);
  });

  it('an edited image replaces its container and no other', async () => {
    const node = await startNode();
    node.set([apiPod('a', { containers: ['app', 'other'] })]);
    await node.untilReady('a');
    const [, other] = node.machine.running('a');
    node.set([apiPod('a', { containers: [{ name: 'app', image: 'app:2' }, 'other'] })]);
    await node.until('it runs', () => node.machine.running('a').some(({ image }) => image === 'app:2'));
    await node.untilReady('a');
    expect(node.machine.running('a').find(({ name }) => name === 'other')).toEqual(other);
    expect(node.container('a')?.restartCount).toBe(1);
    expect(node.machine.ready('a')).toHaveLength(1);
    expect(node.events('a', 'Killing').map(({ message }) => message)).toEqual([
      'Container app definition changed, will be restarted',
    ]);
  });

  it('a sandbox that dies is replaced with all of its containers', async () => {
    const node = await startNode();
    node.set([apiPod('a', { containers: ['app', 'other'] })]);
    await node.untilReady('a');
    const [old] = node.machine.ready('a');
    node.machine.killSandbox(old!.id);
    await node.until('it has a new one', () => {
      const [sandbox] = node.machine.ready('a');
      return sandbox !== undefined && node.machine.running('a').length === 2;
    });
    await node.untilReady('a');
    expect(node.machine.ready('a')).toMatchObject([{ attempt: 1 }]);
    expect(node.machine.running('a').map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(node.events('a', 'SandboxChanged')).toHaveLength(1);
  });
});

describe('a runtime that does not do what it says', () => {
  it('a container that runs on after it was stopped keeps the pod from being over', async () => {
    let isStubborn = true;
    const node = await startNode({
      through: (machine) => ({
        ...machine,
        stopContainer: async (request, options) =>
          isStubborn ? {} : machine.stopContainer(request, options),
        stopPodSandbox: async (request, options) =>
          isStubborn ? {} : machine.stopPodSandbox(request, options),
      }),
    });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    node.delete('a', 5);
    await node.advance(30 * second);
    const [{ id } = { id: '' }] = node.machine.running('a');
    const failures = node.recorded('worker.terminating', 'a');
    expect(failures.length).toBeGreaterThanOrEqual(2);
    expect(failures[0]!.error).toBe(
      `detected running containers after a successful KillPod, CRI violation: [${id}]`,
    );
    expect(node.status('a')?.phase).toBe('Running');
    expect(node.recorded('pod.terminated', 'a')).toEqual([]);
    isStubborn = false;
    await node.untilStopped('a', 16 * second);
    await node.untilPhase('a', 'Failed', second);
  });

  it('an error in a sync is tried again after 10 to 15 s and is no event of its own', async () => {
    const node = await startNode();
    node.machine.faults.add({ rpc: 'runPodSandbox', error: new CriError('Unknown', 'no room') });
    node.machine.faults.add({ rpc: 'createContainer', times: 2, error: new CriError('Unknown', 'no room') });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    const [first, next] = node.line.of('runPodSandbox').map(({ atMs }) => atMs);
    expect(next! - first!).toBeGreaterThanOrEqual(10_000);
    expect(next! - first!).toBeLessThanOrEqual(15_000);
    // The new sandbox is itself a reason for a sync, so that the first failure is tried again at once.
    const [, failed, made] = node.line.of('createContainer').map(({ atMs }) => atMs);
    expect(made! - failed!).toBeGreaterThanOrEqual(10_000);
    expect(made! - failed!).toBeLessThanOrEqual(15_000);
    expect(node.reasons('a')).toEqual([
      'FailedCreatePodSandBox',
      'Pulling',
      'Pulled',
      'Failed',
      'Pulled',
      'Failed',
      'Pulled',
      'Created',
      'Started',
    ]);
    expect(node.container('a')?.restartCount).toBe(0);
  });
});

function runningNames(status: PodStatus): string {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
    .filter(({ state }) => state?.running !== undefined)
    .map(({ name }) => name)
    .join(' ');
}
