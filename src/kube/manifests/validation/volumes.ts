/** Validates the volumes of a pod, kind by kind. */

import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  Volume,
  VolumeProjection,
} from '../../types/volume.js';
import { tryParseQuantity } from '../../values/quantity.js';
import { validateFieldRef, validateResourceFieldRef } from './env.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { validateFileOwners } from './file-owners.js';
import { validateLabels } from './metadata.js';
import {
  configMapKey,
  dnsLabel,
  dnsSubdomain,
  localNonReservedPath,
  nfsPath,
  nfsServer,
  noBacksteps,
} from './names.js';

type VolumeKind = Exclude<keyof Volume, 'name'>;

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const shortestTokenSeconds = 600;
const longestTokenSeconds = 2 ** 32;

/** Required fields by kind of volume; other kinds have their own rules below. */
const requiredFields: { readonly [kind in VolumeKind]?: readonly string[] } = {
  awsElasticBlockStore: ['volumeID'],
  azureDisk: ['diskName', 'diskURI'],
  azureFile: ['secretName', 'shareName'],
  cephfs: ['monitors'],
  cinder: ['volumeID'],
  csi: ['driver'],
  flexVolume: ['driver'],
  gcePersistentDisk: ['pdName'],
  gitRepo: ['repository'],
  glusterfs: ['endpoints', 'path'],
  hostPath: ['path'],
  iscsi: ['targetPortal', 'iqn'],
  nfs: ['server', 'path'],
  persistentVolumeClaim: ['claimName'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  quobyte: ['registry', 'volume'],
  rbd: ['monitors', 'image'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  secret: ['secretName'],
  configMap: ['name'],
  storageos: ['volumeName'],
  vsphereVolume: ['volumePath'],
};

/** Returns the volumes by name, so that mounts can be checked against them. */
export function validateVolumes(
  volumes: readonly Volume[] | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): Map<string, Volume> {
  const byName = new Map<string, Volume>();
  for (const [index, volume] of (volumes ?? []).entries()) {
    const at = field.child(index);
    errors.requiredCheck(at.child('name'), volume.name, dnsLabel);
    if (volume.name !== '' && byName.has(volume.name)) errors.duplicate(at.child('name'), volume.name);
    byName.set(volume.name, volume);
    validateSource(volume, at, errors);
  }
  return byName;
}

function validateSource(volume: Volume, field: LazyFieldPath, errors: FieldErrors): void {
  let given = 0;
  for (const [kind, source] of Object.entries(volume)) {
    if (kind === 'name' || source === undefined) continue;
    given += 1;
    if (given > 1) errors.forbidden(field.child(kind), 'only one kind of volume may be given');
    // Every member of a volume but its name is a source, and the table lists required members by source.
    validateRequired(
      source as Record<string, unknown>,
      requiredFields[kind as VolumeKind] ?? [],
      field.child(kind),
      errors,
    );
  }
  if (given === 0) errors.required(field, 'give a kind of volume, for example emptyDir');
  validateFilesOf(volume, field, errors);
  validateNodeLocal(volume, field, errors);
  validateRemote(volume, field, errors);
}

function validateRequired(
  source: Record<string, unknown>,
  names: readonly string[],
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  for (const name of names) {
    const value = source[name];
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0))
      errors.required(field.child(name));
  }
}

/** Volumes that the agent itself fills with files. */
function validateFilesOf(volume: Volume, field: LazyFieldPath, errors: FieldErrors): void {
  const { secret, configMap, downwardAPI, projected } = volume;
  for (const [kind, source] of [
    ['secret', secret],
    ['configMap', configMap],
  ] as const) {
    if (source === undefined) continue;
    validateMode(source.defaultMode, field.child(kind).child('defaultMode'), errors);
    validateKeyPaths(source.items, field.child(kind).child('items'), errors);
  }
  if (downwardAPI !== undefined) {
    const at = field.child('downwardAPI');
    validateMode(downwardAPI.defaultMode, at.child('defaultMode'), errors);
    for (const [index, file] of (downwardAPI.items ?? []).entries())
      validateDownwardFile(file, at.child('items').child(index), errors);
  }
  if (projected !== undefined) validateProjected(projected, field.child('projected'), errors);
  validateFileOwners(volume, field, errors);
}

