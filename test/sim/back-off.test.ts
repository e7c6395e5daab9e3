/** Back-offs as a whole kubelet shows them: containers that keep ending, and images that cannot be had. */
import { afterEach, describe, expect, it } from 'vitest';
import { plainError } from '../../src/cri/call-rules.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { apiPod } from './pods.js';

afterEach(endNodes);

/** Requeues come exactly when asked for, so that delays can be compared. */
const withoutJitter = { random: () => 0 };

const startDelays = (node: Node): number[] =>
  node.line
    .of('startContainer')
    .map(({ atMs }) => atMs)
    .map((atMs, index, all) => Math.round((atMs - (all[index - 1] ?? atMs)) / second))
    .slice(1);

describe('a container that keeps ending', () => {
  it('is started again after 0, 10, 20, 40, 80, 160, 300, 300 s', async () => {
    const node = await startNode({ kubelet: withoutJitter });
    node.set([apiPod('a', { sim: { 'exit-code': '1' } })]);
    const enough = (): boolean => node.line.of('startContainer').length >= 9;
    await node.until('it was started nine times', enough, 30 * minute);
    expect(startDelays(node)).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    expect(node.waitingReason('a')).toBe('CrashLoopBackOff');
    expect(node.container('a')?.state?.waiting?.message).toBe(
      'back-off 5m0s restarting failed container=app pod=a_default(uid-of-a)',
    );
    expect(node.container('a')?.restartCount).toBe(8);
    expect(node.container('a')?.lastState?.terminated?.exitCode).toBe(1);
    expect(node.status('a')?.phase).toBe('Running');
    expect(node.events('a', 'BackOff')[0]?.message).toBe(
      'Back-off restarting failed container app in pod a_default(uid-of-a)',
    );
    // Of the dead ones only the newest two at most are kept: the last and, until it is collected, the one before.
    expect(node.machine.seenContainers('a').length).toBeLessThanOrEqual(2);
    expect(node.machine.ready('a')).toHaveLength(1);
    // A plan says "start" as often as the container was started; all others say that it waits.
    const plans = node.entries.filter(({ what }) => what === 'pod.plan').map(({ message }) => message);
    expect(plans.filter((plan) => plan.includes('start container app'))).toHaveLength(9);
    expect([...new Set(plans)]).toEqual([
      'create sandbox, attempt 0; start container app',
      'start container app',
      'container app waits',
    ]);
  });

  it('starts no earlier with jitter, and at most half as late again', async () => {
    const node = await startNode({ seed: 7 });
    node.set([apiPod('a', { sim: { 'exit-code': '1' } })]);
    await node.until('it was started', () => node.line.of('startContainer').length >= 6, 10 * minute);
    const wanted = [0, 10, 20, 40, 80];
    for (const [index, delay] of startDelays(node).entries()) {
      expect(delay).toBeGreaterThanOrEqual(wanted[index]!);
      expect(delay).toBeLessThanOrEqual(Math.max(2, wanted[index]! * 1.5));
    }
  });

  it('is started at once again after a run of more than ten minutes', async () => {
    const node = await startNode({ kubelet: withoutJitter });
    node.set([apiPod('a', { sim: { 'run-time': '0s,0s,0s,700s,0s,0s', 'exit-code': '1' } })]);
    const enough = (): boolean => node.line.of('startContainer').length >= 6;
    await node.until('it was started six times', enough, 30 * minute);
    expect(startDelays(node)).toEqual([0, 10, 20, 700, 10]);
  });

  it('starts at once when its image is edited', async () => {
    const node = await startNode({ kubelet: withoutJitter });
    const sim = { 'run-time': '0s,0s,0s,forever', 'exit-code': '1' };
    node.set([apiPod('a', { sim })]);
    await node.until('it was started', () => node.line.of('startContainer').length === 3);
    await node.advance(5 * second);
    expect(node.waitingReason('a')).toBe('CrashLoopBackOff');
    node.set([apiPod('a', { image: 'app:2', sim })]);
    await node.untilReady('a', second);
    expect(node.machine.running('a')).toMatchObject([{ image: 'app:2', attempt: 3 }]);
  });

  it('holds back no other container of the pod', async () => {
    const node = await startNode({ kubelet: withoutJitter });
    node.set([apiPod('a', { containers: ['app', 'other'], sim: { 'app.exit-code': '1' } })]);
    await node.until('it waits', () => node.waitingReason('a') === 'CrashLoopBackOff');
    const [other] = node.machine.running('a').filter(({ name }) => name === 'other');
    node.machine.exitContainer(other!.id, 3);
    const isBack = (): boolean => node.machine.running('a').some(({ name }) => name === 'other');
    await node.until('the other runs again', isBack, 2 * second);
    expect(node.container('a', 'other')?.restartCount).toBe(1);
  });

  it('a new kubelet starts it at once, as it knows nothing of earlier delays', async () => {
    const first = await startNode({ kubelet: withoutJitter });
    const pod = apiPod('a', { sim: { 'exit-code': '1' } });
    first.set([pod]);
    await first.until('it was started', () => first.line.of('startContainer').length === 5, 5 * minute);
    await first.stop();
    const node = await startNode({ machine: first.machine, kubelet: withoutJitter });
    node.set([pod]);
    await node.until('it was started', () => node.line.of('startContainer').length === 3, minute);
    expect(startDelays(node)).toEqual([10, 20]);
    expect(node.machine.seenContainers('a').at(-1)?.attempt).toBe(7);
  });
});

