/** What becomes of a pod whose sandbox dies, vanishes or gets company. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Init, PodSandboxConfig } from '../../src/cri/index.js';
import type { PodStatus } from '../../src/kube/index.js';
import { busybox, eventually, forever, isReady, manifest, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create();
  await node.start();
});
afterAll(() => node.stop());

const startPair = async (name: string): Promise<{ ids: string[]; sandboxId: string }> => {
  const containers = ['app', 'side'].map((container) => ({
    name: container,
    image: busybox,
    command: forever,
  }));
  await node.apply(`${name}.yaml`, manifest(name, { spec: { containers } }));
  await node.untilReady(name);
  const [sandboxId = ''] = await node.readySandboxes(name);
  return { ids: await node.running(name), sandboxId };
};

const restartCounts = ({ containerStatuses = [] }: PodStatus): number[] =>
  containerStatuses.map(({ restartCount }) => restartCount);

/** Waits until both containers run in another sandbox, and holds that they stay. */
const untilMoved = async (name: string, before: { ids: string[]; sandboxId: string }): Promise<PodStatus> => {
  const status = await node.until(
    name,
    'runs again',
    (one) => isReady(one) && restartCounts(one).every((count) => count > 0),
  );
  const [sandboxId, ...others] = await node.readySandboxes(name);
  expect(others).toEqual([]);
  expect(sandboxId).not.toBe(before.sandboxId);
  const running = await node.running(name);
  expect(running).toHaveLength(2);
  expect(running.filter((id) => before.ids.includes(id))).toEqual([]);
  // What is wrong with the new one would show at the next look at all pods.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(await node.running(name)).toEqual(running);
  return status;
};

const expectOneRestart = (name: string, status: PodStatus): void => {
  expect(restartCounts(status)).toEqual([1, 1]);
  for (const container of ['app', 'side']) expect(node.starts(name, container)).toBe(2);
};

it.concurrent('the process of a sandbox is killed: a new sandbox replaces it, and each container starts once more', async () => {
  const before = await startPair('killed');
  const oldIp = (await node.status('killed'))?.podIP;
  await node.killProcess(before.sandboxId);
  const status = await untilMoved('killed', before);
  expectOneRestart('killed', status);
  expect((await node.sandboxes('killed')).map(({ metadata, state }) => [metadata?.attempt, state])).toEqual([
    [1, 0],
    [0, 1],
  ]);
  expect(node.logOf('killed', 'event.SandboxChanged')).toHaveLength(1);
  expect(node.logOf('killed', 'event.SandboxChanged')[0]).toContain(
    'Pod sandbox changed, it will be killed and re-created.',
  );
  expect(status.podIP).toMatch(/^10\.88\./);
  expect(status.podIP).not.toBe(oldIp);
});

/** The runtime refuses while the agent removes the same container. */
async function removeFromOutside(podSandboxId: string): Promise<void> {
  await eventually('the sandbox is removed', () =>
    node.cri.removePodSandbox({ podSandboxId }).then(
      () => true,
      (error: unknown) => {
        if (/already in removing state/.test(String(error))) return false;
        throw error;
      },
    ),
  );
}

it.concurrent('a sandbox is removed from outside: the pod starts in a new one', async () => {
  const before = await startPair('removed');
  await removeFromOutside(before.sandboxId);
  expectOneRestart('removed', await untilMoved('removed', before));
  expect(node.logOf('removed', 'event.BackOff')).toEqual([]);
  expect(await node.sandboxes('removed')).toHaveLength(1);
});

it.concurrent('a sandbox is stopped from outside: it is replaced', async () => {
  const before = await startPair('stopped');
  await node.cri.stopPodSandbox({ podSandboxId: before.sandboxId });
  expectOneRestart('stopped', await untilMoved('stopped', before));
  expect(node.logOf('stopped', 'event.BackOff')).toEqual([]);
  expect((await node.sandboxes('stopped')).map(({ metadata }) => metadata?.attempt)).toEqual([1, 0]);
});

it.concurrent('two sandboxes are ready for one pod: both are stopped and a third one takes over', async () => {
  const before = await startPair('twice');
  const { status } = await node.cri.podSandboxStatus({ podSandboxId: before.sandboxId });
  const config: Init<PodSandboxConfig> = {
    metadata: { ...status?.metadata, attempt: 1 },
    labels: status?.labels,
    annotations: status?.annotations,
    linux: {},
  };
  const { podSandboxId: second } = await node.cri.runPodSandbox({ config });
  await eventually('both are stopped', async () =>
    (await node.sandboxes('twice')).every(
      ({ id, state }) => ![second, before.sandboxId].includes(id) || state === 1,
    ),
  );
  expectOneRestart('twice', await untilMoved('twice', before));
  // Those that own nothing may have been collected meanwhile.
  const [newest, ...others] = await node.sandboxes('twice');
  expect([newest?.metadata?.attempt, newest?.state]).toEqual([2, 0]);
  expect(others.every(({ state }) => state === 1)).toBe(true);
  expect(node.logOf('twice', 'event.SandboxChanged')).toHaveLength(1);
});
