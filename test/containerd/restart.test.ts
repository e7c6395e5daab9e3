import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, manifest, TestNode } from './agent.js';

const names = ['one', 'two', 'three', 'four', 'five', 'six'];

let node: TestNode;
beforeEach(async () => {
  node = await TestNode.create({ config: { fileCheckFrequency: '2s' } });
});
afterEach(() => node.stop());

const startAll = async (): Promise<void> => {
  for (const name of names) await node.apply(`${name}.yaml`, manifest(name));
  await node.start();
  for (const name of names) await node.untilReady(name);
};

const allReady = async (): Promise<void> => {
  for (const name of names) await node.untilReady(name);
};

describe('the agent is killed', () => {
  it('running containers are adopted: none is restarted, duplicated or forgotten', async () => {
    await startAll();
    const before = await node.running();
    const statusBefore = await node.status('one');
    await node.kill('SIGKILL');
    await node.start();
    await allReady();
    // Two rounds of housekeeping would show a wish to change something.
    await new Promise((resolve) => setTimeout(resolve, 4_500));
    expect(await node.running()).toEqual(before);
    const statusAfter = await node.status('one');
    expect(statusAfter?.containerStatuses?.[0]).toMatchObject({
      restartCount: 0,
      containerID: statusBefore?.containerStatuses?.[0]?.containerID,
    });
    expect(statusAfter?.podIP).toBe(statusBefore?.podIP);
  });

  it('a manifest that was removed meanwhile has its containers stopped, the others go on', async () => {
    await startAll();
    const keep = await node.running('two');
    await node.kill('SIGKILL');
    await node.remove('one.yaml');
    await node.start();
    await node.untilGone('one');
    expect(await node.running('two')).toEqual(keep);
    expect(await node.metric('kubelet_orphaned_runtime_pods_total')).toBe(1);
  });

  it('a manifest that was edited meanwhile is replaced', async () => {
    await startAll();
    const [before] = await node.running('three');
    await node.kill('SIGKILL');
    await node.apply('three.yaml', manifest('three', { spec: { hostname: 'changed' } }));
    await node.start();
    await eventually('the new version runs alone', async () => {
      const running = await node.running('three');
      return running.length === 1 && running[0] !== before;
    });
    await node.untilReady('three');
  });

  it('at any moment of starting: every pod ends with one sandbox and one container that stay', async () => {
    for (const name of names) await node.apply(`${name}.yaml`, manifest(name));
    const ran = new Map<string, string>();
    // Moments spread over the time that starting six pods takes.
    for (const delayMs of [20, 60, 120, 200, 300, 430, 600, 800]) {
      await node.start();
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await node.kill('SIGKILL');
      for (const name of names) {
        const running = await node.running(name);
        expect(running.length, `${name} runs at most once`).toBeLessThanOrEqual(1);
        const known = ran.get(name);
        if (known !== undefined) expect(running, `${name} goes on`).toEqual([known]);
        else if (running[0] !== undefined) ran.set(name, running[0]);
      }
    }
    await node.start();
    await allReady();
    for (const name of names) {
      expect(await node.readySandboxes(name), name).toHaveLength(1);
      const running = await node.running(name);
      expect(running, name).toHaveLength(1);
      if (ran.has(name)) expect(running[0]).toBe(ran.get(name));
    }
  });

  it('while a pod stops: the stop is completed', async () => {
    await node.apply(
      'slow.yaml',
      manifest('slow', {
        command: ['sh', '-c', "trap '' TERM; while true; do sleep 0.1; done"],
        spec: { terminationGracePeriodSeconds: 4 },
      }),
    );
    await node.start();
    await node.untilReady('slow');
    await node.remove('slow.yaml');
    await eventually('it is being stopped', async () => node.log.includes('event.Killing'));
    await node.kill('SIGKILL');
    await node.start();
    await node.untilGone('slow');
  });
});

it('a signal ends the agent with 0 and leaves containers alone', async () => {
  await startAll();
  const before = await node.running();
  expect(await node.kill('SIGTERM')).toBe(0);
  expect(await node.running()).toEqual(before);
});

it('a signal ends the agent at once, even while a pod takes its time to stop', async () => {
  const stubborn = ['sh', '-c', "trap '' TERM; while true; do sleep 0.1; done"];
  await node.apply(
    'slow.yaml',
    manifest('slow', { command: stubborn, spec: { terminationGracePeriodSeconds: 30 } }),
  );
  await node.start();
  await node.untilReady('slow');
  await node.remove('slow.yaml');
  await eventually('it is being stopped', async () => node.log.includes('event.Killing'));
  const beganMs = performance.now();
  expect(await node.kill('SIGTERM')).toBe(0);
  expect(performance.now() - beganMs).toBeLessThan(10_000);
  expect(node.log).not.toMatch(/ERROR/);
});

it('after a reboot of the machine everything is started anew', async () => {
  await startAll();
  const before = await node.running();
  await node.kill('SIGKILL');
  await node.containerd.wipeState();
  expect(await node.running()).toEqual([]);
  await node.start();
  await eventually('all run again', async () => (await node.running()).length === names.length);
  expect(await node.running()).not.toEqual(before);
  await allReady();
});

describe('containerd', () => {
  it('is restarted: containers go on, and new pods are taken', async () => {
    await startAll();
    const before = await node.running();
    await node.containerd.restart();
    await node.apply('late.yaml', manifest('late'));
    await node.untilReady('late', 60_000);
    expect((await node.running()).filter((id) => before.includes(id))).toEqual(before);
  });

  it('is away: the agent says so, hangs on nothing, and goes on when it is back', async () => {
    await startAll();
    const before = await node.running();
    await node.containerd.kill('SIGKILL');
    await node.apply('late.yaml', manifest('late'));
    await eventually(
      'the loop is paused',
      async () => node.log.includes('container runtime is down'),
      60_000,
    );
    expect(await node.get('/healthz', 'healthz')).toBe('ok');
    expect((await node.pods()).length).toBeGreaterThanOrEqual(names.length);
    await node.containerd.start();
    await node.untilReady('late', 60_000);
    expect((await node.running()).filter((id) => before.includes(id))).toEqual(before);
  });
});
