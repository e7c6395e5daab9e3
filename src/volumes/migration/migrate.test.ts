import { describe, expect, it } from 'vitest';
import type { NodeSelectorTerm, PersistentVolume, PersistentVolumeSpec, Volume } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { podWith } from '../manager/test-fixtures.js';
import { migratedPluginNames } from './in-tree-sources.js';
import { migratedSpec } from './migrate.js';

const pod = podWith([]);
const bound = { namespace: 'claims', name: 'c' };

function migratedVolume(
  spec: PersistentVolumeSpec,
  metadata: PersistentVolume['metadata'] = {},
): PersistentVolume {
  const given: VolumeSpec = {
    kind: 'persistent',
    volume: { name: 'v' },
    persistentVolume: { metadata: { name: 'pv', ...metadata }, spec },
    readOnly: false,
  };
  const made = migratedSpec(given, pod);
  if (made.kind !== 'persistent') throw new Error('it is inline');
  expect(made.isMigrated).toBe(true);
  return made.persistentVolume;
}

function migratedInline(source: Omit<Volume, 'name'>): Extract<VolumeSpec, { kind: 'persistent' }> {
  const made = migratedSpec({ kind: 'inline', volume: { name: 'v', ...source } }, pod);
  if (made.kind !== 'persistent') throw new Error('it is inline');
  return made;
}

const account = 'azure-storage-account-acc-secret';
const disk = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d';

