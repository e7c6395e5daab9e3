import { describe, expect, it } from 'vitest';
import type { Pod, PodCondition, PodStatus } from '../../kube/index.js';
import { canBeDeletedFromApi, mergeForApi } from './api-merge.js';
import { fixtureNowMs, makePod } from './pod-fixtures.js';

const condition = (type: string, status: PodCondition['status'], reason?: string): PodCondition => ({
  type,
  status,
  ...(reason === undefined ? {} : { reason }),
});
const merge = (api: PodStatus, ours: PodStatus, couldHaveRunningContainers = false): PodStatus =>
  mergeForApi({ apiPod: makePod({ status: api }), ours, couldHaveRunningContainers, nowMs: fixtureNowMs });
const types = (status: PodStatus): (string | undefined)[] =>
  (status.conditions ?? []).map(({ type }) => type);

const evicted: PodStatus = {
  phase: 'Failed',
  reason: 'Evicted',
  message: 'low on memory',
  conditions: [condition('DisruptionTarget', 'True', 'TerminationByKubelet')],
};

describe('mergeForApi', () => {
  it('keeps custom conditions and replaces owned ones', () => {
    const merged = merge(
      {
        conditions: [
          condition('example.com/x', 'True'),
          condition('Ready', 'False'),
          condition('Initialized', 'True'),
        ],
      },
      { phase: 'Running', conditions: [condition('example.com/x', 'False'), condition('Ready', 'True')] },
    );
    expect(merged.conditions).toEqual([condition('example.com/x', 'True'), condition('Ready', 'True')]);
  });
  it('takes claim statuses from the API', () => {
    const merged = merge(
      { resourceClaimStatuses: [{ name: 'api' }] },
      { resourceClaimStatuses: [{ name: 'ours' }] },
    );
    expect(merged.resourceClaimStatuses).toEqual([{ name: 'api' }]);
  });
  it('withholds the end of a pod while containers may run', () => {
    const merged = merge({ phase: 'Running', reason: 'r' }, evicted, true);
    expect(merged).toMatchObject({ phase: 'Running', reason: 'r' });
    expect(merged.message).toBeUndefined();
    expect(types(merged)).toEqual([]);
  });
  it('shows the end and the disruption once nothing runs', () => {
    const merged = merge({ phase: 'Running' }, evicted);
    expect(merged).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' });
    expect(merged.conditions).toMatchObject([
      { type: 'DisruptionTarget', lastTransitionTime: '2026-01-01T00:10:00Z' },
    ]);
  });
  it('keeps the API’s disruption condition at any other time', () => {
    const theirs = condition('DisruptionTarget', 'True', 'EvictionByEvictionAPI');
    expect(merge({ phase: 'Failed', conditions: [theirs] }, evicted).conditions).toEqual([theirs]);
    expect(merge({ phase: 'Running', conditions: [theirs] }, evicted, true).conditions).toEqual([theirs]);
  });
  it('makes an ended pod unready', () => {
    const ours: PodStatus = {
      phase: 'Succeeded',
      conditions: [condition('Ready', 'True'), condition('ContainersReady', 'True')],
    };
    expect(merge({}, ours).conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'PodCompleted' },
      { type: 'ContainersReady', status: 'False', reason: 'PodCompleted' },
    ]);
  });
});

describe('canBeDeletedFromApi', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const mirror = { 'kubernetes.io/config.mirror': 'hash' };
  const ended: Pod = makePod({ metadata: { deletionTimestamp }, status: { phase: 'Failed' } });
  it.each<[string, Pod, boolean, boolean]>([
    ['deleted, ended and finished', ended, true, true],
    ['not finished yet', ended, false, false],
    ['not asked to go', makePod({ status: { phase: 'Failed' } }), true, false],
    [
      'not shown as ended',
      makePod({ metadata: { deletionTimestamp }, status: { phase: 'Running' } }),
      true,
      false,
    ],
    [
      'mirror pods never',
      {
        ...ended,
        metadata: { uid: 'u', name: 'p', namespace: 'default', deletionTimestamp, annotations: mirror },
      },
      true,
      false,
    ],
  ])('%s', (_, pod, isFinished, expected) => {
    expect(canBeDeletedFromApi(pod, isFinished)).toBe(expected);
  });
});
