/** The PLEG on the simulated runtime: what happens there is seen when it happens, whatever goes wrong between. */
import { afterEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../src/async/index.js';
import { criLabels } from '../../src/cri/index.js';
import { listPod, listPods, podStatus } from '../../src/runtime-manager/observe/observe.js';
import { criEvents, Pleg } from '../../src/runtime-manager/pleg/index.js';
import { SimRuntime, type SimRuntimeOptions } from '../../src/runtimes/sim/index.js';
import { Timeline } from '../../src/timeline/index.js';

let stop: () => Promise<void> = async () => {};
afterEach(() => stop());

async function start(options: SimRuntimeOptions = {}) {
  const clock = new VirtualClock();
  const cri = new SimRuntime({ clock, images: [{ name: 'app:1', present: true }], ...options });
  const ports = { cri, clock, terminationMessage: undefined };
  const pleg = new Pleg({
    clock,
    timeline: new Timeline({ clock }),
    runtime: {
      listPods: () => listPods(ports, { runningOnly: false }),
      listPod: (uid) => listPod(ports, uid),
      podStatus: (uid, name, namespace) => podStatus(ports, uid, name, namespace),
    },
    eventSources: [() => criEvents(cri)],
  });
  const failures: unknown[] = [];
  const tasks = new TaskGroup({ onError: (_, error) => failures.push(error) });
  tasks.start('pleg', (signal) => pleg.run(signal));
  stop = async () => {
    await tasks.stop();
    await cri.close();
    expect(failures).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(cri.eventReaders).toBe(0);
  };
  const run = async (uid: string, annotations: Record<string, string> = {}) => {
    const labels = { [criLabels.podUid]: uid };
    const metadata = { name: uid, namespace: 'ns', uid };
    const { podSandboxId } = await cri.runPodSandbox({ config: { metadata, labels, annotations } });
    const { containerId } = await cri.createContainer({
      podSandboxId,
      config: { metadata: { name: 'app' }, image: { image: 'app:1' }, labels },
    });
    await cri.startContainer({ containerId });
    return { podSandboxId, containerId };
  };
  const taken = (): string[] => {
    const seen: string[] = [];
    for (;;) {
      const next = pleg.events.tryReceive();
      if (next === undefined || next.done) return seen;
      seen.push(`${next.value.uid} ${next.value.type}`);
    }
  };
  await clock.advance(100);
  return { clock, cri, pleg, run, taken };
}

describe('the PLEG on a simulated runtime', () => {
  it('sees a start and an exit at once where the runtime tells of them', async () => {
    const { clock, cri, pleg, run, taken } = await start();
    expect(pleg.followsEvents).toBe(true);
    const { containerId } = await run('p', { 'sim.nodelet.dev/app.run-time': '3s' });
    await settle();
    expect(new Set(taken())).toEqual(new Set(['p ContainerStarted']));
    const known = pleg.cache.peek('p');
    expect(known).toMatchObject({
      status: { ips: ['10.88.0.2'], containers: [{ id: containerId, state: 'running' }] },
    });
    await clock.advance(3000);
    expect(taken()).toEqual(['p ContainerDied']);
    expect(cri.calls.listPodSandbox).toBeLessThan(30);
  });
  it('sees the same within a second where the runtime tells nothing', async () => {
    const { clock, pleg, run, taken } = await start({ containerEvents: false });
    expect(pleg.followsEvents).toBe(false);
    await run('p', { 'sim.nodelet.dev/app.run-time': '3s' });
    await clock.advance(1000);
    expect(taken()).toEqual(['p ContainerStarted', 'p ContainerStarted']);
    await clock.advance(3000);
    expect(taken()).toEqual(['p ContainerDied']);
  });
  it('looks rarely at pods that do not change', async () => {
    const { clock, cri, run } = await start();
    for (let n = 0; n < 50; n++) await run(`p${n}`);
    await clock.advance(1000);
    const [lists, inspections] = [cri.calls.listContainers, cri.calls.containerStatus];
    await clock.advance(60_000);
    expect(cri.calls.listContainers - lists).toBeLessThanOrEqual(6);
    expect(cri.calls.containerStatus).toBe(inspections);
  });
  it('polls while the runtime is away, and follows its events again when it is back', async () => {
    const { clock, cri, pleg, run, taken } = await start();
    const { containerId } = await run('p');
    await settle();
    taken();
    cri.goAway();
    await settle();
    expect(pleg.followsEvents).toBe(false);
    await clock.advance(10_000);
    cri.exitContainer(containerId, 1);
    cri.comeBack();
    await clock.advance(1000);
    expect(taken()).toEqual(['p ContainerDied']);
    await clock.advance(5000);
    expect(pleg.followsEvents).toBe(true);
  });
  it('keeps the address of a pod that a reboot ended', async () => {
    const { clock, cri, pleg, run, taken } = await start();
    await run('p');
    await settle();
    taken();
    cri.reboot();
    await clock.advance(1000);
    expect(taken().sort()).toEqual(['p ContainerDied', 'p ContainerDied']);
    expect(pleg.cache.peek('p')).toMatchObject({
      status: { ips: ['10.88.0.2'], containers: [{ state: 'exited', exitCode: 255, reason: 'Unknown' }] },
    });
  });
  it('forgets a pod when its sandbox is removed', async () => {
    const { cri, pleg, run, taken } = await start();
    const { podSandboxId } = await run('p');
    await settle();
    taken();
    await cri.removePodSandbox({ podSandboxId });
    await settle(20);
    expect(taken()).toContain('p ContainerRemoved');
    expect([pleg.cache.size, pleg.observedPods().length]).toEqual([0, 0]);
  });
  it('answers a waiting worker without waiting for the next look at everything', async () => {
    const { clock, pleg, run } = await start();
    await run('p');
    await clock.advance(2000);
    const atMs = clock.monotonic();
    const waiting = pleg.statusNewerThan('p', atMs);
    await settle();
    expect((await waiting).uid).toBe('p');
    expect(clock.monotonic()).toBe(atMs);
  });
});
