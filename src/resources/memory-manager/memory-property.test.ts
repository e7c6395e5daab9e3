/** Random machines and pods: no byte is given to two, everything comes back, and a crash loses and doubles nothing. */
import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import { type Container, isSidecar, type Pod } from '../../kube/index.js';
import type { MachineTopology } from '../machine-topology/machine-topology.js';
import { allocated, type HintProvider, type ResourceHints } from '../topology-manager/index.js';
import {
  chance,
  gi,
  guaranteed,
  memoryMachine,
  mi,
  podOf,
  sidecar,
} from '../topology-manager/test-topology.js';
import { countedBlocks, sumOver, unusedMemory, usedMemory } from './machine-memory.js';
import { readMemoryCheckpoint } from './read-checkpoint.js';
import { readText, startMemory, statePath, type TestMemoryOptions } from './test-managers.js';

type Pick = (below: number) => number;
type Started = Awaited<ReturnType<typeof startMemory>>;

const policies = [undefined, 'best-effort', 'restricted', 'single-numa-node'] as const;
const hugePages = 'hugepages-2Mi';

function randomMachine(pick: Pick): MachineTopology {
  return memoryMachine(
    Array.from({ length: 1 + pick(8) }, () => ({
      memoryBytes: (1 + pick(8)) * gi,
      hugePages: pick(2) === 0 ? [] : [{ sizeBytes: 2 * mi, pages: pick(4) * 64 }],
    })),
  );
}

function randomContainer(pick: Pick, name: string): Container {
  const resources = {
    memory: `${1 + pick(40)}00Mi`,
    ...(pick(3) === 0 ? { [hugePages]: `${1 + pick(64)}Mi` } : {}),
  };
  return pick(4) === 0 ? sidecar(name, resources) : guaranteed(name, resources);
}

function randomPod(pick: Pick, uid: string): Pod {
  const initContainers = Array.from({ length: pick(4) }, (_, index) => randomContainer(pick, `i${index}`));
  const containers = Array.from({ length: 1 + pick(3) }, (_, index) => {
    const { restartPolicy: _policy, ...app } = randomContainer(pick, `c${index}`);
    return app;
  });
  if (pick(5) > 0) return podOf(uid, { initContainers, containers });
  const list = { cpu: '64', memory: `${4 + pick(40)}00Mi` };
  return podOf(uid, { initContainers, containers, resources: { requests: list, limits: list } });
}

/** Prefers one node now and then, whatever memory is there. */
function willful(pick: Pick, nodeCount: number): HintProvider {
  const hints = (): ResourceHints | undefined =>
    pick(2) === 0 ? undefined : new Map([['cpu', [{ mask: 1 << pick(nodeCount), preferred: true }]]]);
  return { name: 'willful', containerHints: hints, podHints: hints, allocate: () => allocated };
}

function randomOptions(pick: Pick): TestMemoryOptions {
  const machine = randomMachine(pick);
  return {
    machine,
    others: pick(2) === 0 ? [] : [willful(pick, machine.numaNodes.length)],
    topology: policies[pick(policies.length)],
    scope: pick(2) === 0 ? 'container' : 'pod',
    podLevel: pick(2) === 0,
  };
}

/** Tables, blocks and file agree, and no node gives more than it has. */
async function expectSound({ memory, file }: Started, { machine }: TestMemoryOptions): Promise<void> {
  const unused = unusedMemory(machine, new Map());
  const read = readMemoryCheckpoint(await file());
  if (read.kind !== 'read') throw new Error(read.problem);
  expect(usedMemory(unused, read.checkpoint)).toEqual({ kind: 'fits', machine: memory.machine });
  for (const [id, { memoryMap }] of memory.machine) {
    for (const [type, { free, reserved, allocatable }] of memoryMap) {
      expect(free, `${type} of node ${id}`).toBeGreaterThanOrEqual(0);
      expect(free + reserved).toBe(allocatable);
    }
  }
  const ids = [...memory.machine.keys()];
  for (const type of ['memory', hugePages]) {
    const given = countedBlocks(read.checkpoint).filter(({ block }) => block.type === type);
    const bytes = given.reduce((sum, { block }) => sum + block.size, 0);
    expect(sumOver(memory.machine, ids, type, 'reserved')).toBe(bytes);
  }
}

