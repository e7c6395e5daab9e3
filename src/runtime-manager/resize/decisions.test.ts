import { describe, expect, it } from 'vitest';
import type { Pod, ResourceRequirements } from '../../kube/index.js';
import type { PodBounds } from '../contracts.js';
import { container, makePod } from '../test-fixtures.js';
import { ActuatedResources } from './actuated-resources.js';
import { isResizeInProgress } from './in-progress.js';
import { type MemoryDecrease, memoryProblem } from './memory-safety.js';
import { boundMoves, withBound } from './pod-bound-order.js';

const now: PodBounds = { cpuShares: 512, quotaMicros: 50_000, periodMicros: 100_000, memoryLimitBytes: 100 };

describe('the order of the bounds of a pod', () => {
  it.each<
    [
      rule: string,
      resource: 'cpu' | 'memory',
      current: Partial<PodBounds>,
      wanted: Partial<PodBounds>,
      before: string[],
      after: string[],
    ]
  >([
    ['memory that grows', 'memory', {}, { memoryLimitBytes: 200 }, ['memoryLimitBytes'], []],
    ['memory that shrinks', 'memory', {}, { memoryLimitBytes: 50 }, [], ['memoryLimitBytes']],
    ['memory that stays', 'memory', {}, { memoryLimitBytes: 100 }, [], []],
    ['a limit that is no longer wanted', 'memory', {}, {}, [], []],
    ['a first limit', 'memory', { memoryLimitBytes: -1 }, { memoryLimitBytes: 50 }, ['memoryLimitBytes'], []],
    ['CPU alone in its own turn', 'cpu', {}, { memoryLimitBytes: 200 }, [], []],
    [
      'the quota grows before the shares',
      'cpu',
      {},
      { quotaMicros: 60_000, cpuShares: 600 },
      ['quotaMicros', 'cpuShares'],
      [],
    ],
    [
      'the shares shrink before the quota',
      'cpu',
      {},
      { quotaMicros: 40_000, cpuShares: 400 },
      [],
      ['cpuShares', 'quotaMicros'],
    ],
    [
      'one grows, the other shrinks',
      'cpu',
      {},
      { quotaMicros: 40_000, cpuShares: 600 },
      ['cpuShares'],
      ['quotaMicros'],
    ],
    ['the quota ends', 'cpu', {}, { quotaMicros: -1 }, [], ['quotaMicros']],
    [
      'shares that the weight made inexact are written again',
      'cpu',
      { cpuShares: 998 },
      { cpuShares: 1024 },
      ['cpuShares'],
      [],
    ],
  ])('%s', (_, resource, current, wanted, before, after) => {
    expect(boundMoves(resource, { ...now, ...current }, wanted)).toEqual({ before, after });
  });

  it('a quota moves with its period, other bounds alone', () => {
    const wanted = { quotaMicros: 5_000, periodMicros: 10_000, cpuShares: 4 };
    expect(withBound(now, wanted, 'quotaMicros')).toEqual({
      ...now,
      quotaMicros: 5_000,
      periodMicros: 10_000,
    });
    expect(withBound(now, wanted, 'cpuShares')).toEqual({ ...now, cpuShares: 4 });
    expect(withBound(now, wanted, 'memoryLimitBytes')).toEqual(now);
  });
});

describe('lower memory limits', () => {
  const c = (from: number, to: number, usageBytes: number | undefined, name = 'c') => ({
    name,
    from,
    to,
    usageBytes,
  });
  const refused = (text: string): string => `cannot decrease memory limits: ${text}`;
  it.each<[rule: string, decrease: MemoryDecrease, expected: string | undefined]>([
    ['nothing falls', { containers: [c(100, 200, 300)] }, undefined],
    ['usage below the new limit', { containers: [c(200, 100, 99)] }, undefined],
    [
      'usage at the new limit',
      { containers: [c(200, 100, 100)] },
      refused('attempting to set container "c" memory limit (100) below current usage (100)'),
    ],
    [
      'a first limit of a container',
      { containers: [c(0, 100, 150)] },
      refused('attempting to set container "c" memory limit (100) below current usage (150)'),
    ],
    ['a limit that goes', { containers: [c(100, 0, 150)] }, undefined],
    [
      'unknown usage of a container',
      { containers: [c(200, 100, undefined)] },
      refused('missing container "c" memory usage'),
    ],
    [
      'the pod alone',
      { pod: { from: 200, to: 100, usageBytes: 200 }, containers: [] },
      refused('attempting to set pod memory limit (100) below current usage (200)'),
    ],
    [
      'unknown usage of the pod',
      { pod: { from: 200, to: 100, usageBytes: undefined }, containers: [] },
      refused('missing pod memory usage'),
    ],
    ['a first limit of the pod', { pod: { from: -1, to: 100, usageBytes: 200 }, containers: [] }, undefined],
    [
      '100: both',
      { pod: { from: 200, to: 100, usageBytes: 160 }, containers: [c(200, 100, 150)] },
      refused(
        '[attempting to set pod memory limit (100) below current usage (160), ' +
          'attempting to set container "c" memory limit (100) below current usage (150)]',
      ),
    ],
    [
      'the same problem twice is told once',
      { containers: [c(200, 100, 150), c(200, 100, 150)] },
      refused('attempting to set container "c" memory limit (100) below current usage (150)'),
    ],
  ])('%s', (_, decrease, expected) => expect(memoryProblem(decrease)).toBe(expected));
});

describe('a resize in progress', () => {
  const cpu = (amount: string): ResourceRequirements => ({ requests: { cpu: amount } });
  const sidecar = { ...container('side', { resources: cpu('1') }), restartPolicy: 'Always' } as const;
  const init = container('init', { resources: cpu('1') });
  const app = container('app', { resources: cpu('1') });
  it.each<
    [
      rule: string,
      spec: Partial<Pod['spec']>,
      told: Record<string, ResourceRequirements>,
      running: string[],
      expected: boolean,
      podLevel?: ResourceRequirements,
    ]
  >([
    ['all have what they want', { containers: [app] }, { app: cpu('1000m') }, ['app'], false],
    ['an app container differs', { containers: [app] }, { app: cpu('2') }, ['app'], true],
    ['one that does not run', { containers: [app] }, { app: cpu('2') }, [], false],
    ['a sidecar differs', { initContainers: [sidecar], containers: [] }, { side: cpu('2') }, ['side'], true],
    [
      'an ordinary init container does not count',
      { initContainers: [init], containers: [] },
      { init: cpu('2') },
      ['init'],
      false,
    ],
    ['the pod level differs', { containers: [], resources: cpu('3') }, {}, [], true, cpu('2')],
    ['the pod level was not recorded', { containers: [], resources: cpu('3') }, {}, [], false],
    [
      'a limit of the pod level that the container was given',
      { containers: [container('app')], resources: { limits: { memory: '1Gi' } } },
      {},
      ['app'],
      false,
      { limits: { memory: '1Gi' } },
    ],
  ])('%s: %s', (_, spec, told, running, expected, podLevel) => {
    const actuated = new ActuatedResources({});
    for (const [name, given] of Object.entries(told)) actuated.setContainer('uid-1', name, given);
    if (podLevel !== undefined) actuated.setPod('uid-1', podLevel);
    const isRunning = (name: string): boolean => running.includes(name);
    expect(isResizeInProgress({ pod: makePod(spec), isRunning, actuated })).toBe(expected);
  });
});
