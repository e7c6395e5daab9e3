/** A runtime that keeps a name for something it does not have, as after a call that broke: the pod runs under another. */
import { afterEach, expect, it } from 'vitest';
import { CriError, type CriRuntime, unimplementedCriRuntime } from '../../src/cri/index.js';
import type { Machine } from './machine.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod } from './pods.js';

afterEach(endNodes);

/** Reserves the names of the first attempts of every sandbox or container for an id that is not listed. */
function reserving(rpc: 'runPodSandbox' | 'createContainer', attempts: number, text: string) {
  const tried: number[] = [];
  const through = (machine: Machine): CriRuntime => {
    // Every method is an own or inherited function of the machine; one of them is watched.
    const methods = Object.keys(unimplementedCriRuntime()) as (keyof CriRuntime)[];
    const bound = Object.fromEntries(methods.map((name) => [name, machine[name].bind(machine)]));
    const check = ({ config }: { config?: { metadata?: { attempt?: number } } }): void => {
      const attempt = config?.metadata?.attempt ?? 0;
      tried.push(attempt);
      if (attempt < attempts) throw new CriError('Unknown', text);
    };
    return {
      ...(bound as unknown as CriRuntime),
      [rpc]: async (request: never, ...rest: never[]) => {
        check(request);
        return (machine[rpc] as (...all: never[]) => unknown).call(machine, request, ...rest);
      },
    };
  };
  return { through, tried };
}

const texts = {
  containerd: 'failed to reserve container name "app_a": name "app_a" is reserved for "0123"',
  'CRI-O': 'error reserving ctr name app_a for id 0123: name is reserved',
};

it.each([
  ['runPodSandbox', 'containerd', 1],
  ['createContainer', 'containerd', 1],
  ['createContainer', 'CRI-O', 1],
  ['createContainer', 'containerd', 2],
] as const)('%s of %s, %d names: the pod runs after as many minutes', async (rpc, runtime, names) => {
  const { through, tried } = reserving(rpc, names, texts[runtime]);
  const node = await startNode({ through });
  node.set([apiPod('a', { spec: { restartPolicy: 'Never' } })]);
  await node.advance(50 * second);
  expect(node.machine.running('a')).toEqual([]);
  expect(new Set(tried)).toEqual(new Set([0]));
  await node.untilReady('a', names * 2 * minute);
  expect(node.machine.running('a')).toHaveLength(1);
  expect(node.recorded('runtime.name', 'a')).toHaveLength(names);
  expect(node.recorded('runtime.name', 'a')[0]).toMatchObject({
    data: { fault: 'NameReserved' },
    message: expect.stringContaining('known fault of the runtime: it keeps the name'),
  });
  await node.advance(10 * minute);
  expect(node.machine.running('a')).toHaveLength(1);
});

it('a name that is given back in time is used', async () => {
  const { through, tried } = reserving('createContainer', 0, '');
  const node = await startNode({ through });
  const undo = node.machine.faults.add({
    rpc: 'createContainer',
    times: Number.POSITIVE_INFINITY,
    error: new CriError('Unknown', texts.containerd),
  });
  node.set([apiPod('a')]);
  await node.advance(30 * second);
  undo();
  await node.untilReady('a', minute);
  expect(new Set(tried)).toEqual(new Set([0]));
  expect(node.container('a')?.restartCount).toBe(0);
});