/** Containers that run at the same time have at least what they asked for, besides each other. */
function expectServed({ memory }: Started, pod: Pod): void {
  const { initContainers = [], containers } = pod.spec;
  for (const container of [...initContainers.filter(isSidecar), ...containers]) {
    const asked = container.resources?.requests?.memory;
    const blocks = memory.blocksOf(pod.metadata.uid, container.name);
    if (asked === undefined || pod.spec.resources !== undefined || blocks.length === 0) continue;
    expect(blocks.find(({ type }) => type === 'memory')?.size).toBe(Number.parseInt(asked, 10) * mi);
  }
}

describe('random pods on random machines', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed + 1))('seed %i', async (seed) => {
    const pick = chance(seed);
    const options = randomOptions(pick);
    let started = await startMemory(options);
    const pods = new Map<string, Pod>();
    for (let step = 0; step < 30; step++) {
      const some = [...pods.values()][pick(pods.size + 1)];
      switch (some === undefined ? 0 : pick(4)) {
        case 0: {
          const pod = randomPod(pick, `p${step}`);
          const answer = await started.admit(pod);
          if (Array.isArray(answer)) {
            pods.set(pod.metadata.uid, pod);
            expectServed(started, pod);
          }
          break;
        }
        case 1:
          if (some !== undefined) pods.delete(some.metadata.uid);
          started.memory.keepOnly([...pods.values()]);
          break;
        case 2: {
          const [last] = some?.spec.containers ?? [];
          if (some !== undefined && last !== undefined) started.memory.containerCreated(some, last);
          break;
        }
        case 3: {
          await started.memory.stop();
          const before = started.memory.machine;
          started = await startMemory({ ...options, host: started.host });
          expect(started.setAside).toEqual([]);
          expect(started.memory.machine).toEqual(before);
          if (options.others?.length !== 0) break;
          for (const pod of pods.values()) expect(await started.admit(pod)).toEqual(expect.any(Array));
          break;
        }
      }
      await started.memory.stop();
      await expectSound(started, options);
    }
    started.memory.keepOnly([]);
    expect(started.memory.machine).toEqual(unusedMemory(options.machine, new Map()));
  });
});

describe('kill -9 at every change of the disk', () => {
  const machine = memoryMachine([4 * gi, 4 * gi]);
  const first = podOf('a', {
    initContainers: [guaranteed('i', { memory: '2Gi' })],
    containers: [guaranteed('c', { memory: '1Gi' }), guaranteed('d', { memory: '2Gi' })],
  });
  const second = podOf('b', { containers: [guaranteed('c', { memory: '3Gi' })] });

  async function live(started: Started): Promise<void> {
    await started.admit(first);
    started.memory.containerCreated(first, { name: 'c' });
    await started.admit(second);
    started.memory.keepOnly([second]);
    await started.memory.stop();
  }

  it('leaves a file that the next start reads, and the pods get what they would have got', async () => {
    const whole = await startMemory({ machine });
    await live(whole);
    const calls = whole.host.calls.length;
    expect(calls).toBeGreaterThan(10);
    for (let at = 1; at <= calls; at++) {
      for (const when of ['before', 'after'] as const) {
        const host = simulatedHost({ faults: [{ at, when, effect: { kind: 'die' } }] });
        await startMemory({ machine, host })
          .then(live)
          .catch(() => undefined);
        expect(host.dead, `call ${at}`).toBe(true);
        const again = await startMemory({ machine, host: simulatedHost({ machine: host.machine }) });
        expect(again.setAside, `call ${at} ${when}`).toEqual([]);
        await live(again);
        await expectSound(again, { machine });
        expect(again.nodes()).toEqual(whole.nodes());
        expect(await readText(again.host, statePath)).toBe(await whole.file());
      }
    }
  });
});
