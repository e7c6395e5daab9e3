import { expect, it } from 'vitest';
import type { ContainerStatsSummary, PodStatsSummary, Summary } from '../../resources/stats/index.js';
import { usageBetween } from './usage-window.js';

const startMs = Date.parse('2030-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(startMs + seconds * 1000).toISOString();

interface Given {
  readonly at: number;
  readonly usedSeconds: number;
  readonly bytes?: number;
  readonly started?: number;
  readonly name?: string;
}

const container = ({
  at: seconds,
  usedSeconds,
  bytes = 4096,
  started = 0,
  name = 'app',
}: Given): ContainerStatsSummary => ({
  name,
  startTime: at(started),
  cpu: { time: at(seconds), usageCoreNanoSeconds: usedSeconds * 1e9 },
  memory: { time: at(seconds), workingSetBytes: bytes },
});
const pod = (uid: string, ...containers: ContainerStatsSummary[]): PodStatsSummary => ({
  podRef: { name: 'web', namespace: 'default', uid },
  startTime: at(0),
  containers,
});
const summary = (seconds: number, ...pods: PodStatsSummary[]): Summary => ({
  node: {
    nodeName: 'vm',
    startTime: at(0),
    cpu: { time: at(seconds), usageCoreNanoSeconds: seconds * 2e9 },
    memory: { time: at(seconds), workingSetBytes: 1_000_000 },
  },
  pods,
});
/** Of the one pod, by container; undefined when it was not measured. */
const usageOf = (earlier: readonly ContainerStatsSummary[], later: readonly ContainerStatsSummary[]) => {
  const { pods } = usageBetween(summary(100, pod('u', ...earlier)), summary(110, pod('u', ...later)));
  const found = pods.get('u');
  return found && Object.fromEntries([...found].map(([name, { cpuNanoCores }]) => [name, cpuNanoCores]));
};

it('the node is measured between the two readings', () => {
  expect(usageBetween(summary(100), summary(115.5)).node).toEqual({
    atMs: startMs + 115_500,
    windowMs: 15_500,
    cpuNanoCores: 2e9,
    memoryBytes: 1_000_000,
  });
});

it.each<[rule: string, earlier: Given[], later: Given[], usage: Record<string, number> | undefined]>([
  [
    'CPU is a rate over the window',
    [{ at: 100, usedSeconds: 50 }],
    [{ at: 110, usedSeconds: 52.5 }],
    { app: 250_000_000 },
  ],
  ['nothing used is 0', [{ at: 100, usedSeconds: 5 }], [{ at: 110, usedSeconds: 5 }], { app: 0 }],
  [
    'a new container is measured from its start',
    [],
    [{ at: 110, usedSeconds: 1, started: 106 }],
    { app: 250_000_000 },
  ],
  [
    'a container that started again is measured from its last start',
    [{ at: 100, usedSeconds: 500 }],
    [{ at: 110, usedSeconds: 4, started: 102 }],
    { app: 500_000_000 },
  ],
  [
    'a container that just started is not measured',
    [],
    [{ at: 110, usedSeconds: 0.5, started: 109.5 }],
    undefined,
  ],
  [
    'an old one that was not read before is not measured',
    [],
    [{ at: 110, usedSeconds: 9, started: 0 }],
    undefined,
  ],
  [
    'readings of the same moment tell no rate',
    [{ at: 110, usedSeconds: 9 }],
    [{ at: 110, usedSeconds: 9 }],
    undefined,
  ],
  [
    'CPU time that went back tells no rate',
    [{ at: 100, usedSeconds: 9 }],
    [{ at: 110, usedSeconds: 8 }],
    undefined,
  ],
  [
    'a container without memory was not measured',
    [{ at: 100, usedSeconds: 1, bytes: 0 }],
    [{ at: 110, usedSeconds: 1, bytes: 0 }],
    undefined,
  ],
  [
    'a pod of which one container is not measured is not measured',
    [{ at: 100, usedSeconds: 1 }],
    [
      { at: 110, usedSeconds: 1 },
      { at: 110, usedSeconds: 0, started: 109.5, name: 'new' },
    ],
    undefined,
  ],
])('%s', (_rule, earlier, later, usage) => {
  expect(usageOf(earlier.map(container), later.map(container))).toEqual(usage);
});

it('a pod of the same name is another one', () => {
  const earlier = summary(100, pod('old', container({ at: 100, usedSeconds: 50 })));
  const later = summary(110, pod('new', container({ at: 110, usedSeconds: 60 })));
  expect(usageBetween(earlier, later).pods.size).toBe(0);
});
