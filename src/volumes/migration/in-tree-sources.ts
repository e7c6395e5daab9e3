/** What each in-tree volume source is for the CSI driver that serves it now, in PersistentVolumes and in pods. */
import type {
  AzureDiskVolumeSource,
  AzureFilePersistentVolumeSource,
  CloudDiskVolumeSource,
  CSIPersistentVolumeSource,
  ObjectMeta,
} from '../../kube/index.js';

/** Where a source stands. */
export interface SourcePlace {
  /** The name of the PersistentVolume, or of the pod's volume. */
  readonly name: string;
  /** Of the PersistentVolume; a source in a pod has none. */
  readonly metadata: Pick<ObjectMeta, 'labels' | 'annotations'>;
  /** Where secrets are that the source names without a namespace. */
  readonly namespace: string | undefined;
}

type CsiSource = Omit<CSIPersistentVolumeSource, 'driver'>;
type AccessMode = 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany';

/** One in-tree plugin; `Source` is the type of its field in volumes. */
export interface InTreePlugin<Source> {
  /** `kubernetes.io/aws-ebs` */
  readonly plugin: string;
  readonly driver: string;
  /** Throws with what is wrong in the source. */
  csi(source: Source, place: SourcePlace): CsiSource;
  /** The name of the PersistentVolume that stands for a source in a pod. */
  inlineName(source: Source, csi: CsiSource): string;
  inlineMode(source: Source): AccessMode;
  /** The access modes that the driver knows; all that the PersistentVolume has by default. */
  readonly modes?: (modes: readonly string[]) => readonly string[];
  /** The driver's labels of nodes, by those of Kubernetes. */
  readonly topology?: { readonly zone: string; readonly region?: string };
}

const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];
/** Separates the zones of a disk that is in several. */
const zoneSeparator = '__';

const required = (value: string | undefined, field: string): string => {
  if (value === undefined || value === '') throw new Error(`${field} is empty`);
  return value;
};
const readerOrWriter = ({ readOnly }: { readonly readOnly?: boolean }): AccessMode =>
  readOnly === true ? 'ReadOnlyMany' : 'ReadWriteOnce';
const writer = (): AccessMode => 'ReadWriteOnce';
/** What most sources have in common. */
const mounted = ({ fsType, readOnly }: { readonly fsType?: string; readonly readOnly?: boolean }) => ({
  ...(fsType === undefined ? {} : { fsType }),
  ...(readOnly === undefined ? {} : { readOnly }),
});

const awsElasticBlockStore: InTreePlugin<CloudDiskVolumeSource> = {
  plugin: 'kubernetes.io/aws-ebs',
  driver: 'ebs.csi.aws.com',
  csi: (source) => ({
    ...mounted(source),
    volumeHandle: ebsVolume(required(source.volumeID, 'volumeID')),
    volumeAttributes: { partition: String(source.partition ?? 0) },
  }),
  inlineName: (_, { volumeHandle }) => `ebs.csi.aws.com-${volumeHandle}`,
  inlineMode: writer,
  topology: { zone: 'topology.ebs.csi.aws.com/zone' },
};

/** From `vol-1`, `aws:///vol-1` or `aws://us-east-1a/vol-1`. */
function ebsVolume(id: string): string {
  const [, volume = id] = /^aws:\/\/[^/]*\/([^/]+)$/.exec(id) ?? [];
  if (/^vol-[^/]*$/.test(volume)) return volume;
  throw new Error(`volumeID ${JSON.stringify(id)} is no AWS volume: write vol-… or aws://ZONE/vol-…`);
}

const gcePersistentDisk: InTreePlugin<CloudDiskVolumeSource> = {
  plugin: 'kubernetes.io/gce-pd',
  driver: 'pd.csi.storage.gke.io',
  csi: (source, { metadata }) => ({
    ...mounted(source),
    volumeHandle: gceDisk(required(source.pdName, 'pdName'), metadata),
    volumeAttributes: { partition: source.partition ? String(source.partition) : '' },
  }),
  inlineName: ({ pdName }) => `pd.csi.storage.gke.io-${pdName}`,
  inlineMode: readerOrWriter,
  modes: oneMode,
  topology: { zone: 'topology.gke.io/zone' },
};

function gceDisk(name: string, { labels }: Pick<ObjectMeta, 'labels'>): string {
  const label = zoneLabels.map((key) => labels?.[key]).find((value) => value !== undefined) ?? '';
  const zones = label.split(zoneSeparator).filter((zone) => zone !== '');
  const [zone = 'UNSPECIFIED'] = zones;
  if (zones.length < 2) return `projects/UNSPECIFIED/zones/${zone}/disks/${name}`;
  const regions = new Set(zones.map((one) => one.replace(/-[^-]*$/, '')));
  const [region, another] = regions;
  if (another !== undefined) throw new Error(`the zones ${label} are in more than one region`);
  return `projects/UNSPECIFIED/regions/${region}/disks/${name}`;
}

