/** The agent is killed after every single effect of a resize; the next run must finish what was begun. */
import { expect, it } from 'vitest';
import { ContainerStatsResponse, type CriRuntime } from '../../cri/index.js';
import type { Container, ResourceRequirements } from '../../kube/index.js';
import type { PodBounds } from '../contracts.js';
import { RuntimeManager } from '../manager.js';
import { bench, container, exited, makePod, makeStatus, running } from '../test-fixtures.js';
import { ActuatedResources } from './actuated-resources.js';
import { hasLeftBounds } from './left-bounds.js';
import { mebi, sized } from './test-world.js';

interface CrashCase {
  readonly from: ResourceRequirements;
  readonly to: ResourceRequirements;
  readonly podFrom: Partial<PodBounds>;
  readonly podTo: Partial<PodBounds>;
  readonly more?: Partial<Container>;
  readonly podLevel?: { readonly from: ResourceRequirements; readonly to: ResourceRequirements };
}

/** What outlives the agent: the kernel's bounds and the runtime's containers. */
class CrashMachine {
  pod: PodBounds;
  state: 'running' | 'exited' = 'running';
  shares = 0;
  memoryBytes = 0;
  effects = 0;
  /** Whether the kernel refuses to change the pod's bounds. */
  isCgroupStuck = false;
  /** The effect after which the agent is dead. */
  crashAt = Number.POSITIVE_INFINITY;
  /** The records when the agent died; what it does afterwards does not happen. */
  left = new ActuatedResources({});

  constructor(readonly row: CrashCase) {
    this.pod = {
      cpuShares: 1024,
      quotaMicros: 100_000,
      periodMicros: 100_000,
      memoryLimitBytes: 100 * mebi,
      ...row.podFrom,
    };
  }

  effect<T>(actuated: ActuatedResources, answer: T, happens: () => void): Promise<T> {
    if (this.effects >= this.crashAt) return Promise.reject(new Error('the agent is dead'));
    happens();
    this.effects += 1;
    if (this.effects < this.crashAt) return Promise.resolve(answer);
    this.left.setContainer('uid-1', 'c', actuated.requirements('uid-1', 'c'));
    const { cpu, memory } = actuated.pod('uid-1');
    this.left.setPod('uid-1', {
      requests: { cpu: `${cpu.request}m`, memory: String(memory.request) },
      limits: { cpu: `${cpu.limit}m`, memory: String(memory.limit) },
    });
    return Promise.reject(new Error('the agent dies'));
  }

  becomes(state: 'running' | 'exited'): void {
    this.state = state;
  }

  /** One run of the agent; it syncs until nothing is in progress or it dies. */
  async run(actuated: ActuatedResources, { isUnfinished = false } = {}): Promise<void> {
    const { row } = this;
    const pod = makePod({
      containers: [container('c', { resources: row.to, ...row.more })],
      ...(row.podLevel === undefined ? {} : { resources: row.podLevel.to }),
    });
    const amount = (linux: { cpuShares?: number; memoryLimitInBytes?: number } | undefined): void => {
      this.shares = linux?.cpuShares ?? 0;
      this.memoryBytes = linux?.memoryLimitInBytes ?? 0;
    };
    const overrides: Partial<CriRuntime> = {
      updateContainerResources: ({ linux }) => this.effect(actuated, {}, () => amount(linux)),
      updatePodSandboxResources: () => this.effect(actuated, {}, () => {}),
      stopContainer: () => this.effect(actuated, {}, () => this.becomes('exited')),
      createContainer: () => this.effect(actuated, { containerId: 'new' }, () => {}),
      startContainer: () =>
        this.effect(actuated, {}, () => {
          this.becomes('running');
          amount(options.configs.containerResources(pod, pod.spec.containers[0]!));
        }),
      containerStats: async () =>
        ContainerStatsResponse.create({ stats: { memory: { usageBytes: { value: mebi } } } }),
    };
    const { options, clock } = bench({
      options: {
        actuated,
        podCgroups: {
          read: () => ({ ...this.pod, memoryUsageBytes: mebi }),
          wanted: () => row.podTo,
          write: (_pod, bound) =>
            this.isCgroupStuck
              ? Promise.reject(new Error('busy'))
              : this.effect(actuated, undefined, () => {
                  this.pod = { ...this.pod, [bound]: row.podTo[bound] };
                }),
        },
      },
      overrides,
    });
    const manager = new RuntimeManager(options);
    const status = () =>
      makeStatus(pod, [this.state === 'running' ? running('c') : exited('c', 137, { finishedAtNs: 1n })]);
    for (let sync = 0; sync < 3 && this.effects < this.crashAt; sync++) {
      await manager.syncPod(pod, status(), { restartingAllContainers: false });
      await clock.advance(400_000);
    }
    if (this.effects < this.crashAt) expect(manager.isResizeInProgress(pod, status())).toBe(isUnfinished);
  }
}

