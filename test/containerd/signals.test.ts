/** How the agent ends when it is told to while it is busy. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually, manifest, TestNode } from './agent.js';

const names = ['one', 'two', 'three', 'four', 'five', 'six'];

let node: TestNode;
beforeEach(async () => {
  node = await TestNode.create();
});
afterEach(() => node.stop());

it('SIGTERM while pods start: the agent ends in order, and the next one goes on without doubling anything', async () => {
  for (const name of names) await node.apply(`${name}.yaml`, manifest(name));
  for (const delayMs of [100, 400, 800]) {
    await node.start();
    await sleep(delayMs);
    expect(await node.kill('SIGTERM')).toBe(0);
    for (const name of names) expect((await node.running(name)).length, name).toBeLessThanOrEqual(1);
  }
  const before = await node.running();
  await node.start();
  for (const name of names) await node.untilReady(name);
  for (const name of names) {
    expect(await node.running(name), name).toHaveLength(1);
    expect(await node.readySandboxes(name), name).toHaveLength(1);
  }
  expect((await node.running()).filter((id) => before.includes(id))).toEqual(before);
  expect(node.log).not.toMatch(/ ERROR /);
});

it('SIGTERM ends the agent at once, even while the runtime does not answer', async () => {
  await node.apply('one.yaml', manifest('one'));
  await node.start();
  await node.untilReady('one');
  await node.containerd.kill('SIGSTOP');
  await node.apply('stuck.yaml', manifest('stuck'));
  await eventually('the pod is taken', async () => node.logOf('stuck').length > 0);
  const beganMs = performance.now();
  expect(await node.kill('SIGTERM')).toBe(0);
  expect(performance.now() - beganMs).toBeLessThan(10_000);
  await node.containerd.kill('SIGCONT');
});

it('a second SIGTERM ends the agent without any order', async () => {
  await node.start();
  await node.containerd.kill('SIGSTOP');
  // An answer that the runtime does not let it give keeps the agent busy with its end for a while.
  const answer = node.get('/stats/summary').catch(() => undefined);
  await sleep(300);
  node.signal('SIGTERM');
  await eventually('the agent is told', async () => node.log.includes('received SIGTERM'));
  expect(await node.kill('SIGTERM')).toBe(1);
  await answer;
  await node.containerd.kill('SIGCONT');
});
