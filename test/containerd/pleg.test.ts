/** The PLEG on a real containerd: its own event stream makes changes seen without polling. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, TaskGroup } from '../../src/async/index.js';
import { type CriClient, connectCri, criLabels } from '../../src/cri/index.js';
import { listPod, listPods, podStatus } from '../../src/runtime-manager/observe/observe.js';
import {
  containerdEvents,
  criEvents,
  Pleg,
  type PodLifecycleEvent,
} from '../../src/runtime-manager/pleg/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { CleanupStack, startContainerd, type TestContainerd, testImages } from '../env/index.js';

describe('the PLEG on containerd', () => {
  const cleanups = new CleanupStack();
  let containerd: TestContainerd;
  let cri: CriClient;
  let pleg: Pleg;
  let lists = 0;
  const events: PodLifecycleEvent[] = [];

  beforeAll(async () => {
    containerd = await startContainerd({ cleanups });
    cri = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: 120_000 });
    cleanups.defer('the CRI client', async () => cri.close());
    const ports = { cri, clock: systemClock, terminationMessage: undefined };
    pleg = new Pleg({
      clock: systemClock,
      timeline: new Timeline(),
      // So rarely that nothing in this test can be seen by a look at everything.
      relaxedRelistPeriodMs: 3_600_000,
      runtime: {
        listPods: () => {
          lists++;
          return listPods(ports, { runningOnly: false });
        },
        listPod: (uid) => listPod(ports, uid),
        podStatus: (uid, name, namespace, listed) => podStatus(ports, uid, name, namespace, listed),
      },
      eventSources: [() => criEvents(cri), () => containerdEvents(containerd.endpoint)],
    });
    const tasks = new TaskGroup({ onError: (task, error) => expect.fail(`${task}: ${String(error)}`) });
    cleanups.defer('the PLEG', () => tasks.stop());
    tasks.start('pleg', (signal) => pleg.run(signal));
    tasks.start('events', async (signal) => {
      for (;;) {
        const received = await pleg.events.receive(signal);
        if (received.done) return;
        events.push(received.value);
      }
    });
  });
  afterAll(() => cleanups.run());

  const sandboxConfigOf = (uid: string) => ({
    metadata: { name: uid, namespace: 'ns', uid },
    labels: { [criLabels.podUid]: uid },
    linux: { cgroupParent: containerd.cgroupParent },
  });
  const startContainer = async (podSandboxId: string, uid: string, name: string, command: string[]) => {
    const labels = { [criLabels.podUid]: uid };
    const { containerId } = await cri.createContainer({
      podSandboxId,
      sandboxConfig: sandboxConfigOf(uid),
      config: { metadata: { name }, image: { image: testImages.busybox }, command, labels },
    });
    await cri.startContainer({ containerId });
    return containerId;
  };
  const run = async (uid: string, command: string[]) => {
    const { podSandboxId } = await cri.runPodSandbox({ config: sandboxConfigOf(uid) });
    return { podSandboxId, containerId: await startContainer(podSandboxId, uid, 'app', command) };
  };
  const seen = (uid: string, type: string, id: string) =>
    expect
      .poll(() => events.some((event) => event.uid === uid && event.type === type && event.id === id), {
        timeout: 10_000,
      })
      .toBe(true);

  it('sees starts, exits and removals by events alone', async () => {
    await expect.poll(() => pleg.followsEvents, { timeout: 10_000 }).toBe(true);
    const { podSandboxId, containerId } = await run('pod-a', ['sh', '-c', 'sleep 2; exit 5']);
    await seen('pod-a', 'ContainerStarted', podSandboxId);
    await seen('pod-a', 'ContainerStarted', containerId);
    const before = lists;
    await seen('pod-a', 'ContainerDied', containerId);
    expect(pleg.cache.peek('pod-a')).toMatchObject({ status: { containers: [{ exitCode: 5 }] } });
    await cri.removeContainer({ containerId });
    await seen('pod-a', 'ContainerRemoved', containerId);
    expect(lists).toBe(before);
    await cri.removePodSandbox({ podSandboxId });
    await seen('pod-a', 'ContainerRemoved', podSandboxId);
    expect(pleg.observedPods()).toEqual([]);
  });
  it('sees each of several exits of a pod that come at the same moment', async () => {
    const count = 6;
    const { podSandboxId } = await cri.runPodSandbox({ config: sandboxConfigOf('pod-c') });
    const ids: string[] = [];
    for (let n = 0; n < count; n++) {
      ids.push(await startContainer(podSandboxId, 'pod-c', `c${n}`, ['sleep', '1000']));
    }
    for (const id of ids) await seen('pod-c', 'ContainerStarted', id);
    const before = lists;
    await Promise.all(ids.map((containerId) => cri.stopContainer({ containerId, timeout: 0 })));
    // The runtime has noted every exit by now, so that one missed look would be all that is missing.
    const died = () => ids.filter((id) => events.some((e) => e.type === 'ContainerDied' && e.id === id));
    await expect.poll(died, { timeout: 2_000 }).toEqual(ids);
    expect(lists).toBe(before);
    const states = Array(count).fill({ state: 'exited', exitCode: 137 });
    expect(pleg.cache.peek('pod-c')).toMatchObject({ status: { containers: states } });
    await cri.removePodSandbox({ podSandboxId });
    await seen('pod-c', 'ContainerRemoved', podSandboxId);
    expect(pleg.observedPods()).toEqual([]);
  });
  it('sees what happened while containerd was down', async () => {
    const { podSandboxId, containerId } = await run('pod-b', ['sh', '-c', 'sleep 2; exit 6']);
    await seen('pod-b', 'ContainerStarted', containerId);
    await containerd.kill();
    await expect.poll(() => pleg.followsEvents, { timeout: 10_000 }).toBe(false);
    await containerd.start();
    await seen('pod-b', 'ContainerDied', containerId);
    await expect.poll(() => pleg.followsEvents, { timeout: 20_000 }).toBe(true);
    await cri.removePodSandbox({ podSandboxId });
    await seen('pod-b', 'ContainerRemoved', podSandboxId);
  });
});
