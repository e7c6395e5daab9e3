/** What the cluster is told of the health of volumes and of storage. */
import { describe, expect, it } from 'vitest';
import type { PodVolumeHealth, VolumeHealthCondition } from '../../kube/index.js';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  StorageHealth_ErrorType as StorageStatus,
  type VolumeHealthStatus,
  VolumeHealthStatus_HealthType as VolumeStatus,
} from './gen/csi.js';
import {
  type DriverStorageHealth,
  type StorageHealthCondition,
  storageConditions,
  volumeConditions,
  withStorageHealth,
  withVolumeHealth,
} from './health-decision.js';

const said = <T extends number>(status: T, reason = 'Disk', message = 'text') => ({
  status,
  reason,
  message,
});
const volume = (...healthStatuses: VolumeHealthStatus[]) => ({
  volumeHealth: { volumeId: 'v', healthStatuses },
});

describe('what a driver says of a volume', () => {
  it.each<[string, VolumeStatus, string | undefined]>([
    ['degraded', VolumeStatus.DEGRADED, 'Degraded'],
    ['inaccessible', VolumeStatus.INACCESSIBLE, 'Inaccessible'],
    ['lost', VolumeStatus.DATA_LOSS, 'DataLoss'],
    ['unknown', VolumeStatus.UNKNOWN_VOLUME_HEALTH_TYPE, undefined],
    // A later driver may send a number that no name stands for.
    ['a number of later drivers', 99 as VolumeStatus, undefined],
  ])('%s', (_, number, status) =>
    expect(volumeConditions(volume(said(number))).map((condition) => condition.status)).toEqual(
      status === undefined ? [] : [status],
    ),
  );

  it('nothing, where it says nothing', () => expect(volumeConditions({})).toEqual([]));

  it('no more than there is room for', () => {
    const much = Array.from({ length: 100 }, () =>
      said(VolumeStatus.DEGRADED, 'r'.repeat(9999), 'm'.repeat(99_999)),
    );
    const conditions = volumeConditions(volume(...much));
    expect(conditions).toHaveLength(16);
    expect(conditions[0]).toMatchObject({ reason: 'r'.repeat(256), message: 'm'.repeat(1024) });
  });
});

describe('the health of the volumes of a pod', () => {
  const bad: VolumeHealthCondition = { status: 'Degraded', reason: 'Disk', message: 'slow' };
  const lost: VolumeHealthCondition = { status: 'DataLoss', reason: 'Disk', message: 'gone' };
  const entry = (name: string, ...healthConditions: VolumeHealthCondition[]): PodVolumeHealth => ({
    name,
    healthConditions,
    lastTransitionTime: 'then',
  });
  const now = (name: string, ...healthConditions: VolumeHealthCondition[]): PodVolumeHealth => ({
    ...entry(name, ...healthConditions),
    lastTransitionTime: 'now',
  });
  const rows: [
    rule: string,
    before: PodVolumeHealth[],
    seen: Record<string, VolumeHealthCondition[]>,
    after: PodVolumeHealth[] | undefined,
  ][] = [
    ['a healthy volume has no entry', [], { a: [] }, undefined],
    ['a condition that appears', [], { a: [bad] }, [now('a', bad)]],
    ['a condition that stays', [entry('a', bad)], { a: [bad] }, undefined],
    ['another message is no news', [entry('a', bad)], { a: [{ ...bad, message: 'slower' }] }, undefined],
    [
      'another reason is',
      [entry('a', bad)],
      { a: [{ ...bad, reason: 'Net' }] },
      [now('a', { ...bad, reason: 'Net' })],
    ],
    ['another order is no news', [entry('a', bad, lost)], { a: [lost, bad] }, undefined],
    ['a volume that is well again keeps its entry', [entry('a', bad)], { a: [] }, [now('a')]],
    [
      'other volumes keep theirs',
      [entry('a', bad), entry('b', lost)],
      { b: [] },
      [entry('a', bad), now('b')],
    ],
    ['a volume of which nothing is known stays', [entry('a', bad)], {}, undefined],
  ];
  it.each(rows)('%s', (_, before, seen, after) =>
    expect(withVolumeHealth(before, new Map(Object.entries(seen)), 'now')).toEqual(after),
  );
});

describe('what a driver says of its storage', () => {
  const capability = (mode: Mode, kind: 'mount' | 'block' = 'mount') => ({
    accessType:
      kind === 'block'
        ? ({ case: 'block', value: {} } as const)
        : ({ case: 'mount', value: { fsType: '', mountFlags: [], volumeMountGroup: '' } } as const),
    accessMode: { mode },
  });
  const backend = (...backendHealth: object[]) =>
    storageConditions({
      backendHealth: backendHealth.map((more) => ({
        ...said<StorageStatus>(StorageStatus.STORAGE_DEGRADED),
        ...more,
      })),
    });

  it('is told with the volumes that it is about', () =>
    expect(
      backend(
        {},
        {
          status: StorageStatus.STORAGE_UNREACHABLE,
          volumeCapability: capability(Mode.MULTI_NODE_MULTI_WRITER, 'block'),
        },
        { status: StorageStatus.UNKNOWN_STORAGE_HEALTH_ERROR_TYPE },
      ),
    ).toEqual([
      { status: 'StorageDegraded', reason: 'Disk', message: 'text' },
      {
        status: 'StorageUnreachable',
        reason: 'Disk',
        message: 'text',
        accessMode: 'ReadWriteMany',
        volumeMode: 'Block',
      },
    ]));

  it.each<[string, object[], string]>([
    ['too much', Array(17).fill({}), 'NodeGetStorageHealth returned 17 conditions, maximum is 16'],
    [
      'no access type',
      [{}, { volumeCapability: { accessMode: { mode: Mode.SINGLE_NODE_WRITER } } }],
      'NodeGetStorageHealth condition 1 has invalid volume capability: it has no access type',
    ],
    [
      'no access mode',
      [{ volumeCapability: capability(Mode.UNKNOWN) }],
      'NodeGetStorageHealth condition 0 has invalid volume capability: its access mode is not known',
    ],
  ])('%s is refused', (_, given, text) => expect(() => backend(...given)).toThrow(text));
});

describe('the storage of the node', () => {
  const bad: StorageHealthCondition = { status: 'StorageDegraded', reason: 'Net', message: 'slow' };
  const of = (name: string, ...healthConditions: StorageHealthCondition[]): DriverStorageHealth => ({
    name,
    healthConditions,
  });
  const rows: [string, DriverStorageHealth[], StorageHealthCondition[], DriverStorageHealth[] | undefined][] =
    [
      ['healthy', [of('b', bad)], [], undefined],
      ['a condition', [of('b', bad)], [bad], [of('b', bad), of('a', bad)]],
      ['another message', [of('a', bad)], [{ ...bad, message: 'slower' }], undefined],
      [
        'another kind of volumes',
        [of('a', bad)],
        [{ ...bad, volumeMode: 'Block' }],
        [of('a', { ...bad, volumeMode: 'Block' })],
      ],
      ['healthy again', [of('a', bad), of('b', bad)], [], [of('b', bad)]],
    ];
  it.each(rows)('%s', (_, before, conditions, after) =>
    expect(withStorageHealth(before, 'a', conditions)).toEqual(after),
  );
});
