import { describe, expect, it } from 'vitest';
import {
  configMirrorAnnotation,
  configSourceAnnotation,
  type Pod,
  type PodStatus,
} from '../../kube/index.js';
import {
  dueMs,
  isUrgent,
  type LastWrites,
  needOfChange,
  needOfFullPass,
  type SyncInput,
  statusPatch,
  type UnhurriedTimes,
  type WrittenStatus,
  wentBack,
  writeRank,
} from './api-sync-decisions.js';
import type { VersionedStatus } from './manager.js';
import { makePod, statusOf } from './pod-fixtures.js';

const running: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const pending: PodStatus = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] };
const entry = (more: Partial<VersionedStatus> = {}): VersionedStatus => ({
  uid: 'uid-1',
  name: 'web',
  namespace: 'default',
  version: 2,
  firstChangeMs: 0,
  isFinished: false,
  status: running,
  ...more,
});
const written = (more: Partial<WrittenStatus> = {}): WrittenStatus => ({
  apiUid: 'uid-1',
  version: 2,
  status: running,
  resourceVersion: '10',
  isHeldBack: false,
  ...more,
});
const shown = (status: PodStatus, metadata: Partial<Pod['metadata']> = {}): Pod =>
  makePod({ status, metadata });
const staticPod = makePod({ metadata: { annotations: { [configSourceAnnotation]: 'file' } } });
const mirror = (uid: string): Pod =>
  makePod({ metadata: { uid, annotations: { [configMirrorAnnotation]: 'h' } }, status: running });

