/** Decides what a driver is asked: capability, access mode, contexts, and who gives the volume to the pod's group. */
import type { Init } from '../../grpc/index.js';
import { goQuote, type Pod } from '../../kube/index.js';
import { type VolumeSpec, volumeModeOf } from '../contracts.js';
import { adminMountOptions } from '../plugins/admin-mount-options.js';
import { fsGroupOf } from '../plugins/volume-modes.js';
import { labelOption } from '../selinux/index.js';
import type { NodeCapability } from './client.js';
import type { DriverPolicy, VolumeLifecycleMode } from './driver-policy.js';
import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapability } from './gen/csi.js';

export function lifecycleModeOf(spec: VolumeSpec): VolumeLifecycleMode {
  return spec.kind === 'inline' ? 'Ephemeral' : 'Persistent';
}

/** Why the driver may not serve a volume of this mode. */
export function lifecycleProblem(
  driver: string,
  mode: VolumeLifecycleMode,
  { exists, volumeLifecycleModes }: DriverPolicy,
): string | undefined {
  if (volumeLifecycleModes.includes(mode)) return undefined;
  const why = exists
    ? `only supports [${volumeLifecycleModes.map(goQuote).join(' ')}]`
    : 'no CSIDriver object';
  return `volume mode ${goQuote(mode)} not supported by driver ${driver} (${why})`;
}

/** From the reference of the pod; neither the PersistentVolume nor a volumeMount makes a volume read-only here. */
export function isReadOnly(spec: VolumeSpec): boolean {
  return spec.kind === 'inline' ? spec.volume.csi?.readOnly === true : spec.readOnly;
}

export function fsTypeOf(spec: VolumeSpec): string {
  const source = spec.kind === 'inline' ? spec.volume.csi : spec.persistentVolume.spec.csi;
  return source?.fsType ?? '';
}

export function attributesOf(spec: VolumeSpec): Readonly<Record<string, string>> {
  const source = spec.kind === 'inline' ? spec.volume.csi : spec.persistentVolume.spec.csi;
  return source?.volumeAttributes ?? {};
}

function accessModesOf(spec: VolumeSpec): readonly string[] {
  const modes = spec.kind === 'inline' ? undefined : spec.persistentVolume.spec.accessModes;
  return modes ?? ['ReadWriteOnce'];
}

export function accessMode(spec: VolumeSpec, capabilities: ReadonlySet<NodeCapability>): Mode {
  const tellsWriters = capabilities.has('SINGLE_NODE_MULTI_WRITER');
  switch (accessModesOf(spec)[0]) {
    case 'ReadWriteOnce':
      return tellsWriters ? Mode.SINGLE_NODE_MULTI_WRITER : Mode.SINGLE_NODE_WRITER;
    case 'ReadWriteOncePod':
      return tellsWriters ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_WRITER;
    case 'ReadOnlyMany':
      return Mode.MULTI_NODE_READER_ONLY;
    case 'ReadWriteMany':
      return Mode.MULTI_NODE_MULTI_WRITER;
    default:
      return Mode.UNKNOWN;
  }
}

/** The word that makes drivers take a volume for a block device, also one of mode Filesystem. */
const blockType = 'block';

export function volumeCapability(
  spec: VolumeSpec,
  capabilities: ReadonlySet<NodeCapability>,
  fsGroup: number | undefined,
  seLinuxLabel = '',
): Init<VolumeCapability> {
  const mode = { mode: accessMode(spec, capabilities) };
  if (volumeModeOf(spec) === 'Block' || fsTypeOf(spec) === blockType) {
    return { accessType: { case: 'block', value: {} }, accessMode: mode };
  }
  const group = capabilities.has('VOLUME_MOUNT_GROUP') && fsGroup !== undefined ? String(fsGroup) : '';
  return {
    accessType: {
      case: 'mount',
      value: {
        fsType: fsTypeOf(spec),
        mountFlags: [...adminMountOptions(spec), ...(seLinuxLabel === '' ? [] : [labelOption(seLinuxLabel)])],
        volumeMountGroup: group,
      },
    },
    accessMode: mode,
  };
}

/** Throws if the policy is none that this node knows. */
export function givesToGroup(
  spec: VolumeSpec,
  pod: Pod,
  { fsGroupPolicy }: Pick<DriverPolicy, 'fsGroupPolicy'>,
  capabilities: ReadonlySet<NodeCapability>,
): boolean {
  if (fsGroupPolicy === '') {
    throw new Error('kubernetes.io/csi: expected valid fsGroupPolicy, received nil value or empty string');
  }
  if (capabilities.has('VOLUME_MOUNT_GROUP')) return false;
  if (fsGroupOf(pod) === undefined || isReadOnly(spec)) return false;
  switch (fsGroupPolicy) {
    case 'None':
      return false;
    case 'File':
      return true;
    case 'ReadWriteOnceWithFSType':
      if (fsTypeOf(spec) === '') return false;
      return (
        spec.kind === 'inline' ||
        accessModesOf(spec).some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod')
      );
    default:
      throw new Error(`kubernetes.io/csi: fsGroupPolicy ${goQuote(fsGroupPolicy)} is not known here`);
  }
}

/** What a driver is told of the pod where its policy asks for that. */
export function podInfo(pod: Pod, mode: VolumeLifecycleMode): Readonly<Record<string, string>> {
  const prefix = 'csi.storage.k8s.io/';
  return {
    [`${prefix}pod.name`]: pod.metadata.name,
    [`${prefix}pod.namespace`]: pod.metadata.namespace,
    [`${prefix}pod.uid`]: pod.metadata.uid,
    [`${prefix}serviceAccount.name`]: pod.spec.serviceAccountName ?? '',
    [`${prefix}ephemeral`]: String(mode === 'Ephemeral'),
  };
}

export const tokensKey = 'csi.storage.k8s.io/serviceAccount.tokens';
