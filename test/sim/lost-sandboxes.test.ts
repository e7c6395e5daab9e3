/** A sandbox that ends under its pod: what was about to start in it has not failed. */
import { afterEach, expect, it } from 'vitest';
import { type CriRuntime, unimplementedCriRuntime } from '../../src/cri/index.js';
import type { Machine } from './machine.js';
import { endNodes, second, startNode } from './node.js';
import { apiPod } from './pods.js';

afterEach(endNodes);

/** Ends a pod's containers first and its sandbox as soon as one of them is about to start or be created again. */
function dyingSandbox(at: 'createContainer' | 'startContainer', how: 'stop' | 'remove') {
  let dying: string | undefined;
  const through = (machine: Machine): CriRuntime => {
    const lose = async (): Promise<void> => {
      if (dying === undefined) return;
      const podSandboxId = dying;
      dying = undefined;
      await machine.stopPodSandbox({ podSandboxId });
      if (how === 'remove') await machine.removePodSandbox({ podSandboxId });
    };
    // Every method is an own or inherited function of the machine; two of them are watched.
    const methods = Object.keys(unimplementedCriRuntime()) as (keyof CriRuntime)[];
    const bound = Object.fromEntries(methods.map((name) => [name, machine[name].bind(machine)]));
    return {
      ...(bound as unknown as CriRuntime),
      [at]: async (...args: never[]) => {
        await lose();
        return (machine[at] as (...all: never[]) => unknown).apply(machine, args);
      },
    };
  };
  return {
    through,
    begin: (machine: Machine, podName: string): void => {
      dying = machine.ready(podName)[0]?.id;
      for (const { id } of machine.running(podName)) machine.exitContainer(id, 137);
    },
  };
}

it.each([
  ['createContainer', 'stop'],
  ['createContainer', 'remove'],
  ['startContainer', 'stop'],
  ['startContainer', 'remove'],
] as const)('lost at %s by %s: no failure, no back-off, one restart', async (at, how) => {
  const dying = dyingSandbox(at, how);
  const node = await startNode({ through: dying.through });
  node.set([apiPod('a', { containers: ['app', 'other'] })]);
  await node.untilReady('a');
  await node.advance(20 * second);
  dying.begin(node.machine, 'a');
  await node.until('it runs again', () => node.machine.running('a').length === 2, 3 * second);
  await node.untilReady('a', second);
  expect(node.status('a')?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([1, 1]);
  expect(node.reasons('a')).not.toContain('Failed');
  expect(node.reasons('a')).not.toContain('BackOff');
  expect(node.recorded('sandbox.lost', 'a')).toHaveLength(1);
  expect(node.machine.ready('a').map(({ attempt }) => attempt)).toEqual([how === 'remove' ? 0 : 1]);
});

it('a container that cannot start in a sandbox that lives has failed as ever', async () => {
  const node = await startNode();
  node.set([apiPod('a', { sim: { 'start-error': 'no such file' } })]);
  await node.until('it waits', () => node.waitingReason('a') !== undefined);
  expect(node.events('a', 'Failed')[0]?.message).toContain('no such file');
  expect(node.recorded('sandbox.lost', 'a')).toEqual([]);
});
