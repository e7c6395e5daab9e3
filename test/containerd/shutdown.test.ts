/** A node whose machine shuts down: the agent, containerd, a bus and `systemd-inhibit` are real, logind is a stand-in. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startDbusDaemon, type TestDbusDaemon } from '../env/dbus.js';
import { startTestLogind, type TestLogind } from '../env/logind.js';
import { CleanupStack } from '../env/tempdir.js';
import { eventually, manifest, stopsAfter, TestNode } from './agent.js';

const lock = 'shutdown kubelet Kubelet needs time to handle node shutdown delay';

let cleanups: CleanupStack;
let daemon: TestDbusDaemon;
let logind: TestLogind;
let node: TestNode;

const startLogind = (): Promise<TestLogind> =>
  startTestLogind({ environment: daemon.environment, cleanups, inhibitDelayMaxMs: 60_000 });

beforeEach(async () => {
  cleanups = new CleanupStack();
  daemon = await startDbusDaemon({ cleanups });
  logind = await startLogind();
  node = await TestNode.create({
    env: daemon.environment,
    config: {
      shutdownGracePeriodByPodPriority: [
        { priority: 0, shutdownGracePeriodSeconds: 20 },
        { priority: 1000, shutdownGracePeriodSeconds: 20 },
      ],
    },
  });
});
afterEach(async () => {
  await node.stop();
  await cleanups.run();
});

const untilLocks = (count: number): Promise<void> =>
  eventually(`${count} locks are held`, async () => {
    const locks = await logind.locks();
    expect(locks.every((each) => each === lock)).toBe(true);
    return locks.length === count;
  });

it('ends its pods by priority, refuses others, keeps the times, and gives the lock back', async () => {
  const priority = (value: number) => ({ spec: { priority: value }, command: stopsAfter(2) });
  await node.apply('low.yaml', manifest('low', priority(0)));
  await node.apply('high.yaml', manifest('high', priority(5000)));
  await node.start();
  for (const name of ['low', 'high']) await node.untilReady(name);
  await untilLocks(1);

  await logind.prepare(true);
  await eventually('the low pod has ended', async () => (await node.running('low')).length === 0);
  expect(await node.running('high')).toHaveLength(1);
  await node.apply('late.yaml', manifest('late'));
  await untilLocks(0);
  expect(await node.running()).toEqual([]);
  await eventually('the late pod is refused', async () => {
    const late = (await node.pods()).find(({ metadata }) => metadata.name.startsWith('late'));
    return late?.status?.reason === 'NodeShutdown';
  });
  const ended = (await node.pods()).filter(({ metadata }) => !metadata.name.startsWith('late'));
  expect(ended.map(({ status }) => [status?.phase, status?.reason, status?.message])).toEqual(
    Array(2).fill(['Failed', 'Terminated', 'Pod was terminated in response to imminent node shutdown.']),
  );
  const state = JSON.parse(await readFile(join(node.root, 'graceful_node_shutdown_state'), 'utf8'));
  expect(Date.parse(state.startTime)).toBeLessThan(Date.parse(state.endTime));
  const seconds = (time: string): number => Math.floor(Date.parse(time) / 1000);
  expect(await node.metric('kubelet_graceful_shutdown_start_time_seconds')).toBe(seconds(state.startTime));
  expect(await node.metric('kubelet_graceful_shutdown_end_time_seconds')).toBe(seconds(state.endTime));

  // The shutdown is called off.
  await logind.prepare(false);
  await untilLocks(1);
  await node.apply('after.yaml', manifest('after'));
  await node.untilReady('after');

  // The times are there after a restart, and the lock goes with the agent.
  expect(await node.kill('SIGTERM')).toBe(0);
  await untilLocks(0);
  await node.start();
  await untilLocks(1);
  await eventually(
    'the times are shown',
    async () => (await node.metric('kubelet_graceful_shutdown_end_time_seconds')) === seconds(state.endTime),
  );
});

it('loses the lock when the agent is killed, and takes another when the bus is back', async () => {
  await node.start();
  await untilLocks(1);
  await node.kill('SIGKILL');
  await untilLocks(0);

  await node.start();
  await untilLocks(1);
  await daemon.kill();
  await eventually('the loss is told', async () => node.log.includes('not delayed until logind is back'));
  await daemon.start();
  logind = await startLogind();
  await untilLocks(1);
  await logind.prepare(true);
  await untilLocks(0);
});

it('killed while it ends pods: nothing delays the shutdown any more, and the next agent can begin anew', async () => {
  const states = async (): Promise<{ startTime: string; endTime: string }> =>
    JSON.parse(await readFile(join(node.root, 'graceful_node_shutdown_state'), 'utf8'));
  const seconds = (time: string): number => Math.floor(Date.parse(time) / 1000);
  const none = '0001-01-01T00:00:00Z';
  await node.apply('low.yaml', manifest('low', { spec: { priority: 0 }, command: stopsAfter(4) }));
  await node.apply('high.yaml', manifest('high', { spec: { priority: 5000 } }));
  await node.start();
  for (const name of ['low', 'high']) await node.untilReady(name);
  await untilLocks(1);
  const high = await node.running('high');

  await logind.prepare(true);
  await eventually('the low pod is being stopped', async () =>
    node.logOf('low').some((line) => line.includes('being stopped')),
  );
  // No kill waits for the file.
  await eventually('the beginning is written', async () => (await states().catch(() => none)) !== none);
  await node.kill('SIGKILL');
  await untilLocks(0);
  expect(await node.running('low')).toHaveLength(1);
  expect(await node.running('high')).toEqual(high);
  const begun = await states();
  expect(Date.parse(begun.startTime)).toBeGreaterThan(Date.parse(none));
  expect(begun.endTime).toBe(none);

  // This machine did not go down after all.
  await node.start();
  await untilLocks(1);
  for (const name of ['low', 'high']) await node.untilReady(name);
  expect(await node.running('high')).toEqual(high);
  await eventually(
    'the times are shown',
    async () =>
      (await node.metric('kubelet_graceful_shutdown_start_time_seconds')) === seconds(begun.startTime) &&
      (await node.metric('kubelet_graceful_shutdown_end_time_seconds')) === 0,
  );

  await logind.prepare(true);
  await untilLocks(0);
  expect(await node.running()).toEqual([]);
  const ended = await states();
  expect(Date.parse(ended.startTime)).toBeGreaterThan(Date.parse(begun.startTime));
  expect(Date.parse(ended.endTime)).toBeGreaterThan(Date.parse(ended.startTime));
});

it('runs pods on a machine without logind, and says that a shutdown does not wait for them', async () => {
  await daemon.kill();
  await node.apply('web.yaml', manifest('web'));
  await node.start();
  await node.untilReady('web');
  await eventually('the log tells', async () => node.log.includes('Failed to start node shutdown manager'));
});
