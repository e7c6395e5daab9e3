/** Sidecars in real pods: what waits for them, what they outlive, and what they are told at the end. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Container, PodSpec } from '../../src/kube/index.js';
import { busybox, eventually, forever, manifest, shell, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create({ config: { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } } });
  await node.start();
});
afterAll(() => node.stop());

const runs = (name: string, command: string[], more: Partial<Container> = {}): Container => ({
  name,
  image: busybox,
  command,
  ...more,
});
const sidecar = (name: string, command = forever, more: Partial<Container> = {}): Container =>
  runs(name, command, { restartPolicy: 'Always', ...more });
const apply = (name: string, spec: Partial<PodSpec>): Promise<void> =>
  node.apply(`${name}.yaml`, manifest(name, { spec: { terminationGracePeriodSeconds: 20, ...spec } }));

it.concurrent('what comes next waits for the startup probe of a sidecar', async () => {
  await apply('gated', {
    initContainers: [
      sidecar('proxy', shell(`sleep 2; touch /tmp/up; ${forever.at(-1)}`), {
        startupProbe: { exec: { command: ['cat', '/tmp/up'] }, periodSeconds: 1, failureThreshold: 30 },
      }),
      runs('setup', shell('true')),
    ],
    containers: [runs('app', forever)],
  });
  const waiting = await node.until(
    'gated',
    'has its sidecar',
    ({ initContainerStatuses = [] }) => initContainerStatuses[0]?.state?.running !== undefined,
  );
  expect(waiting.initContainerStatuses?.[0]?.started).toBe(false);
  expect(waiting.initContainerStatuses?.[1]?.state?.waiting?.reason).toBe('PodInitializing');
  const status = await node.untilReady('gated');
  expect(status.initContainerStatuses?.map(({ started, ready }) => [started, ready])).toEqual([
    [true, true],
    [false, true],
  ]);
});

it.concurrent('a sidecar that ends while init containers run is started again, and init goes on', async () => {
  await apply('restarts', {
    initContainers: [sidecar('flaky', shell('sleep 1; exit 1')), runs('slow', shell('sleep 5'))],
    containers: [runs('app', forever)],
  });
  const status = await node.until(
    'restarts',
    'runs its container',
    ({ containerStatuses = [] }) => containerStatuses[0]?.state?.running !== undefined,
  );
  expect(status.initContainerStatuses?.[0]?.restartCount).toBeGreaterThan(0);
  expect(status.initContainerStatuses?.[1]).toMatchObject({
    restartCount: 0,
    state: { terminated: { exitCode: 0 } },
  });
  await node.remove('restarts.yaml');
});

it.concurrent('a sidecar that is not ready makes the pod not ready', async () => {
  await apply('unready', {
    initContainers: [
      sidecar('proxy', forever, {
        readinessProbe: { exec: { command: ['cat', '/tmp/ready'] }, periodSeconds: 1 },
      }),
    ],
    containers: [runs('app', forever)],
  });
  const status = await node.until(
    'unready',
    'runs',
    ({ containerStatuses = [] }) => containerStatuses[0]?.state?.running !== undefined,
  );
  const condition = status.conditions?.find(({ type }) => type === 'ContainersReady');
  expect(condition).toMatchObject({ status: 'False', message: 'containers with unready status: [proxy]' });
  await node.exec('unready', 'proxy', 'touch', '/tmp/ready');
  await node.untilReady('unready');
});

it.concurrent('preStop of a sidecar runs at once, the sidecar stops after the containers', async () => {
  await apply('leaves', {
    initContainers: [sidecar('proxy', forever, { lifecycle: { preStop: { sleep: { seconds: 1 } } } })],
    containers: [runs('app', shell("trap 'sleep 3; exit 0' TERM; while true; do sleep 0.1; done"))],
  });
  await node.untilReady('leaves');
  await node.remove('leaves.yaml');
  await eventually('all is stopped', async () => (await node.running('leaves')).length === 0);
  await eventually('it is told', async () => node.logOf('leaves', 'container.stop').length === 2);
  const timeouts = node
    .logOf('leaves', 'container.stop')
    .map((line) => [/container=(\w+)/.exec(line)?.[1], Number(/timeoutSeconds=(\d+)/.exec(line)?.[1])]);
  expect(timeouts[0]).toEqual(['app', 20]);
  expect(timeouts[1]?.[0]).toBe('proxy');
  // Its hook ran beside the three seconds that the container took, of which at most one was cut off twice.
  expect(timeouts[1]?.[1]).toBeLessThanOrEqual(18);
});
