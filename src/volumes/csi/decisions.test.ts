/** Holds the decisions on CSI drivers: their versions, and what the Node and the CSINode say of them. */
import { describe, expect, it } from 'vitest';
import type { CsiNode } from '../../kube-client/index.js';
import { NodeGetInfoResponse, NodeGetVolumeStatsResponse } from './gen/csi.js';
import {
  foreignOwner,
  judgeNodeInfo,
  newCsiNode,
  nodeChange,
  nodeRemoval,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
} from './node-info.js';
import { figuresOf } from './stats.js';
import { chooseVersion } from './versions.js';

describe('the version of a driver', () => {
  it.each([
    [['1.0.0'], '1.0.0'],
    [['0.3.0', '1.0.0', '2.1.0'], '1.0.0'],
    [['v1.2', '1.10.1', '1.9'], '1.10.1'],
    [['junk', '1.0.0'], '1.0.0'],
  ])('of %j is %s', (versions, version) => {
    expect(chooseVersion(versions)).toEqual({ kind: 'version', version });
  });

  it.each([
    [[], 'Plugin returned an empty list for supported versions'],
    [
      ['0.3.0'],
      'None of the versions specified ["0.3.0"] are supported. err=highest supported version reported is 0.3.0, must be v1.x',
    ],
    [
      ['2.0.0', '3.1.0'],
      'None of the versions specified ["2.0.0" "3.1.0"] are supported. err=could not find a highest supported version from versions ([2.0.0 3.1.0]) reported: []',
    ],
    [
      ['x'],
      'None of the versions specified ["x"] are supported. err=could not find a highest supported version from versions ([x]) reported: [could not parse "x" as version]',
    ],
  ])('%j is refused', (versions, problem) => {
    expect(chooseVersion(versions)).toEqual({ kind: 'refused', problem });
  });
});

describe('what a driver says of the node', () => {
  const said = (init: Parameters<typeof NodeGetInfoResponse.create>[0]) =>
    judgeNodeInfo(NodeGetInfoResponse.create(init));

  it.each([
    [0, undefined],
    [-1, undefined],
    [5, 5],
    [2 ** 40, 2_147_483_647],
  ])('a maximum of %d volumes is the count %s', (maxVolumesPerNode, maxVolumes) => {
    expect(said({ nodeId: 'n', maxVolumesPerNode })).toEqual({ nodeId: 'n', maxVolumes, topology: {} });
  });

  it.each([
    [{ nodeId: '' }, 'driverNodeID must not be empty'],
    [{ nodeId: 'n'.repeat(257) }, 'node_id is longer than 256 bytes'],
    [
      { nodeId: 'n', accessibleTopology: { segments: { k: 'v'.repeat(5000) } } },
      'accessible_topology is larger than 4096 bytes',
    ],
  ])('is refused: %j', (init, problem) => {
    expect(() => said(init)).toThrow(problem);
  });
});

describe('how full a volume is', () => {
  const said = (usage: readonly object[]) => figuresOf(NodeGetVolumeStatsResponse.create({ usage }));
  const none = { capacityBytes: 0, availableBytes: 0, usedBytes: 0, inodes: 0, inodesFree: 0, inodesUsed: 0 };

  it.each([
    [[{ unit: 1, total: 10, available: 7, used: 3 }], { capacityBytes: 10, availableBytes: 7, usedBytes: 3 }],
    [[{ unit: 2, total: 10, available: 7, used: 3 }], { inodes: 10, inodesFree: 7, inodesUsed: 3 }],
    [[{ unit: 99, total: 10 }], {}],
    [[{ unit: 1, total: -10, used: 1 }], { usedBytes: 1 }],
  ])('%j', (usage, expected) => {
    expect(said(usage)).toEqual({ ...none, ...expected });
  });

  it('must be said', () => {
    expect(() => said([])).toThrow('failed to get usage from response. usage is nil');
  });
});

const nodeid = 'csi.volume.kubernetes.io/nodeid';
const info = { nodeId: 'id', maxVolumes: undefined, topology: { zone: 'z1' } };

