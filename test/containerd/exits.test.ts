/** Containers that end or are left behind without the agent having had a hand in it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ContainerState } from '../../src/cri/index.js';
import { busybox, eventually, forever, isReady, manifest, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create();
  await node.start();
});
afterAll(() => node.stop());

it.concurrent('a container that is killed from outside is started again, and its end is told', async () => {
  await node.apply('shot.yaml', manifest('shot'));
  await node.untilReady('shot');
  const [before = ''] = await node.running('shot');
  await node.killProcess(before);
  const status = await node.until(
    'shot',
    'runs again',
    (one) => isReady(one) && one.containerStatuses?.[0]?.restartCount === 1,
  );
  expect(status.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({
    exitCode: 137,
    reason: 'Error',
    containerID: `containerd://${before}`,
  });
  expect(await node.readySandboxes('shot')).toHaveLength(1);
  expect(node.starts('shot', 'app')).toBe(2);
});

it.concurrent('a container that wants more memory than its limit is told to be OOMKilled', async () => {
  const command = ['awk', 'BEGIN { text = "x"; while (1) text = text text }'];
  await node.apply(
    'greedy.yaml',
    manifest('greedy', {
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'app', image: busybox, command, resources: { limits: { memory: '16Mi' } } }],
      },
    }),
  );
  const status = await node.until('greedy', 'has failed', ({ phase }) => phase === 'Failed');
  expect(status.containerStatuses?.[0]?.state?.terminated).toMatchObject({
    exitCode: 137,
    reason: 'OOMKilled',
  });
});

it.concurrent('containers that end at the same moment are all seen, and each is started once more', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const containers = names.map((name) => ({ name, image: busybox, command: forever }));
  await node.apply('crowd.yaml', manifest('crowd', { spec: { containers } }));
  await node.untilReady('crowd');
  const before = await node.running('crowd');
  await Promise.all(before.map((id) => node.killProcess(id)));
  const status = await node.until(
    'crowd',
    'runs again',
    (one) => isReady(one) && (one.containerStatuses ?? []).every(({ restartCount }) => restartCount > 0),
    10_000,
  );
  const ends = status.containerStatuses?.map(({ name, restartCount, lastState }) => [
    name,
    restartCount,
    lastState?.terminated?.exitCode,
  ]);
  expect(ends).toEqual(names.map((name) => [name, 1, 137]));
  expect(await node.running('crowd')).toHaveLength(names.length);
  for (const name of names) expect(node.starts('crowd', name)).toBe(2);
});

it.concurrent('containers that end at the same moment for good end the pod', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const containers = names.map((name) => ({ name, image: busybox, command: forever }));
  await node.apply('last.yaml', manifest('last', { spec: { restartPolicy: 'Never', containers } }));
  await node.untilReady('last');
  await Promise.all((await node.running('last')).map((id) => node.killProcess(id)));
  const status = await node.until('last', 'has failed', ({ phase }) => phase === 'Failed', 10_000);
  expect(status.containerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual(
    names.map(() => 137),
  );
  await eventually('its sandbox is stopped', async () => (await node.readySandboxes('last')).length === 0);
});

it('a container that a killed agent created and never started does not stand in the way', async () => {
  await node.apply('left.yaml', manifest('left'));
  await node.untilReady('left');
  await node.kill('SIGKILL');
  const [ran = ''] = await node.running('left');
  const { status } = await node.cri.containerStatus({ containerId: ran });
  const [sandbox] = await node.sandboxes('left');
  await node.cri.removeContainer({ containerId: ran });
  const { containerId } = await node.cri.createContainer({
    podSandboxId: sandbox?.id,
    config: {
      metadata: { name: 'app', attempt: 1 },
      image: { image: busybox },
      command: forever,
      labels: status?.labels,
      annotations: { ...status?.annotations, 'io.kubernetes.container.restartCount': '1' },
      logPath: 'app/1.log',
    },
    sandboxConfig: { metadata: sandbox?.metadata },
  });
  await node.start();
  const after = await node.until('left', 'runs again', isReady);
  expect(after.containerStatuses?.[0]?.restartCount).toBe(2);
  expect(await node.readySandboxes('left')).toEqual([sandbox?.id]);
  const states = (await node.containers('left')).map(({ id, state }) => [id === containerId, state]);
  expect(states).toEqual([
    [false, ContainerState.CONTAINER_RUNNING],
    [true, ContainerState.CONTAINER_CREATED],
  ]);
  await node.remove('left.yaml');
  await node.untilGone('left');
});
