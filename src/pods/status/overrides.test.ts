import { describe, expect, it } from 'vitest';
import type { PodPhase, PodStatus } from '../../kube/index.js';
import { applyKiller, isPastActiveDeadline, overridePhase, rejectedStatus } from './overrides.js';
import { fixtureNowMs, makePod } from './pod-fixtures.js';

const evicted: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' };
const nothing = { reason: '', message: '' };
const rows: Record<string, [PodPhase, PodStatus, PodStatus, boolean, object]> = {
  'the computed phase stands alone': ['Running', {}, {}, false, { phase: 'Running', ...nothing }],
  'an ended pod does not come back': ['Running', evicted, {}, false, evicted],
  'what the API shows as ended stays so': [
    'Running',
    {},
    { phase: 'Succeeded' },
    false,
    { phase: 'Succeeded' },
  ],
  'reason and message stay with the phase': [
    'Running',
    { phase: 'Running', reason: 'r', message: 'm' },
    {},
    false,
    { phase: 'Running', reason: 'r', message: 'm' },
  ],
  'and are taken from the API where empty': [
    'Running',
    { phase: 'Running' },
    { phase: 'Running', reason: 'r', message: 'm' },
    false,
    { reason: 'r', message: 'm' },
  ],
  'a new phase drops them': [
    'Running',
    { phase: 'Pending', reason: 'r', message: 'm' },
    {},
    false,
    { phase: 'Running', ...nothing },
  ],
  'success after an eviction drops its reason': [
    'Succeeded',
    evicted,
    { phase: 'Running' },
    false,
    { phase: 'Succeeded', ...nothing },
  ],
  'the deadline fails the pod': [
    'Running',
    { phase: 'Running' },
    {},
    true,
    {
      phase: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    },
  ],
  'but not one that the API shows as succeeded': [
    'Running',
    {},
    { phase: 'Succeeded' },
    true,
    { phase: 'Succeeded' },
  ],
  'a running pod may become Pending': [
    'Pending',
    { phase: 'Running' },
    { phase: 'Running' },
    false,
    { phase: 'Pending' },
  ],
};

describe('overridePhase', () => {
  it.each(Object.entries(rows))('%s', (_, [computed, old, api, isPastDeadline, expected]) => {
    expect(overridePhase({ computed, old, api, isPastDeadline })).toMatchObject(expected);
  });
});

describe('isPastActiveDeadline', () => {
  it.each<[string, number | undefined, string | undefined, boolean]>([
    ['no deadline', undefined, '2026-01-01T00:00:00Z', false],
    ['not started', 600, undefined, false],
    ['just reached', 600, '2026-01-01T00:00:00Z', true],
    ['not reached', 601, '2026-01-01T00:00:00Z', false],
  ])('%s', (_, activeDeadlineSeconds, startTime, expected) => {
    expect(isPastActiveDeadline(makePod({ spec: { activeDeadlineSeconds } }), startTime, fixtureNowMs)).toBe(
      expected,
    );
  });
});

describe('applyKiller', () => {
  const pod = makePod({ metadata: { generation: 2 } });
  const running: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  it('marks an evicted pod', () => {
    expect(applyKiller(pod, running, { by: 'eviction', message: 'low on memory' }, fixtureNowMs)).toEqual({
      ...evicted,
      conditions: [
        { type: 'Ready', status: 'True' },
        {
          type: 'DisruptionTarget',
          status: 'True',
          observedGeneration: 2,
          lastProbeTime: null,
          lastTransitionTime: '2026-01-01T00:10:00Z',
          reason: 'TerminationByKubelet',
          message: 'low on memory',
        },
      ],
    });
  });
  it('marks a preempted pod', () => {
    const status = applyKiller(pod, running, { by: 'preemption' }, fixtureNowMs);
    expect(status).toMatchObject({
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    });
    expect(status.conditions?.at(-1)?.message).toBe(
      'Pod was preempted by Kubelet to accommodate a critical pod.',
    );
  });
  it('fails a pod at shutdown unless it succeeded', () => {
    const message = 'Pod was terminated in response to imminent node shutdown.';
    const at = (phase: PodPhase) => applyKiller(pod, { phase }, { by: 'shutdown' }, fixtureNowMs);
    expect(at('Running')).toMatchObject({ phase: 'Failed', reason: 'Terminated', message });
    expect(at('Succeeded')).toMatchObject({ phase: 'Succeeded', reason: 'Terminated', message });
  });
});

describe('rejectedStatus', () => {
  it('has neither conditions nor containers', () => {
    expect(rejectedStatus(makePod(), 'OutOfcpu', 'Node did not have enough resource')).toEqual({
      qosClass: 'BestEffort',
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: 'Pod was rejected: Node did not have enough resource',
    });
  });
});
