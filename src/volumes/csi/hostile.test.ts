/** What drivers and objects of the cluster say is bounded, and refused with a text that names the field. */
import { describe, expect, it } from 'vitest';
import type { PersistentVolumeSpec } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { NodeGetInfoResponse, NodeGetVolumeStatsResponse, VolumeUsage_Unit } from './gen/csi.js';
import { judgeNodeInfo } from './node-info.js';
import { figuresOf } from './stats.js';
import { volumeProblem } from './volume-problem.js';

describe('what a driver says of the node', () => {
  const judge = (
    nodeId: string,
    segments: Record<string, string> = {},
    maxVolumesPerNode = 0,
  ): ReturnType<typeof judgeNodeInfo> =>
    judgeNodeInfo(
      NodeGetInfoResponse.create({ nodeId, maxVolumesPerNode, accessibleTopology: { segments } }),
    );
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, 'v']));

  it.each<[string, () => unknown, string]>([
    ['no id', () => judge(''), 'driverNodeID must not be empty'],
    ['a long id', () => judge('x'.repeat(257)), 'node_id is longer than 256 bytes'],
    ['a huge id', () => judge('x'.repeat(10_000_000)), 'node_id is longer than 256 bytes'],
    ['an id with NUL', () => judge('a\0b'), 'node_id "a\\x00b" has control characters'],
    ['an id of two lines', () => judge('a\nb'), 'node_id "a\\nb" has control characters'],
    ['thousands of segments', () => judge('id', many), 'accessible_topology is larger than 4096 bytes'],
    [
      'a huge value',
      () => judge('id', { zone: 'z'.repeat(5000) }),
      'accessible_topology is larger than 4096 bytes',
    ],
    ['a long value', () => judge('id', { zone: 'z'.repeat(64) }), 'accessible_topology: the value "zzz'],
    [
      'a value with blanks',
      () => judge('id', { zone: 'a b' }),
      'accessible_topology: the value "a b" of zone',
    ],
    [
      'an empty key',
      () => judge('id', { '': 'a' }),
      'accessible_topology: the key "" cannot be that of a label',
    ],
    ['a key with a path', () => judge('id', { 'a/b/c': 'x' }), 'accessible_topology: the key "a/b/c"'],
    ['a key with NUL', () => judge('id', { 'a\0': 'x' }), 'accessible_topology: the key "a\\x00"'],
    [
      'a key of the prototype',
      () => judge('id', JSON.parse('{"__proto__":"x"}')),
      'accessible_topology: the key',
    ],
  ])('is refused with %s', (_, judging, text) => {
    expect(judging).toThrow(text);
  });

  it.each([
    [-1, undefined],
    [0, undefined],
    [Number.MIN_SAFE_INTEGER, undefined],
    [-(2 ** 63), undefined],
    [5, 5],
    [2 ** 40, 2_147_483_647],
    [2 ** 63, 2_147_483_647],
  ])('a limit of %d volumes counts as %s', (count, expected) => {
    expect(judge('id', {}, count).maxVolumes).toBe(expected);
  });
});

describe('figures of a volume', () => {
  it.each([-1, -(2 ** 63)])('%d counts as zero', (value) => {
    const usage = [{ unit: VolumeUsage_Unit.BYTES, total: value, available: value, used: value }];
    const figures = figuresOf(NodeGetVolumeStatsResponse.create({ usage }));
    expect(figures).toMatchObject({ capacityBytes: 0, availableBytes: 0, usedBytes: 0, inodes: 0 });
  });

  it('thousands of them are looked at once, and the first counts', () => {
    const usage = Array.from({ length: 100_000 }, (_, at) => ({
      unit: VolumeUsage_Unit.BYTES,
      total: at + 1,
    }));
    expect(figuresOf(NodeGetVolumeStatsResponse.create({ usage })).capacityBytes).toBe(1);
  });
});

describe('a PersistentVolume', () => {
  const spec = ({
    csi,
    name = 'pv',
    ...more
  }: Partial<Omit<PersistentVolumeSpec, 'csi'>> & { csi?: object; name?: string }): VolumeSpec => ({
    kind: 'persistent',
    volume: { name: 'data' },
    persistentVolume: {
      metadata: { name },
      spec: { ...more, csi: { driver: 'd.example.com', volumeHandle: 'h', ...csi } },
    },
    readOnly: false,
  });

  it.each<[string, VolumeSpec, string]>([
    [
      'a path for a driver',
      spec({ csi: { driver: '../..' } }),
      'csi.driver "../.." is no name of a CSI driver',
    ],
    ['a huge name of a driver', spec({ csi: { driver: 'x'.repeat(100_000) } }), 'csi.driver "xxx'],
    ['no handle', spec({ csi: { volumeHandle: '' } }), 'csi.volumeHandle is empty'],
    [
      'a huge handle',
      spec({ csi: { volumeHandle: 'x'.repeat(10_000) } }),
      'csi.volumeHandle is longer than 4096 bytes',
    ],
    [
      'NUL in its handle',
      spec({ csi: { volumeHandle: 'a\0b' } }),
      'csi.volumeHandle "a\\x00b" has control characters',
    ],
    [
      'an option for a type',
      spec({ csi: { fsType: '-o rw' } }),
      'csi.fsType "-o rw" is no name of a file system',
    ],
    [
      'a path for a type',
      spec({ csi: { fsType: '../ext4' } }),
      'csi.fsType "../ext4" is no name of a file system',
    ],
    ['a huge type', spec({ csi: { fsType: 'x'.repeat(129) } }), 'csi.fsType is longer than 128 characters'],
    [
      'huge options',
      spec({ mountOptions: ['x'.repeat(5000)] }),
      'spec.mountOptions has more than 4096 bytes',
    ],
    [
      'huge attributes',
      spec({ csi: { volumeAttributes: { a: 'x'.repeat(300_000) } } }),
      'csi.volumeAttributes has more than 262144 bytes',
    ],
    ['the name of a parent', spec({ name: '..' }), 'metadata.name ".." cannot be the name of a directory'],
  ])('with %s is refused', (_, given, text) => {
    const problem = volumeProblem(given) ?? '';
    expect(problem).toContain(text);
    expect(problem.length).toBeLessThan(300);
  });

  it.each<[string, VolumeSpec]>([
    ['slashes in its handle', spec({ csi: { volumeHandle: 'projects/p/zones/z/disks/../../etc' } })],
    ['a file system of FUSE', spec({ csi: { fsType: 'fuse.glusterfs' } })],
    ['options', spec({ mountOptions: ['noatime', 'uid=1'] })],
  ])('with %s is not', (_, given) => {
    expect(volumeProblem(given)).toBeUndefined();
  });
});
