import { describe, expect, it } from 'vitest';
import type { PodStatus } from '../../kube/index.js';
import { statusEqual } from './equal.js';
import { cutToBytes, normalizeStatus } from './normalize.js';
import { makePod, statusOf } from './pod-fixtures.js';

describe('normalizeStatus', () => {
  it('cuts times to seconds', () => {
    const status = normalizeStatus(makePod(), {
      startTime: '2026-01-01T00:00:00.9Z',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T02:00:00.5+02:00' }],
      containerStatuses: [
        {
          ...statusOf('a', 'running'),
          state: { running: { startedAt: '2026-01-01T00:00:01.123456789Z' } },
          lastState: { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:00:00.999Z' } },
        },
      ],
    });
    expect(status).toMatchObject({
      startTime: '2026-01-01T00:00:00Z',
      conditions: [{ lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' }],
      containerStatuses: [
        {
          state: { running: { startedAt: '2026-01-01T00:00:01Z' } },
          lastState: { terminated: { startedAt: null, finishedAt: '2026-01-01T00:00:00Z' } },
        },
      ],
    });
  });
  it('gives each of three containers 4096 bytes for its message', () => {
    const message = 'x'.repeat(5000);
    const ended = { terminated: { exitCode: 1, message } };
    const status = normalizeStatus(makePod({ containers: ['a', 'b'], initContainers: ['i'] }), {
      containerStatuses: [{ ...statusOf('a', 'exit 1'), state: ended, lastState: ended }],
    });
    expect(status.containerStatuses?.[0]?.state?.terminated?.message).toHaveLength(4096);
    expect(status.containerStatuses?.[0]?.lastState?.terminated?.message).toHaveLength(4096);
  });
  it('sorts containers by name and init containers in spec order', () => {
    const list = [statusOf('b', 'waiting'), statusOf('a', 'waiting')];
    const status = normalizeStatus(makePod({ containers: ['b', 'a'], initContainers: ['z', 'y'] }), {
      containerStatuses: list,
      initContainerStatuses: [statusOf('y', 'waiting'), statusOf('z', 'waiting')],
      ephemeralContainerStatuses: list,
    });
    expect(status.containerStatuses?.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(status.ephemeralContainerStatuses?.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(status.initContainerStatuses?.map(({ name }) => name)).toEqual(['z', 'y']);
  });
  it('splits no character', () => {
    expect(cutToBytes('aéé', 4)).toBe('aé');
    expect(cutToBytes('aéé', 5)).toBe('aéé');
    expect(cutToBytes('😀', 3)).toBe('');
    expect(cutToBytes('abc', 0)).toBe('');
  });
});

describe('statusEqual', () => {
  const base: PodStatus = {
    phase: 'Running',
    conditions: [
      { type: 'example.com/x', status: 'True' },
      { type: 'Ready', status: 'True', lastTransitionTime: 'then', observedGeneration: 1 },
      { type: 'DisruptionTarget', status: 'True', reason: 'r' },
    ],
    containerStatuses: [statusOf('a', 'running')],
  };
  const [foreign, ready, disruption] = base.conditions ?? [];
  const rows: Record<string, [PodStatus, boolean]> = {
    'the same': [{ ...base }, true],
    'times and generations of conditions do not count': [
      {
        ...base,
        conditions: [foreign!, { ...ready!, lastTransitionTime: 'now', observedGeneration: 2 }, disruption!],
      },
      true,
    ],
    'the order of conditions does not count': [{ ...base, conditions: [disruption!, ready!] }, true],
    'foreign conditions do not count': [{ ...base, conditions: [ready!, disruption!] }, true],
    'claims do not count': [{ ...base, resourceClaimStatuses: [{ name: 'c' }] }, true],
    'absent and empty are the same': [{ ...base, ephemeralContainerStatuses: [] }, true],
    'another status of a condition': [
      { ...base, conditions: [{ ...ready!, status: 'False' }, disruption!] },
      false,
    ],
    'another message of a condition': [
      { ...base, conditions: [{ ...ready!, message: 'm' }, disruption!] },
      false,
    ],
    'a condition less': [{ ...base, conditions: [ready!] }, false],
    'a condition more': [
      { ...base, conditions: [ready!, disruption!, { type: 'PodScheduled', status: 'True' }] },
      false,
    ],
    'another phase': [{ ...base, phase: 'Failed' }, false],
    'another container state': [{ ...base, containerStatuses: [statusOf('a', 'waiting')] }, false],
  };
  it.each(Object.entries(rows))('%s', (_, [other, expected]) => {
    expect(statusEqual(base, other)).toBe(expected);
    expect(statusEqual(other, base)).toBe(expected);
  });
});