function validateNodeLocal(volume: Volume, field: LazyFieldPath, errors: FieldErrors): void {
  const { hostPath, emptyDir, image, gitRepo } = volume;
  if (hostPath !== undefined) {
    errors.check(field.child('hostPath').child('path'), hostPath.path, noBacksteps);
    errors.oneOf(field.child('hostPath').child('type'), hostPath.type, hostPathTypes);
  }
  if (emptyDir?.sizeLimit !== undefined) {
    const limit = tryParseQuantity(emptyDir.sizeLimit);
    const at = field.child('emptyDir').child('sizeLimit');
    if (limit === undefined || limit.nanos < 0n)
      errors.invalid(at, emptyDir.sizeLimit, 'must be a quantity of 0 or more');
  }
  const mode = emptyDir?.mode;
  if (mode !== undefined && (mode < 0 || mode > 0o1777)) {
    const at = field.child('emptyDir').child('mode');
    errors.invalid(at, mode, 'must be a number between 0 and 01777 (octal), both inclusive');
  }
  if (image !== undefined) {
    const at = field.child('image');
    if (!image.reference) errors.required(at.child('reference'));
    errors.oneOf(at.child('pullPolicy'), image.pullPolicy, ['Always', 'IfNotPresent', 'Never']);
  }
  if (gitRepo?.directory)
    errors.check(field.child('gitRepo').child('directory'), gitRepo.directory, localNonReservedPath);
}

function validateRemote(volume: Volume, field: LazyFieldPath, errors: FieldErrors): void {
  const { nfs, iscsi, fc, csi, ephemeral } = volume;
  if (nfs?.server) errors.check(field.child('nfs').child('server'), nfs.server, nfsServer);
  if (nfs?.path) errors.check(field.child('nfs').child('path'), nfs.path, nfsPath);
  if (iscsi !== undefined) errors.inRange(field.child('iscsi').child('lun'), iscsi.lun, 0, 255);
  if (fc !== undefined) {
    const hasTargets = (fc.targetWWNs?.length ?? 0) > 0;
    const hasWwids = (fc.wwids?.length ?? 0) > 0;
    if (hasTargets === hasWwids)
      errors.required(field.child('fc').child('targetWWNs'), 'give either targetWWNs or wwids');
    if (hasTargets && fc.lun === undefined)
      errors.required(field.child('fc').child('lun'), 'targetWWNs need it');
    errors.inRange(field.child('fc').child('lun'), fc.lun, 0, 255);
  }
  if (csi?.nodePublishSecretRef !== undefined && !csi.nodePublishSecretRef.name) {
    errors.required(field.child('csi').child('nodePublishSecretRef').child('name'));
  }
  if (ephemeral === undefined) return;
  const at = field.child('ephemeral').child('volumeClaimTemplate');
  const claim = ephemeral.volumeClaimTemplate;
  if (claim === undefined) {
    errors.required(at);
    return;
  }
  if ((claim.spec.accessModes?.length ?? 0) === 0)
    errors.required(at.child('spec').child('accessModes'), 'give at least one access mode');
  for (const [index, mode] of (claim.spec.accessModes ?? []).entries()) {
    errors.oneOf(at.child('spec').child('accessModes').child(index), mode, [
      'ReadOnlyMany',
      'ReadWriteMany',
      'ReadWriteOnce',
      'ReadWriteOncePod',
    ]);
  }
  if (claim.spec.resources?.requests?.storage === undefined)
    errors.required(at.child('spec').child('resources').child('storage'));
}

const projectionKinds = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
] as const;

function validateProjected(
  projected: ProjectedVolumeSource,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  validateMode(projected.defaultMode, field.child('defaultMode'), errors);
  const paths = new Set<string>();
  for (const [index, source] of (projected.sources ?? []).entries()) {
    const at = field.child('sources').child(index);
    const given = projectionKinds.filter((kind) => source[kind] !== undefined);
    if (given.length === 0) errors.required(at, 'give one source, for example configMap');
    for (const extra of given.slice(1))
      errors.forbidden(at.child(extra), 'only one kind of volume may be given');
    validateProjection(source, at, errors);
    for (const path of projectedPaths(source)) {
      if (paths.has(path)) errors.invalid(at, path, 'another source already projects this path');
      paths.add(path);
    }
  }
}

