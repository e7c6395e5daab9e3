import { describe, expect, it } from 'vitest';
import type { PersistentVolumeClaim, PersistentVolumeClaimStatus } from '../../kube/index.js';
import type { ExpandOutcome } from '../contracts.js';
import {
  type ClaimUpkeep,
  decideExpansion,
  type ExpansionDecision,
  expansionResult,
  inProgressStatus,
  storageBytes,
} from './expansion-decision.js';

const gi = 1024n ** 3n;
const now = '2026-01-01T00:00:00Z';

function claimOf(
  status: PersistentVolumeClaimStatus,
  { modes = ['ReadWriteOnce'], annotations = {}, request = '2Gi' } = {},
): PersistentVolumeClaim {
  return {
    metadata: { name: 'c', namespace: 'ns', uid: 'u', annotations },
    spec: { accessModes: modes, resources: { requests: { storage: request } } },
    status,
  };
}

const volume = { spec: { capacity: { storage: '2Gi' } } };
const allocated = (state: string | undefined, capacity = '1Gi'): PersistentVolumeClaimStatus => ({
  capacity: { storage: capacity },
  allocatedResources: { storage: '2Gi' },
  ...(state === undefined ? {} : { allocatedResourceStatuses: { storage: state } }),
});

function text(decision: ExpansionDecision): string {
  switch (decision.kind) {
    case 'expand':
      return `expand to ${decision.targetText}, claim kept ${decision.upkeep}`;
    case 'done':
      return `done at ${decision.sizeBytes / gi}Gi`;
    case 'later':
      return 'later';
  }
}

const shared = { modes: ['ReadWriteMany'] };
const excused = {
  ...shared,
  annotations: { 'volume.kubernetes.io/node-expansion-not-required': 'true' },
};

