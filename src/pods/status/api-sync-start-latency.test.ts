import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { formatTimestamp, type Pod, type PodStatus } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { createApiPodMetrics } from '../metrics.js';
import { PodStartLatency, unionMs } from './api-sync-start-latency.js';
import { makePod, statusOf } from './pod-fixtures.js';

let clock: VirtualClock;
let registry: Registry;
let latency: PodStartLatency;
let version: number;
let createdMs: number;

beforeEach(() => {
  clock = new VirtualClock();
  registry = new Registry();
  latency = new PodStartLatency({ clock, metrics: createApiPodMetrics(registry) });
  version = 0;
  createdMs = clock.now();
});
const running: PodStatus = {
  startTime: '2026-01-01T00:00:00Z',
  containerStatuses: [statusOf('a', 'running')],
};
const pod = (status: PodStatus, spec: Partial<Pod['spec']> = {}): Pod =>
  makePod({
    status,
    spec,
    metadata: { creationTimestamp: formatTimestamp(createdMs), resourceVersion: String(++version) },
  });
const shown = (metric: string): string | undefined =>
  new RegExp(`^kubelet_${metric} (.*)$`, 'm').exec(registry.text())?.[1];
const sums = (): (string | undefined)[] => [
  shown('pod_start_total_duration_seconds_sum'),
  shown('pod_start_sli_duration_seconds_sum'),
];

async function start(spec: Partial<Pod['spec']> = {}, end: PodStatus = running): Promise<void> {
  latency.sighted([pod({}, spec)]);
  await clock.advance(1000);
  latency.pullStarted('uid-1', 'i');
  await clock.advance(4000);
  latency.pullEnded('uid-1', 'i');
  await clock.advance(1000);
  latency.written(pod(end, spec));
  latency.sighted([pod(end, spec)]);
}

describe('PodStartLatency', () => {
  it('measures from creation to the sighting of our write; excludes pulls', async () => {
    await start();
    expect([...sums(), shown('first_network_pod_start_sli_duration_seconds')]).toEqual(['6', '2', '2']);
  });
  it('excludes init containers, and subtracts overlaps only once', async () => {
    const initContainerStatuses = [
      {
        ...statusOf('i', 'waiting'),
        state: {
          terminated: {
            exitCode: 0,
            startedAt: formatTimestamp(createdMs + 4000),
            finishedAt: formatTimestamp(createdMs + 6000),
          },
        },
      },
    ];
    await start({}, { ...running, initContainerStatuses });
    expect(sums()).toEqual(['6', '1']);
  });
  it('a remote volume leaves only the total', async () => {
    await start({ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] });
    expect(sums()).toEqual(['6', '0']);
  });
  it('a sighting of running before our write does not count', async () => {
    latency.sighted([pod({})]);
    latency.sighted([pod(running)]);
    expect(sums()).toEqual(['0', '0']);
  });
  it('a pod that could not be scheduled at once is not measured', async () => {
    latency.sighted([pod({ conditions: [{ type: 'PodScheduled', status: 'False' }] })]);
    await start();
    expect(sums()).toEqual(['0', '0']);
  });
  it('a pod that had started before it was seen is not measured', async () => {
    latency.sighted([pod(running)]);
    latency.written(pod(running));
    latency.sighted([pod(running)]);
    expect([...sums(), latency.size]).toEqual(['0', '0', 0]);
  });
  it('is measured once, and forgotten when deleted', async () => {
    await start();
    latency.written(pod(running));
    latency.sighted([pod(running)]);
    expect(shown('pod_start_total_duration_seconds_count')).toBe('1');
    latency.sighted([]);
    expect(latency.size).toBe(0);
  });
});

describe('unionMs', () => {
  it.each<[rule: string, intervals: [number, number][], expected: number]>([
    ['none', [], 0],
    [
      'apart',
      [
        [0, 1],
        [5, 7],
      ],
      3,
    ],
    [
      'overlapping',
      [
        [0, 4],
        [2, 6],
      ],
      6,
    ],
    [
      'one within another, in any order',
      [
        [2, 3],
        [0, 10],
      ],
      10,
    ],
  ])('%s', (_, intervals, expected) => {
    expect(unionMs(intervals.map(([fromMs, toMs]) => ({ fromMs, toMs })))).toBe(expected);
  });
});