function validateProjection(source: VolumeProjection, field: LazyFieldPath, errors: FieldErrors): void {
  const { serviceAccountToken: token, clusterTrustBundle: bundle, podCertificate: certificate } = source;
  for (const kind of ['secret', 'configMap'] as const) {
    const projection = source[kind];
    if (projection === undefined) continue;
    errors.requiredCheck(field.child(kind).child('name'), projection.name, dnsSubdomain);
    validateKeyPaths(projection.items, field.child(kind).child('items'), errors);
  }
  for (const [index, file] of (source.downwardAPI?.items ?? []).entries()) {
    validateDownwardFile(file, field.child('downwardAPI').child('items').child(index), errors);
  }
  if (token !== undefined) {
    const at = field.child('serviceAccountToken');
    errors.inRange(
      at.child('expirationSeconds'),
      token.expirationSeconds,
      shortestTokenSeconds,
      longestTokenSeconds,
    );
    errors.requiredCheck(at.child('path'), token.path, localNonReservedPath);
  }
  if (bundle !== undefined) {
    const at = field.child('clusterTrustBundle');
    errors.requiredCheck(at.child('path'), bundle.path, localNonReservedPath);
    if (bundle.name === undefined && bundle.signerName === undefined)
      errors.required(at, 'give a name or a signerName');
    if (bundle.name !== undefined && bundle.signerName !== undefined)
      errors.invalid(at, bundle.name, 'give either name or signerName');
    validateLabels(bundle.labelSelector?.matchLabels, at.child('labelSelector').child('matchLabels'), errors);
  }
  if (certificate !== undefined) {
    const at = field.child('podCertificate');
    if (certificate.signerName === '') errors.required(at.child('signerName'));
    errors.requiredOneOf(at.child('keyType'), certificate.keyType, [
      'ECDSAP256',
      'ECDSAP384',
      'ECDSAP521',
      'ED25519',
      'RSA3072',
      'RSA4096',
    ]);
    if (!certificate.credentialBundlePath && !certificate.keyPath && !certificate.certificateChainPath) {
      errors.required(at, 'name at least one file: credentialBundlePath, keyPath or certificateChainPath');
    }
  }
}

function* projectedPaths(source: VolumeProjection): Generator<string> {
  for (const { path } of [
    ...(source.secret?.items ?? []),
    ...(source.configMap?.items ?? []),
    ...(source.downwardAPI?.items ?? []),
  ])
    yield path;
  for (const projection of [source.serviceAccountToken, source.clusterTrustBundle]) {
    if (projection !== undefined) yield projection.path;
  }
}

function validateKeyPaths(
  items: readonly KeyToPath[] | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  for (const [index, item] of (items ?? []).entries()) {
    const at = field.child(index);
    errors.requiredCheck(at.child('key'), item.key, configMapKey);
    errors.requiredCheck(at.child('path'), item.path, localNonReservedPath);
    validateMode(item.mode, at.child('mode'), errors);
  }
}

function validateDownwardFile(file: DownwardAPIVolumeFile, field: LazyFieldPath, errors: FieldErrors): void {
  errors.requiredCheck(field.child('path'), file.path, localNonReservedPath);
  if (file.fieldRef === undefined && file.resourceFieldRef === undefined)
    errors.required(field, 'give either fieldRef or resourceFieldRef');
  if (file.fieldRef !== undefined && file.resourceFieldRef !== undefined) {
    errors.invalid(field, 'resource', 'give either fieldRef or resourceFieldRef');
  }
  if (file.fieldRef !== undefined) validateFieldRef(file.fieldRef, 'volume', field.child('fieldRef'), errors);
  if (file.resourceFieldRef !== undefined)
    validateResourceFieldRef(file.resourceFieldRef, true, field.child('resourceFieldRef'), errors);
  validateMode(file.mode, field.child('mode'), errors);
}

function validateMode(mode: number | undefined, field: LazyFieldPath, errors: FieldErrors): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777))
    errors.invalid(field, mode, 'must be a file mode from 0 to 0777 (octal)');
}