describe('a PersistentVolume of a cloud', () => {
  it.each<[string, PersistentVolumeSpec, PersistentVolume['metadata'], object]>([
    [
      'awsElasticBlockStore with a zone',
      { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1', fsType: 'ext4' } },
      {},
      {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        fsType: 'ext4',
        volumeAttributes: { partition: '0' },
      },
    ],
    [
      'awsElasticBlockStore without a zone, with a partition',
      { awsElasticBlockStore: { volumeID: 'aws:///vol-1', partition: 2, readOnly: true } },
      {},
      {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        readOnly: true,
        volumeAttributes: { partition: '2' },
      },
    ],
    [
      'awsElasticBlockStore by its bare id',
      { awsElasticBlockStore: { volumeID: 'vol-1' } },
      {},
      { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1', volumeAttributes: { partition: '0' } },
    ],
    [
      'gcePersistentDisk in a zone',
      { gcePersistentDisk: { pdName: 'pd', partition: 3 } },
      { labels: { 'topology.kubernetes.io/zone': 'europe-west1-b' } },
      {
        driver: 'pd.csi.storage.gke.io',
        volumeHandle: 'projects/UNSPECIFIED/zones/europe-west1-b/disks/pd',
        volumeAttributes: { partition: '3' },
      },
    ],
    [
      'gcePersistentDisk in a zone by the old label',
      { gcePersistentDisk: { pdName: 'pd' } },
      { labels: { 'failure-domain.beta.kubernetes.io/zone': 'z-1-a' } },
      {
        driver: 'pd.csi.storage.gke.io',
        volumeHandle: 'projects/UNSPECIFIED/zones/z-1-a/disks/pd',
        volumeAttributes: { partition: '' },
      },
    ],
    [
      'gcePersistentDisk in two zones of a region',
      { gcePersistentDisk: { pdName: 'pd' } },
      { labels: { 'topology.kubernetes.io/zone': 'europe-west1-b__europe-west1-c' } },
      {
        driver: 'pd.csi.storage.gke.io',
        volumeHandle: 'projects/UNSPECIFIED/regions/europe-west1/disks/pd',
        volumeAttributes: { partition: '' },
      },
    ],
    [
      'azureDisk',
      { azureDisk: { diskName: 'd', diskURI: disk, cachingMode: 'None', fsType: 'xfs', kind: 'Managed' } },
      {},
      {
        driver: 'disk.csi.azure.com',
        volumeHandle: disk,
        fsType: 'xfs',
        volumeAttributes: { kind: 'Managed', cachingmode: 'None', fstype: 'xfs' },
      },
    ],
    [
      'azureFile with the secret of an account, in the namespace of the claim',
      { azureFile: { secretName: account, shareName: 'share' }, claimRef: bound },
      { annotations: { 'kubernetes.io/azure-file-resource-group': 'rg' } },
      {
        driver: 'file.csi.azure.com',
        volumeHandle: 'rg#acc#share#pv#claims',
        volumeAttributes: { sharename: 'share' },
        nodeStageSecretRef: { name: account, namespace: 'claims' },
      },
    ],
    [
      'azureFile with another secret, in its own namespace',
      { azureFile: { secretName: 's', shareName: 'share', secretNamespace: 'own', readOnly: true } },
      {},
      {
        driver: 'file.csi.azure.com',
        volumeHandle: '#s#share#pv#own',
        readOnly: true,
        volumeAttributes: { sharename: 'share' },
        nodeStageSecretRef: { name: 's', namespace: 'own' },
      },
    ],
    [
      'cinder',
      { cinder: { volumeID: 'id-1', fsType: 'ext4' } },
      {},
      { driver: 'cinder.csi.openstack.org', volumeHandle: 'id-1', fsType: 'ext4', volumeAttributes: {} },
    ],
    [
      'vsphereVolume with a policy',
      { vsphereVolume: { volumePath: '[ds] a/b.vmdk', storagePolicyName: 'gold' } },
      {},
      {
        driver: 'csi.vsphere.vmware.com',
        volumeHandle: '[ds] a/b.vmdk',
        volumeAttributes: { storagepolicyname: 'gold' },
      },
    ],
    [
      'portworxVolume with its secret',
      { portworxVolume: { volumeID: 'px', fsType: 'ext4' } },
      {
        annotations: {
          'openstorage.io/auth-secret-name': 'token',
          'openstorage.io/auth-secret-namespace': 'portworx',
        },
      },
      {
        driver: 'pxd.portworx.com',
        volumeHandle: 'px',
        fsType: 'ext4',
        volumeAttributes: {},
        nodeStageSecretRef: { name: 'token', namespace: 'portworx' },
        nodePublishSecretRef: { name: 'token', namespace: 'portworx' },
        nodeExpandSecretRef: { name: 'token', namespace: 'portworx' },
      },
    ],
    [
      'portworxVolume without one',
      { portworxVolume: { volumeID: 'px' } },
      {},
      { driver: 'pxd.portworx.com', volumeHandle: 'px', volumeAttributes: {} },
    ],
  ])('%s', (_, spec, metadata, csi) => {
    const made = migratedVolume(
      { ...spec, capacity: { storage: '1Gi' }, mountOptions: ['noatime'] },
      metadata,
    );
    expect(made.metadata.name).toBe('pv');
    expect(made.spec).toEqual({
      ...(spec.claimRef === undefined ? {} : { claimRef: spec.claimRef }),
      capacity: { storage: '1Gi' },
      mountOptions: ['noatime'],
      csi,
    });
  });

  it.each<[string[], string[]]>([
    [['ReadWriteOnce'], ['ReadWriteOnce']],
    [['ReadOnlyMany'], ['ReadOnlyMany']],
    [['ReadWriteOnce', 'ReadOnlyMany'], ['ReadWriteMany']],
    [['ReadWriteMany', 'ReadWriteOnce'], ['ReadWriteMany']],
    [[], []],
  ])('gcePersistentDisk with the modes %j has one', (modes, expected) => {
    const { spec } = migratedVolume({ gcePersistentDisk: { pdName: 'pd' }, accessModes: modes });
    expect(spec.accessModes).toEqual(expected);
  });

  it('keeps its modes elsewhere', () => {
    const accessModes = ['ReadWriteOnce', 'ReadOnlyMany'];
    const { spec } = migratedVolume({ cinder: { volumeID: 'x' }, accessModes });
    expect(spec.accessModes).toEqual(accessModes);
  });

  const zone = 'topology.kubernetes.io/zone';
  const oldZone = 'failure-domain.beta.kubernetes.io/zone';
  const region = 'topology.kubernetes.io/region';
  it.each<[string, PersistentVolumeSpec, string[], string[]]>([
    [
      'awsElasticBlockStore',
      { awsElasticBlockStore: { volumeID: 'vol-1' } },
      [zone, oldZone, region, 'other'],
      ['topology.ebs.csi.aws.com/zone', 'topology.ebs.csi.aws.com/zone', region, 'other'],
    ],
    ['gcePersistentDisk', { gcePersistentDisk: { pdName: 'p' } }, [zone], ['topology.gke.io/zone']],
    ['cinder', { cinder: { volumeID: 'x' } }, [zone], ['topology.cinder.csi.openstack.org/zone']],
    [
      'vsphereVolume',
      { vsphereVolume: { volumePath: 'x' } },
      [zone, region],
      ['topology.csi.vmware.com/zone', 'topology.csi.vmware.com/region'],
    ],
    ['portworxVolume', { portworxVolume: { volumeID: 'x' } }, [zone], [zone]],
    ['a label with the name of a method', { cinder: { volumeID: 'x' } }, ['toString'], ['toString']],
  ])('%s has the labels of its driver in its affinity', (_, spec, keys, expected) => {
    const terms = (names: string[]): NodeSelectorTerm[] => [
      { matchExpressions: names.map((key) => ({ key, operator: 'In', values: ['a'] })) },
      { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] },
    ];
    const made = migratedVolume({ ...spec, nodeAffinity: { required: { nodeSelectorTerms: terms(keys) } } });
    expect(made.spec.nodeAffinity?.required?.nodeSelectorTerms).toEqual(terms(expected));
  });
});

describe('a volume of a cloud in a pod', () => {
  it.each<[string, Omit<Volume, 'name'>, { name: string; handle: string; mode: string; readOnly?: true }]>([
    [
      'awsElasticBlockStore',
      { awsElasticBlockStore: { volumeID: 'aws://z/vol-1' } },
      { name: 'ebs.csi.aws.com-vol-1', handle: 'vol-1', mode: 'ReadWriteOnce' },
    ],
    [
      'gcePersistentDisk that is only read',
      { gcePersistentDisk: { pdName: 'pd', readOnly: true } },
      {
        name: 'pd.csi.storage.gke.io-pd',
        handle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd',
        mode: 'ReadOnlyMany',
        readOnly: true,
      },
    ],
    [
      'gcePersistentDisk',
      { gcePersistentDisk: { pdName: 'pd' } },
      {
        name: 'pd.csi.storage.gke.io-pd',
        handle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd',
        mode: 'ReadWriteOnce',
      },
    ],
    [
      'azureDisk',
      { azureDisk: { diskName: 'd', diskURI: disk } },
      { name: disk, handle: disk, mode: 'ReadWriteOnce' },
    ],
    [
      'azureFile, with the secret in the namespace of the pod',
      { azureFile: { secretName: account, shareName: 'share' } },
      { name: '#acc#share#v#ns', handle: '#acc#share#v#ns', mode: 'ReadWriteMany' },
    ],
    [
      'cinder',
      { cinder: { volumeID: 'id' } },
      { name: 'cinder.csi.openstack.org-id', handle: 'id', mode: 'ReadWriteOnce' },
    ],
    [
      'vsphereVolume with a policy',
      { vsphereVolume: { volumePath: '[ds] a.vmdk', storagePolicyName: 'gold' } },
      { name: 'csi.vsphere.vmware.com-[ds] a.vmdk', handle: '[ds] a.vmdk', mode: 'ReadWriteOnce' },
    ],
    [
      'portworxVolume',
      { portworxVolume: { volumeID: 'px', readOnly: true } },
      { name: 'pxd.portworx.com-px', handle: 'px', mode: 'ReadOnlyMany', readOnly: true },
    ],
  ])('%s', (_, source, { name, handle, mode, readOnly = false }) => {
    const made = migratedInline(source);
    const { metadata, spec } = made.persistentVolume;
    expect({ ...metadata, ...spec, csi: undefined }).toEqual({
      name,
      accessModes: [mode],
      volumeMode: 'Filesystem',
      csi: undefined,
    });
    expect(spec.csi?.volumeHandle).toBe(handle);
    expect(made.readOnly).toBe(readOnly);
    expect(made.isMigrated).toBe(true);
  });
});

describe('what cannot be migrated', () => {
  it.each<[string, Omit<Volume, 'name'>, string]>([
    [
      'another kind of Azure disk',
      { azureDisk: { diskName: 'd', diskURI: disk, kind: 'Dedicated' } },
      'kind(Dedicated) is not supported in csi migration',
    ],
    [
      'an AWS volume of another form',
      { awsElasticBlockStore: { volumeID: 'aws://a/b/vol-1' } },
      'volumeID "aws://a/b/vol-1" is no AWS volume: write vol-… or aws://ZONE/vol-…',
    ],
    ['no id', { cinder: {} }, 'volumeID is empty'],
    [
      'a name that is a directory',
      { azureDisk: { diskName: 'd', diskURI: '..' } },
      '".." is no name of a volume',
    ],
    [
      'a name that is too long',
      { azureDisk: { diskName: 'd', diskURI: 'a'.repeat(256) } },
      'the name of its volume is longer than 255 bytes',
    ],
  ])('%s', (_, source, text) => {
    expect(() => migratedInline(source)).toThrow(`failed to translate in-tree pv to CSI: ${text}`);
  });

  it('a share whose secret has no namespace', () => {
    expect(() => migratedVolume({ azureFile: { secretName: 's', shareName: 'x' } })).toThrow(
      'failed to translate in-tree pv to CSI: could not find a secret namespace in PersistentVolumeSource or ClaimRef',
    );
  });

  it('a disk in two regions', () => {
    const labels = { 'topology.kubernetes.io/zone': 'a-1-x__b-1-x' };
    expect(() => migratedVolume({ gcePersistentDisk: { pdName: 'p' } }, { labels })).toThrow(
      'the zones a-1-x__b-1-x are in more than one region',
    );
  });
});

it('other volumes stay as they are', () => {
  const spec: VolumeSpec = { kind: 'inline', volume: { name: 'v', emptyDir: {} } };
  expect(migratedSpec(spec, pod)).toBe(spec);
});

it('the CSINode names the plugins, sorted', () => {
  expect(migratedPluginNames).toEqual([
    'kubernetes.io/aws-ebs',
    'kubernetes.io/azure-disk',
    'kubernetes.io/azure-file',
    'kubernetes.io/cinder',
    'kubernetes.io/gce-pd',
    'kubernetes.io/portworx-volume',
    'kubernetes.io/vsphere-volume',
  ]);
});
