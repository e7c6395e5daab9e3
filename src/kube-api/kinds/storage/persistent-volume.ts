/** Persistent volumes and the claims on them: where they are does not change, and neither goes while in use. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import { dnsSubdomain } from '../../../kube/manifests/validation/names.js';
import { validateObject } from '../../../kube/manifests/validation/objects.js';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeSpec,
} from '../../../kube/types/index.js';
import { semanticEqual } from '../../../kube/values/deep-equal.js';
import { compareQuantities, tryParseQuantity } from '../../../kube/values/quantity.js';
import { resources } from '../../../kube-client/resources.js';
import { type ServerFacts, served } from '../served-kind.js';
import {
  applyClaimDefaults,
  validateAccessModes,
  validateClaimSpec,
  validatePositive,
} from './claim-spec.js';
import { claimProtection, volumeProtection } from './in-use-protection.js';

const spec = LazyFieldPath.root('spec');
const defaultClassAnnotation = 'storageclass.kubernetes.io/is-default-class';
/** Members of the spec that say nothing about where the volume is. */
const besideSource = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
  'volumeAttributesClassName',
]);

export const persistentVolumeKind = served<PersistentVolume>({
  resource: resources.persistentVolumes,
  singular: 'persistentvolume',
  shortNames: ['pv'],
  subresources: ['status'],
  defaults: (volume) => {
    volume.spec.volumeMode ??= 'Filesystem';
    volume.spec.persistentVolumeReclaimPolicy ||= 'Retain';
    if (volume.spec.hostPath !== undefined) volume.spec.hostPath.type ??= '';
  },
  admit: (volume) => {
    volume.status = { phase: 'Pending' };
    protect(volume, volumeProtection);
  },
  validate: validateVolume,
  validateUpdate: (next, current, subresource) =>
    subresource === 'status' ? [] : volumeChanges(next.spec, current.spec),
});

function protect({ metadata }: PersistentVolume | PersistentVolumeClaim, finalizer: string): void {
  const { finalizers = [] } = metadata;
  if (!finalizers.includes(finalizer)) metadata.finalizers = [...finalizers, finalizer];
}

function sourcesOf(volume: PersistentVolumeSpec): [string, unknown][] {
  return Object.entries(volume).filter(([name, value]) => !besideSource.has(name) && value !== undefined);
}

function validateVolume(volume: PersistentVolume): readonly FieldError[] {
  const errors = new FieldErrors();
  const wanted = volume.spec;
  validateAccessModes(wanted.accessModes, spec.child('accessModes'), errors);
  const storage = wanted.capacity?.storage;
  if (storage === undefined) errors.required(spec.child('capacity'));
  else validatePositive(storage, spec.child('capacity').child('storage'), errors);
  errors.oneOf(spec.child('persistentVolumeReclaimPolicy'), wanted.persistentVolumeReclaimPolicy, [
    'Delete',
    'Recycle',
    'Retain',
  ]);
  errors.oneOf(spec.child('volumeMode'), wanted.volumeMode, ['Block', 'Filesystem']);
  const sources = sourcesOf(wanted);
  if (sources.length === 0) errors.required(spec, 'must specify a volume type');
  for (const [name] of sources.slice(1))
    errors.forbidden(spec.child(name), 'may not specify more than 1 volume type');
  if (wanted.local !== undefined && wanted.nodeAffinity === undefined)
    errors.required(spec.child('nodeAffinity'), 'Local volume requires node affinity');
  const path = wanted.hostPath?.path ?? wanted.local?.path;
  if (path?.split('/').includes('..') === true)
    errors.invalid(
      spec.child(wanted.hostPath === undefined ? 'local' : 'hostPath').child('path'),
      path,
      "must not contain '..'",
    );
  if (wanted.storageClassName)
    errors.check(spec.child('storageClassName'), wanted.storageClassName, dnsSubdomain);
  // What becomes an argument of a program is judged as for manifests of files.
  const arguments_ = validateObject({ ...volume, apiVersion: 'v1', kind: 'PersistentVolume' });
  return [...errors.list, ...arguments_.filter((error) => error.path.length > 1)];
}

function volumeChanges(next: PersistentVolumeSpec, current: PersistentVolumeSpec): readonly FieldError[] {
  const errors = new FieldErrors();
  const source = (of: PersistentVolumeSpec): unknown => Object.fromEntries(sourcesOf(of));
  if (!semanticEqual(source(next), source(current)))
    errors.forbidden(
      spec.child('persistentvolumesource'),
      'spec.persistentvolumesource is immutable after creation',
    );
  if (next.volumeMode !== current.volumeMode)
    errors.invalid(spec.child('volumeMode'), next.volumeMode, 'field is immutable');
  if (current.nodeAffinity !== undefined && !semanticEqual(next.nodeAffinity, current.nodeAffinity))
    errors.invalid(spec.child('nodeAffinity'), next.nodeAffinity, 'field is immutable');
  return errors.list;
}

export const persistentVolumeClaimKind = served<PersistentVolumeClaim>({
  resource: resources.persistentVolumeClaims,
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  subresources: ['status'],
  defaults: ({ spec: wanted }) => applyClaimDefaults(wanted),
  admit: (claim, facts) => {
    claim.status = { phase: 'Pending' };
    protect(claim, claimProtection);
    const standard = claim.spec.storageClassName === undefined ? defaultClass(facts) : undefined;
    if (standard !== undefined) claim.spec.storageClassName = standard;
  },
  validate: (claim) => {
    const errors = new FieldErrors();
    validateClaimSpec(claim.spec, spec, errors);
    return errors.list;
  },
  validateUpdate: (next, current, subresource) =>
    subresource === 'status' ? [] : claimChanges(next, current),
});

/** The newest of the classes that are marked as the default. */
function defaultClass(facts: ServerFacts): string | undefined {
  const marked = facts
    .list(resources.storageClasses)
    .filter(({ metadata }) => metadata.annotations?.[defaultClassAnnotation] === 'true');
  const [newest] = marked.toSorted((a, b) =>
    (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
  );
  return newest?.metadata.name;
}

function claimChanges(next: PersistentVolumeClaim, current: PersistentVolumeClaim): readonly FieldError[] {
  const errors = new FieldErrors();
  const { resources: wanted, volumeAttributesClassName, ...rest } = next.spec;
  const { resources: had, volumeAttributesClassName: hadAttributes, ...before } = current.spec;
  // It is bound, and given a class, after it was made.
  if (!before.volumeName) before.volumeName = rest.volumeName ?? '';
  if (before.storageClassName === undefined && rest.storageClassName !== undefined)
    before.storageClassName = rest.storageClassName;
  if (!rest.volumeName) rest.volumeName = '';
  const isBound = current.status?.phase === 'Bound';
  const sizeChanged = !semanticEqual(wanted, had);
  if (!semanticEqual(rest, before) || (sizeChanged && !isBound))
    errors.forbidden(
      spec,
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    );
  const size = tryParseQuantity(wanted?.requests?.storage ?? '');
  const capacity = tryParseQuantity(current.status?.capacity?.storage ?? '');
  if (sizeChanged && size !== undefined && capacity !== undefined && compareQuantities(size, capacity) < 0)
    errors.forbidden(
      spec.child('resources').child('requests').child('storage'),
      'field can not be less than status.capacity',
    );
  return errors.list;
}