/** A disk that some only read and one writes is, for the driver, one that many write. */
function oneMode(modes: readonly string[]): readonly string[] {
  const has = (mode: AccessMode): boolean => modes.includes(mode);
  if (has('ReadWriteMany') || (has('ReadOnlyMany') && has('ReadWriteOnce'))) return ['ReadWriteMany'];
  if (has('ReadOnlyMany')) return ['ReadOnlyMany'];
  return has('ReadWriteOnce') ? ['ReadWriteOnce'] : [];
}

const azureDisk: InTreePlugin<AzureDiskVolumeSource> = {
  plugin: 'kubernetes.io/azure-disk',
  driver: 'disk.csi.azure.com',
  csi: (source) => {
    const { kind = 'Managed', cachingMode, fsType } = source;
    if (kind !== 'Managed') throw new Error(`kind(${kind}) is not supported in csi migration`);
    return {
      ...mounted(source),
      volumeHandle: required(source.diskURI, 'diskURI'),
      volumeAttributes: {
        kind,
        ...(cachingMode === undefined ? {} : { cachingmode: cachingMode }),
        ...(fsType === undefined ? {} : { fstype: fsType }),
      },
    };
  },
  inlineName: ({ diskURI }) => diskURI,
  inlineMode: writer,
};

const azureFile: InTreePlugin<AzureFilePersistentVolumeSource> = {
  plugin: 'kubernetes.io/azure-file',
  driver: 'file.csi.azure.com',
  csi: (source, { name, metadata, namespace: ofPlace }) => {
    const { secretName, secretNamespace, shareName, readOnly } = source;
    const namespace = secretNamespace || ofPlace;
    if (!namespace) {
      throw new Error('could not find a secret namespace in PersistentVolumeSource or ClaimRef');
    }
    const group = metadata.annotations?.['kubernetes.io/azure-file-resource-group'] ?? '';
    const [, account = secretName] = /^azure-storage-account-(.+)-secret$/.exec(secretName) ?? [];
    return {
      ...mounted({ ...(readOnly === undefined ? {} : { readOnly }) }),
      volumeHandle: [group, account, shareName, name, namespace].join('#'),
      volumeAttributes: { sharename: shareName },
      nodeStageSecretRef: { name: secretName, namespace },
    };
  },
  inlineName: (_, { volumeHandle }) => volumeHandle,
  inlineMode: () => 'ReadWriteMany',
};

const cinder: InTreePlugin<CloudDiskVolumeSource> = {
  plugin: 'kubernetes.io/cinder',
  driver: 'cinder.csi.openstack.org',
  csi: (source) => ({
    ...mounted(source),
    volumeHandle: required(source.volumeID, 'volumeID'),
    volumeAttributes: {},
  }),
  inlineName: ({ volumeID }) => `cinder.csi.openstack.org-${volumeID}`,
  inlineMode: writer,
  topology: { zone: 'topology.cinder.csi.openstack.org/zone' },
};

const vsphereVolume: InTreePlugin<CloudDiskVolumeSource> = {
  plugin: 'kubernetes.io/vsphere-volume',
  driver: 'csi.vsphere.vmware.com',
  csi: (source) => ({
    ...mounted(source),
    volumeHandle: required(source.volumePath, 'volumePath'),
    volumeAttributes: {
      ...(source.storagePolicyName ? { storagepolicyname: source.storagePolicyName } : {}),
    },
  }),
  inlineName: ({ volumePath }) => `csi.vsphere.vmware.com-${volumePath}`,
  inlineMode: writer,
  topology: { zone: 'topology.csi.vmware.com/zone', region: 'topology.csi.vmware.com/region' },
};

const portworxVolume: InTreePlugin<CloudDiskVolumeSource> = {
  plugin: 'kubernetes.io/portworx-volume',
  driver: 'pxd.portworx.com',
  csi: (source, { metadata: { annotations = {} } }) => {
    const name = annotations['openstorage.io/auth-secret-name'];
    const namespace = annotations['openstorage.io/auth-secret-namespace'];
    const secret = name && namespace ? { name, namespace } : undefined;
    return {
      ...mounted(source),
      volumeHandle: required(source.volumeID, 'volumeID'),
      volumeAttributes: {},
      ...(secret === undefined
        ? {}
        : { nodeStageSecretRef: secret, nodePublishSecretRef: secret, nodeExpandSecretRef: secret }),
    };
  },
  inlineName: ({ volumeID }) => `pxd.portworx.com-${volumeID}`,
  inlineMode: readerOrWriter,
};

/** By their field in a volume. */
export const inTreePlugins = {
  awsElasticBlockStore,
  gcePersistentDisk,
  azureDisk,
  azureFile,
  cinder,
  vsphereVolume,
  portworxVolume,
} as const;

/** The names of the plugins, sorted. */
export const migratedPluginNames: readonly string[] = Object.values(inTreePlugins)
  .map(({ plugin }) => plugin)
  .sort();

/** The labels of Kubernetes that a driver has its own names for. */
export const generalTopology: Readonly<Record<string, 'zone' | 'region'>> = {
  'topology.kubernetes.io/zone': 'zone',
  'failure-domain.beta.kubernetes.io/zone': 'zone',
  'topology.kubernetes.io/region': 'region',
  'failure-domain.beta.kubernetes.io/region': 'region',
};