describe('which way a volume is expanded', () => {
  it.each<[string, PersistentVolumeClaim, string]>([
    [
      'no size is allocated: to the size of the PersistentVolume',
      claimOf({ capacity: { storage: '1Gi' } }),
      'expand to 2Gi, claim kept plain',
    ],
    ['no status at all', { metadata: {}, spec: {} }, 'expand to 2Gi, claim kept plain'],
    [
      'pending: to the allocated size',
      claimOf(allocated('NodeResizePending')),
      'expand to 2Gi, claim kept recovery',
    ],
    [
      'in progress: begun by an earlier run or attempt',
      claimOf(allocated('NodeResizeInProgress')),
      'expand to 2Gi, claim kept recovery',
    ],
    [
      'pending, and the claim is shared',
      claimOf(allocated('NodeResizePending', '2Gi'), shared),
      'expand to 2Gi, claim kept recovery',
    ],
    ['the controller is at it', claimOf(allocated('ControllerResizeInProgress')), 'later'],
    ['the controller gave up', claimOf(allocated('ControllerResizeInfeasible')), 'later'],
    ['a node gave up', claimOf(allocated('NodeResizeInfeasible')), 'later'],
    ['a state that is not known', claimOf(allocated('Surprise')), 'later'],
    ['no state, and the claim is behind', claimOf(allocated(undefined)), 'later'],
    ['no state, and the claim has its size', claimOf(allocated(undefined, '2Gi')), 'done at 2Gi'],
    [
      'the same of a shared claim: another node was first',
      claimOf(allocated(undefined, '2Gi'), shared),
      'expand to 2Gi, claim kept none',
    ],
    ['the same where one node is enough', claimOf(allocated(undefined, '2Gi'), excused), 'done at 2Gi'],
    [
      'only a state, without a size',
      claimOf({
        capacity: { storage: '1Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
      }),
      'later',
    ],
  ])('%s', (_, claim, expected) => {
    expect(text(decideExpansion(claim, volume))).toBe(expected);
  });
});

describe('the sizes that a claim has', () => {
  it.each<[string, Record<string, string> | undefined, bigint]>([
    ['none', undefined, 0n],
    ['binary', { storage: '1Gi' }, gi],
    ['decimal, cut', { storage: '1500m' }, 2n],
    ['no size', { storage: 'plenty' }, 0n],
  ])('%s', (_, amounts, bytes) => expect(storageBytes(amounts)).toBe(bytes));
});

describe('what a claim says after an expansion', () => {
  const finished: PersistentVolumeClaimStatus = {
    capacity: { storage: '2Gi' },
    allocatedResources: { storage: '2Gi' },
    conditions: [],
  };
  const failed = (cause: Extract<ExpandOutcome, { kind: 'failed' }>['cause']): ExpandOutcome => ({
    kind: 'failed',
    cause,
    message: 'no',
  });
  const told = {
    type: 'NodeResizeError',
    status: 'True',
    lastTransitionTime: now,
    message: 'failed to expand pvc with no',
  };
  const inProgress = inProgressStatus(claimOf(allocated('NodeResizePending')));
  const withError = { ...inProgress, conditions: [told] };
  const given = {
    ...withError,
    allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
  };

  interface Case {
    readonly upkeep?: ClaimUpkeep;
    readonly outcome: ExpandOutcome;
    readonly status?: PersistentVolumeClaimStatus;
    readonly request?: string;
    readonly wasRefused?: boolean;
  }
  it.each<[string, Case, string, PersistentVolumeClaimStatus | undefined]>([
    ['expanded', { outcome: { kind: 'expanded' } }, 'done', finished],
    [
      'expanded: the state goes, other states stay',
      {
        outcome: { kind: 'expanded' },
        status: { ...inProgress, allocatedResourceStatuses: { storage: 'NodeResizeInProgress', other: 'x' } },
      },
      'done',
      { ...finished, allocatedResourceStatuses: { other: 'x' } },
    ],
    [
      'expanded: conditions of resizes go, others stay',
      {
        outcome: { kind: 'expanded' },
        status: {
          ...inProgress,
          conditions: [
            'Resizing',
            'FileSystemResizePending',
            'ControllerResizeError',
            'NodeResizeError',
            'Unused',
          ].map((type) => ({ type, status: 'True' })),
        },
      },
      'done',
      { ...finished, conditions: [{ type: 'Unused', status: 'True' }] },
    ],
    [
      'plain: the capacity follows the PersistentVolume',
      {
        upkeep: 'plain',
        outcome: { kind: 'expanded' },
        status: {
          capacity: { storage: '1Gi' },
          conditions: [{ type: 'FileSystemResizePending', status: 'True' }],
        },
      },
      'done',
      { capacity: { storage: '2Gi' }, conditions: [] },
    ],
    [
      'plain: a claim that has the size stays as it is',
      { upkeep: 'plain', outcome: { kind: 'expanded' }, status: { capacity: { storage: '2Gi' } } },
      'done',
      undefined,
    ],
    [
      'none: another node has written it',
      { upkeep: 'none', outcome: { kind: 'expanded' } },
      'done',
      undefined,
    ],
    [
      'plain, not supported',
      { upkeep: 'plain', outcome: { kind: 'unsupported', message: 'no' } },
      'done',
      undefined,
    ],
    [
      'none, not supported',
      { upkeep: 'none', outcome: { kind: 'unsupported', message: 'no' } },
      'done',
      undefined,
    ],
    ['not supported', { outcome: { kind: 'unsupported', message: 'no' } }, 'failed', withError],
    ['infeasible', { outcome: failed('infeasible') }, 'failed', given],
    ['refused', { outcome: failed('refused') }, 'failed', withError],
    ['refused again', { outcome: failed('refused'), wasRefused: true }, 'failed', withError],
    [
      'refused again, and the user asks for another size',
      { outcome: failed('refused'), wasRefused: true, request: '1Gi' },
      'failed',
      given,
    ],
    [
      'refused for the first time, and the user asks for another size',
      { outcome: failed('refused'), request: '1Gi' },
      'failed',
      withError,
    ],
    [
      'hindered again, and the user asks for another size: the driver did not fail',
      { outcome: failed('hindered'), wasRefused: true, request: '1Gi' },
      'failed',
      withError,
    ],
    ['in use', { outcome: failed('in-use') }, 'in-use', withError],
    ['plain, in use', { upkeep: 'plain', outcome: failed('in-use') }, 'in-use', undefined],
    ['unregistered', { outcome: failed('unregistered') }, 'failed', undefined],
    ['plain, infeasible', { upkeep: 'plain', outcome: failed('infeasible') }, 'failed', undefined],
    ['none, refused', { upkeep: 'none', outcome: failed('refused') }, 'failed', undefined],
    [
      'a condition that is there keeps its text',
      {
        outcome: failed('refused'),
        status: { ...inProgress, conditions: [{ ...told, message: 'the first failure' }] },
      },
      'failed',
      { ...inProgress, conditions: [{ ...told, message: 'the first failure' }] },
    ],
    [
      'a condition that is over is told anew',
      { outcome: failed('refused'), status: { ...inProgress, conditions: [{ ...told, status: 'False' }] } },
      'failed',
      withError,
    ],
  ])(
    '%s',
    (_, { upkeep = 'recovery', outcome, status = inProgress, request, wasRefused = false }, kind, after) => {
      const result = expansionResult({
        claim: claimOf(status, request === undefined ? {} : { request }),
        decision: { kind: 'expand', targetBytes: 2n * gi, targetText: '2Gi', upkeep, because: '' },
        outcome,
        wasRefused,
        now,
      });
      expect(result.kind).toBe(kind);
      expect(result.status).toEqual(after);
    },
  );
});