describe('images', () => {
  const imageCalls = (node: Node): string[] =>
    node.line.calls.map(({ method }) => method).filter((method) => /^(imageStatus|pullImage)$/.test(method));

  it('IfNotPresent and absent: it is pulled', async () => {
    const node = await startNode({ images: [{ name: 'app:1', sizeBytes: 4711, pullMs: 1_500 }] });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    expect(imageCalls(node)).toEqual(['imageStatus', 'pullImage', 'imageStatus']);
    expect(node.reasons('a')).toEqual(['Pulling', 'Pulled', 'Created', 'Started']);
    expect(node.events('a').map(({ message }) => message)).toEqual([
      'Pulling image "app:1"',
      'Successfully pulled image "app:1" in 1.5s (1.5s including waiting). Image size: 4711 bytes.',
      'Container created',
      'Container started',
    ]);
  });

  it('IfNotPresent and present: it is used', async () => {
    const node = await startNode({ images: [{ name: 'app:1', present: true }] });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    expect(imageCalls(node)).toEqual(['imageStatus']);
    expect(node.events('a', 'Pulled').map(({ message }) => message)).toEqual([
      'Container image "app:1" already present on machine and can be accessed by the pod',
    ]);
  });

  it('Always and present: it is pulled without a look whether it is there', async () => {
    const node = await startNode({ images: [{ name: 'app:1', present: true }] });
    const app = { name: 'app', image: 'app:1', imagePullPolicy: 'Always' };
    node.set([apiPod('a', { containers: [app] })]);
    await node.untilReady('a');
    expect(imageCalls(node)[0]).toBe('pullImage');
  });

  it('Never and absent: ErrImageNeverPull', async () => {
    const node = await startNode();
    const app = { name: 'app', image: 'app:1', imagePullPolicy: 'Never' };
    node.set([apiPod('a', { containers: [app] })]);
    await node.until('it waits', () => node.waitingReason('a') === 'ErrImageNeverPull');
    expect(node.line.of('pullImage')).toEqual([]);
    const message = 'Container image "app:1" is not present with pull policy of Never';
    expect(node.container('a')?.state?.waiting?.message).toBe(message);
    expect(
      node
        .events('a')
        .slice(0, 2)
        .map(({ event, message: text }) => [event?.reason, text]),
    ).toEqual([
      ['ErrImageNeverPull', message],
      ['Failed', 'Error: ErrImageNeverPull'],
    ]);
    node.machine.images.add({ name: 'app:1', present: true });
    await node.untilReady('a', 16 * second);
  });

  it.each(['FAILED_IMAGE', 'http://url', 'a'.repeat(64)])('the name %s is invalid', async (image) => {
    const node = await startNode();
    node.set([apiPod('a', { image })]);
    await node.until('it waits', () => node.waitingReason('a') === 'InvalidImageName');
    expect(node.events('a', 'InspectFailed')[0]?.message).toMatch(/^Failed to apply default image tag "/);
    expect(imageCalls(node)).toEqual([]);
  });

  it('a pull that fails is ErrImagePull, then ImagePullBackOff until the next try', async () => {
    const node = await startNode({ images: [], kubelet: withoutJitter });
    const waits: string[] = [];
    node.kubelet.onStatus(({ status }) => {
      const reason = status.containerStatuses?.[0]?.state?.waiting?.reason ?? 'none';
      if (waits.at(-1) !== reason) waits.push(reason);
    });
    node.set([apiPod('a')]);
    await node.until('it waits', () => node.waitingReason('a') === 'ErrImagePull');
    const failure = node.container('a')!.state!.waiting!.message;
    expect(failure).toContain('app:1: not found');
    await node.until('it is held back', () => node.waitingReason('a') === 'ImagePullBackOff', 3 * minute);
    expect(node.container('a')?.state?.waiting?.message).toBe(
      `Back-off pulling image "app:1": ErrImagePull: ${failure}`,
    );
    expect(node.events('a', 'BackOff')[0]).toMatchObject({
      message: 'Back-off pulling image "app:1"',
      event: { type: 'Normal' },
    });
    await node.until('it was tried', () => node.line.of('pullImage').length === 6, 20 * minute);
    const times = node.line.of('pullImage').map(({ atMs }) => atMs);
    const gaps = times.slice(1).map((atMs, index) => (atMs - times[index]!) / second);
    for (const [index, least] of [10, 20, 40, 80, 160].entries()) {
      expect(gaps[index]).toBeGreaterThanOrEqual(least);
      expect(gaps[index]).toBeLessThan(least + 11);
    }
    expect(waits.slice(0, 4)).toEqual([
      'ContainerCreating',
      'ErrImagePull',
      'ImagePullBackOff',
      'ErrImagePull',
    ]);
    node.machine.images.add({ name: 'app:1' });
    await node.untilReady('a', 6 * minute);
    expect(node.container('a')?.restartCount).toBe(0);
    expect(node.machine.seenSandboxes('a')).toHaveLength(1);
  });

  it('a registry that is away is told as such', async () => {
    const node = await startNode();
    node.machine.faults.add({
      rpc: 'pullImage',
      times: 2,
      error: plainError('RegistryUnavailable: the registry does not answer'),
    });
    node.set([apiPod('a')]);
    await node.until('it waits', () => node.waitingReason('a') === 'RegistryUnavailable');
    await node.untilReady('a', minute);
  });

  it('pods whose image is slow hold back no others', async () => {
    const node = await startNode({
      images: [
        { name: 'slow:1', pullMs: 60_000 },
        { name: 'app:1', present: true },
      ],
    });
    node.set([
      apiPod('s1', { image: 'slow:1' }),
      apiPod('s2', { image: 'slow:1' }),
      ...Array.from({ length: 8 }, (_, index) => apiPod(`a${index}`)),
    ]);
    for (let index = 0; index < 8; index++) await node.untilReady(`a${index}`, 2 * second);
    await node.untilReady('s2', 130 * second);
  });
});
