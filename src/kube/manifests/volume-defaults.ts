/** Applies the API server's defaults to each kind of volume. */
import { defaultPullPolicy } from '../pods/image-name.js';
import type { Volume, VolumeProjection } from '../types/volume.js';

/** `rw-r--r--` */
const defaultFileMode = 0o644;

export function applyVolumeDefaults(volume: Volume): void {
  const hasSource = Object.entries(volume).some(([field, value]) => field !== 'name' && value !== undefined);
  if (!hasSource) volume.emptyDir = {};
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.secret !== undefined) volume.secret.defaultMode ??= defaultFileMode;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= defaultFileMode;
  if (volume.downwardAPI !== undefined) {
    volume.downwardAPI.defaultMode ??= defaultFileMode;
    applyFieldRefDefaults(volume.downwardAPI.items);
  }
  if (volume.projected !== undefined) {
    volume.projected.defaultMode ??= defaultFileMode;
    for (const source of volume.projected.sources ?? []) applyProjectionDefaults(source);
  }
  if (volume.image !== undefined) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference ?? '');
  const claim = volume.ephemeral?.volumeClaimTemplate;
  if (claim !== undefined) claim.spec.volumeMode ??= 'Filesystem';
  applyNetworkDiskDefaults(volume);
}

function applyProjectionDefaults(source: VolumeProjection): void {
  if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= 3600;
  if (source.podCertificate !== undefined) source.podCertificate.maxExpirationSeconds ??= 86_400;
  applyFieldRefDefaults(source.downwardAPI?.items);
}

function applyFieldRefDefaults(items: { fieldRef?: { apiVersion?: string } }[] | undefined): void {
  for (const item of items ?? []) {
    if (item.fieldRef !== undefined) item.fieldRef.apiVersion ||= 'v1';
  }
}

function applyNetworkDiskDefaults(volume: Volume): void {
  if (volume.iscsi !== undefined) volume.iscsi.iscsiInterface ||= 'default';
  if (volume.rbd !== undefined) {
    volume.rbd.pool ||= 'rbd';
    volume.rbd.user ||= 'admin';
    volume.rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (volume.azureDisk !== undefined) {
    volume.azureDisk.cachingMode ??= 'ReadWrite';
    volume.azureDisk.kind ??= 'Shared';
    volume.azureDisk.fsType ??= 'ext4';
    volume.azureDisk.readOnly ??= false;
  }
  if (volume.scaleIO !== undefined) {
    volume.scaleIO.storageMode ||= 'ThinProvisioned';
    volume.scaleIO.fsType ||= 'xfs';
  }
}