function recordsOf(row: CrashCase): ActuatedResources {
  const actuated = new ActuatedResources({});
  actuated.setContainer('uid-1', 'c', row.from);
  if (row.podLevel !== undefined) actuated.setPod('uid-1', row.podLevel.from);
  return actuated;
}

const restart = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
const large: Partial<PodBounds> = { cpuShares: 2048, quotaMicros: 200_000, memoryLimitBytes: 200 * mebi };
const small: Partial<PodBounds> = { cpuShares: 1024, quotaMicros: 100_000, memoryLimitBytes: 100 * mebi };

it.each<[rule: string, row: CrashCase]>([
  ['all grows', { from: sized('1', '100Mi'), to: sized('2', '200Mi'), podFrom: small, podTo: large }],
  ['all shrinks', { from: sized('2', '200Mi'), to: sized('1', '100Mi'), podFrom: large, podTo: small }],
  [
    'memory grows, CPU shrinks',
    {
      from: sized('2', '100Mi'),
      to: sized('1', '200Mi'),
      podFrom: { ...large, memoryLimitBytes: 100 * mebi },
      podTo: { ...small, memoryLimitBytes: 200 * mebi },
    },
  ],
  [
    'the pod level with it',
    {
      from: sized('2', '200Mi'),
      to: sized('1', '100Mi'),
      podFrom: large,
      podTo: small,
      podLevel: { from: sized('2', '200Mi'), to: sized('1', '100Mi') },
    },
  ],
  [
    'a container that restarts',
    { from: sized('1', '200Mi'), to: sized('2', '100Mi'), podFrom: large, podTo: small, more: restart },
  ],
])('107: %s: a crash after any effect leaves nothing undone', async (_, row) => {
  const whole = new CrashMachine(row);
  await whole.run(recordsOf(row));
  const expected = { pod: whole.pod, shares: whole.shares, memoryBytes: whole.memoryBytes, state: 'running' };
  expect(expected.pod).toMatchObject(row.podTo);
  expect(whole.effects).toBeGreaterThan(4);
  for (let crashAt = 1; crashAt <= whole.effects; crashAt++) {
    // What was recorded may be on disk or not; that of a new container is, before the container exists.
    for (const isLost of row.more === undefined ? [true, false] : [false]) {
      const machine = new CrashMachine(row);
      machine.crashAt = crashAt;
      await machine.run(recordsOf(row));
      machine.crashAt = Number.POSITIVE_INFINITY;
      await machine.run(isLost ? recordsOf(row) : machine.left);
      const { pod, shares, memoryBytes, state } = machine;
      expect({ pod, shares, memoryBytes, state }, `after effect ${crashAt}, lost ${isLost}`).toEqual(
        expected,
      );
    }
  }
});

it('a pod whose cgroup could not be lowered is found by the next agent, although its container restarted meanwhile', async () => {
  const row: CrashCase = { from: sized('2', '200Mi'), to: sized('1', '100Mi'), podFrom: large, podTo: small };
  const machine = new CrashMachine(row);
  machine.isCgroupStuck = true;
  const actuated = recordsOf(row);
  await machine.run(actuated, { isUnfinished: true });
  machine.becomes('exited');
  await machine.run(actuated, { isUnfinished: true });
  expect(machine.pod).toMatchObject(large);
  expect(actuated.container('uid-1', 'c').cpu.limit).toBe(1000);
  machine.isCgroupStuck = false;
  await machine.run(actuated);
  expect(machine.pod).toMatchObject(small);
});

it.each<[rule: string, current: Partial<PodBounds>, wanted: Partial<PodBounds>, expected: boolean]>([
  ['all in place', {}, small, false],
  ['a quota that was left', { quotaMicros: 200_000 }, small, true],
  ['a quota that is not wanted', { quotaMicros: 200_000 }, { memoryLimitBytes: 100 * mebi }, false],
  ['a memory limit that was left', { memoryLimitBytes: -1 }, small, true],
  ['a memory limit in whole pages', {}, { memoryLimitBytes: 100 * mebi + 5 }, false],
  ['shares, which a weight tells only roughly', { cpuShares: 998 }, small, false],
])('left behind: %s', (_, current, wanted, expected) => {
  const now: PodBounds = {
    cpuShares: 1024,
    quotaMicros: 100_000,
    periodMicros: 100_000,
    memoryLimitBytes: 100 * mebi,
  };
  expect(hasLeftBounds({ ...now, ...current }, wanted)).toBe(expected);
});