describe('the node', () => {
  const node = (annotations = {}, labels = {}) => ({ metadata: { name: 'n', annotations, labels } });

  it.each([
    ['gets id and labels', node(), { annotations: { [nodeid]: '{"d":"id"}' }, labels: { zone: 'z1' } }],
    [
      'keeps the ids of others, sorted',
      node({ [nodeid]: '{"z":"9","a":"1"}' }, { zone: 'z1' }),
      { annotations: { [nodeid]: '{"a":"1","d":"id","z":"9"}' } },
    ],
    ['is left alone if it says so already', node({ [nodeid]: '{"d":"id"}' }, { zone: 'z1' }), undefined],
    [
      'gets a new id of the same driver',
      node({ [nodeid]: '{"d":"old"}' }, { zone: 'z1' }),
      { annotations: { [nodeid]: '{"d":"id"}' } },
    ],
  ])('%s', (_, given, expected) => {
    expect(nodeChange(given, 'd', info)).toEqual(expected);
  });

  it('of another zone refuses the driver', () => {
    expect(() => nodeChange(node({}, { zone: 'z2' }), 'd', info)).toThrow(
      'detected topology value collision: driver reported "zone":"z1" but existing label is "zone":"z2"',
    );
  });

  it.each(['{', '[]', '{"d":1}'])('with the annotation %s refuses the driver', (text) => {
    expect(() => nodeChange(node({ [nodeid]: text }), 'd', info)).toThrow(
      `failed to parse node's "${nodeid}" annotation value`,
    );
  });

  it.each([
    ['loses the annotation with the last driver', '{"d":"id"}', { annotations: { [nodeid]: null } }],
    ['keeps the others', '{"b":"2","d":"id","a":"1"}', { annotations: { [nodeid]: '{"a":"1","b":"2"}' } }],
    ['is left alone if the driver is not there', '{"a":"1"}', undefined],
  ])('%s', (_, text, expected) => {
    expect(nodeRemoval(node({ [nodeid]: text }), 'd')).toEqual(expected);
  });
});

describe('the CSINode', () => {
  const owner = { name: 'n', uid: 'u1' };
  const entry = (name: string, nodeID = 'id', rest = {}) => ({ name, nodeID, topologyKeys: [], ...rest });
  const withDrivers = (...drivers: CsiNode['spec']['drivers']): CsiNode => ({
    ...newCsiNode(owner),
    spec: { drivers },
  });

  it('is new with its owner and the migrated plugins', () => {
    expect(newCsiNode(owner)).toEqual({
      metadata: {
        name: 'n',
        annotations: {
          'storage.alpha.kubernetes.io/migrated-plugins':
            'kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume',
        },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u1' }],
      },
      spec: { drivers: [] },
    });
  });

  it('belongs to an earlier node if its owner has another UID', () => {
    expect(foreignOwner(newCsiNode(owner), owner)).toBeUndefined();
    expect(foreignOwner(newCsiNode({ name: 'n', uid: 'u0' }), owner)).toBe('u0');
    expect(foreignOwner({ metadata: { name: 'n' }, spec: { drivers: [] } }, owner)).toBeUndefined();
  });

  it('has its annotation mended, whatever the order', () => {
    const good = newCsiNode(owner);
    expect(withMigratedPlugins(good)).toBeUndefined();
    const key = 'storage.alpha.kubernetes.io/migrated-plugins';
    const reversed = good.metadata.annotations?.[key]?.split(',').reverse().join(',') ?? '';
    const mend = (text: string) =>
      withMigratedPlugins({
        ...good,
        metadata: { ...good.metadata, annotations: { [key]: text, own: 'x' } },
      });
    expect(mend(reversed)).toBeUndefined();
    expect(mend('kubernetes.io/aws-ebs')?.metadata.annotations).toEqual({
      ...good.metadata.annotations,
      own: 'x',
    });
  });

  it.each([
    [
      'gets an entry at the end',
      [entry('a')],
      info,
      [entry('a'), entry('d', 'id', { topologyKeys: ['zone'] })],
    ],
    [
      'has an entry replaced at the end',
      [entry('d', 'old'), entry('a')],
      { ...info, topology: {}, maxVolumes: 5 },
      [entry('a'), entry('d', 'id', { allocatable: { count: 5 } })],
    ],
    ['is left alone with the same entry', [entry('d', 'id', { topologyKeys: ['zone'] })], info, undefined],
    [
      'is left alone if only the order of keys differs',
      [entry('d', 'id', { topologyKeys: ['b', 'a'] })],
      { ...info, topology: { a: '1', b: '2' } },
      undefined,
    ],
    [
      'loses a limit that is gone',
      [entry('d', 'id', { allocatable: { count: 5 } })],
      { ...info, topology: {} },
      [entry('d')],
    ],
  ])('%s', (_, before, driver, after) => {
    expect(withDriver(withDrivers(...before), 'd', driver)?.spec.drivers).toEqual(after);
  });

  it('loses the entry of a driver that has gone, and stays', () => {
    expect(withoutDriver(withDrivers(entry('d')), 'd')?.spec.drivers).toEqual([]);
    expect(withoutDriver(withDrivers(entry('a')), 'd')).toBeUndefined();
  });
});