describe('what is written', () => {
  const rows: readonly [rule: string, input: Partial<SyncInput>, onChange: string, onFullPass: string][] = [
    ['never written', { written: undefined }, 'write', 'read+write'],
    ['newer than written', { written: written({ version: 1 }) }, 'write', 'read+write'],
    ['as written', {}, 'none', 'none'],
    ['a static pod without mirror', { pod: staticPod, written: undefined }, 'none', 'none'],
    [
      'a static pod whose mirror is new',
      { pod: staticPod, mirror: mirror('m-2'), written: written({ apiUid: 'm-1' }) },
      'write',
      'read+write',
    ],
    [
      'a static pod whose mirror has it',
      { pod: staticPod, mirror: mirror('m-1'), written: written({ apiUid: 'm-1' }) },
      'none',
      'none',
    ],
    [
      'a pod that is no longer desired, newer',
      { pod: undefined, written: written({ version: 1 }) },
      'write',
      'read+write',
    ],
    ['a pod that is no longer desired, written', { pod: undefined }, 'none', 'none'],
    ['the API shows something else', { pod: shown(pending) }, 'none', 'read+write'],
    [
      'the API shows what it made of our write',
      { pod: shown(pending), written: written({ status: pending }) },
      'none',
      'none',
    ],
    [
      'the API shows what was withheld',
      { pod: shown(pending), written: written({ status: pending, isHeldBack: true }) },
      'none',
      'read+write',
    ],
    [
      'a finished pod whose deletion was requested',
      {
        entry: entry({ isFinished: true, status: { phase: 'Failed' } }),
        pod: shown({ phase: 'Failed' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
        written: written({ status: { phase: 'Failed' } }),
      },
      'none',
      'read+write',
    ],
  ];
  const told = (need: ReturnType<typeof needOfChange>): string =>
    need.kind === 'none' ? 'none' : need.isReadFirst ? 'read+write' : 'write';
  it.each(rows)('%s', (_, more, onChange, onFullPass) => {
    const input: SyncInput = {
      entry: entry(),
      pod: shown(running),
      mirror: undefined,
      written: written(),
      ...more,
    };
    expect([told(needOfChange(input)), told(needOfFullPass(input))]).toEqual([onChange, onFullPass]);
  });
});

describe('which is written first', () => {
  it.each<[rule: string, entry: VersionedStatus, written: WrittenStatus | undefined, rank: number]>([
    ['finished', entry({ isFinished: true }), written(), 0],
    ['ended', entry({ status: { phase: 'Succeeded' } }), written(), 0],
    ['ready now', entry(), written({ status: pending }), 0],
    ['no longer ready', entry({ status: pending }), written(), 0],
    ['ready as before', entry(), written(), 1],
    ['first status of a pod', entry({ status: pending }), undefined, 2],
  ])('%s', (_, status, before, rank) => {
    expect(writeRank(status, before)).toBe(rank);
  });
});

describe('which statuses are urgent', () => {
  const deleted = makePod({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: running });
  it.each<[rule: string, input: Partial<SyncInput>, couldRun: boolean, expected: boolean]>([
    ['the first status of a pod', { entry: entry({ status: pending }), written: undefined }, true, false],
    ['ready now', { written: written({ status: pending }) }, true, true],
    ['ready in its first status', { written: undefined }, true, true],
    ['no longer ready', { entry: entry({ status: pending }) }, true, true],
    ['ready as before', {}, true, false],
    ['ready as the API shows it after a restart', { pod: shown(running), written: undefined }, true, false],
    ['ended', { entry: entry({ status: { phase: 'Failed' } }) }, false, true],
    [
      'ended but shown as such later',
      { entry: entry({ status: { ...running, phase: 'Failed' } }) },
      true,
      false,
    ],
    ['to be deleted and no longer ready', { pod: deleted, entry: entry({ status: pending }) }, true, false],
    [
      'to be deleted and ended',
      { pod: deleted, entry: entry({ status: { phase: 'Failed' } }) },
      false,
      false,
    ],
    ['to be deleted and finished', { pod: deleted, entry: entry({ isFinished: true }) }, false, true],
  ])('%s', (_, input, couldRun, expected) => {
    const whole: SyncInput = {
      entry: entry(),
      pod: makePod(),
      mirror: undefined,
      written: written(),
      ...input,
    };
    expect(isUrgent(whole, couldRun)).toBe(expected);
  });
});

describe('when unhurried statuses are written', () => {
  const never = Number.NEGATIVE_INFINITY;
  it.each<[rule: string, times: Partial<UnhurriedTimes>, last: Partial<LastWrites>, expected: number]>([
    ['alone: half a second after its last change', {}, {}, 1500],
    ['changed again: half a second after that', { changedMs: 1400 }, {}, 1900],
    ['on the way to its deletion: two seconds', { isEnding: true }, {}, 3000],
    ['among others: a tenth of a second after the last of them', {}, { unhurriedMs: 1450 }, 1550],
    ['a second after the last urgent one', {}, { urgentMs: 1450, unhurriedMs: 1470 }, 2450],
    ['among ever more urgent ones: a second after the last', {}, { urgentMs: 2400, unhurriedMs: 1470 }, 2470],
    ['among very many: after ten seconds', {}, { unhurriedMs: 10_950 }, 11_000],
    ['changing all the time: after ten seconds', { changedMs: 10_900 }, {}, 11_000],
    ['the same on the way to its deletion: fifteen', { changedMs: 15_900, isEnding: true }, {}, 16_000],
  ])('%s', (_, times, last, expected) => {
    const lastWrites = { urgentMs: never, unhurriedMs: never, ...last };
    expect(dueMs({ sinceMs: 1000, changedMs: 1000, isEnding: false, ...times }, lastWrites)).toBe(expected);
  });
});

describe('wentBack', () => {
  it.each<
    [rule: string, metadata: Partial<Pod['metadata']>, before: WrittenStatus | undefined, expected: boolean]
  >([
    ['an older version', { resourceVersion: '9' }, written(), true],
    ['the same version', { resourceVersion: '10' }, written(), false],
    ['a newer version, as a number', { resourceVersion: '100' }, written({ resourceVersion: '99' }), false],
    ['another object', { uid: 'other', resourceVersion: '9' }, written(), false],
    ['never written', { resourceVersion: '9' }, undefined, false],
    ['a version that is no number', { resourceVersion: 'x' }, written(), false],
  ])('%s', (_, metadata, before, expected) => {
    expect(wentBack(makePod({ metadata }), before)).toBe(expected);
  });
});

describe('statusPatch', () => {
  const patch = (api: PodStatus, merged: PodStatus) => statusPatch(shown(api), merged);
  it('is undefined when the API has it', () => {
    expect(patch(running, structuredClone(running))).toBeUndefined();
  });
  it('is undefined for differences in emptiness', () => {
    const api = { ...running, containerStatuses: [{ ...statusOf('a', 'running'), lastState: {} }] };
    const { lastState: _, ...bare } = statusOf('a', 'running');
    expect(patch(api, { ...running, containerStatuses: [bare], message: undefined })).toBeUndefined();
  });
  it('an empty mapping goes with other changes, once, and never alone', () => {
    const merged = { ...running, resources: {} };
    expect(patch(running, merged)).toBeUndefined();
    expect(patch(pending, merged)?.status).toMatchObject({ phase: 'Running', resources: {} });
    expect(patch({ ...pending, resources: {} }, merged)?.status).not.toHaveProperty('resources');
  });
  it('carries the UID, merges conditions by type and replaces lists of containers', () => {
    const api: PodStatus = {
      ...pending,
      conditions: [{ type: 'x/y', status: 'True' }, ...(pending.conditions ?? [])],
      containerStatuses: [statusOf('a', 'waiting')],
    };
    const merged: PodStatus = {
      phase: 'Running',
      conditions: [{ type: 'x/y', status: 'True' }, ...(running.conditions ?? [])],
      containerStatuses: [statusOf('a', 'running')],
    };
    expect(patch(api, merged)).toEqual({
      metadata: { uid: 'uid-1' },
      status: {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True' }],
        '$setElementOrder/conditions': [{ type: 'x/y' }, { type: 'Ready' }],
        containerStatuses: [statusOf('a', 'running')],
      },
    });
  });
  it('removes fields that were not generated', () => {
    expect(patch({ ...running, nominatedNodeName: 'n' } as PodStatus, running)?.status).toEqual({
      nominatedNodeName: null,
    });
  });
  it('merges addresses by IP and removes conditions by type', () => {
    const api: PodStatus = {
      podIPs: [{ ip: '10.0.0.1' }],
      conditions: [
        { type: 'A', status: 'True' },
        { type: 'B', status: 'True' },
      ],
    };
    const merged: PodStatus = {
      podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
      conditions: [{ type: 'B', status: 'True' }],
    };
    expect(patch(api, merged)?.status).toEqual({
      podIPs: [{ ip: 'fd00::1' }],
      '$setElementOrder/podIPs': [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
      conditions: [{ $patch: 'delete', type: 'A' }],
      '$setElementOrder/conditions': [{ type: 'B' }],
    });
  });
});
