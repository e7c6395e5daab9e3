/** Validates where a container mounts the volumes of its pod. */
import type { Container, VolumeMount } from '../../types/container.js';
import type { PodSpec } from '../../types/pod.js';
import type { Volume } from '../../types/volume.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { localPath, noBacksteps } from './names.js';

export function validateVolumeMounts(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const paths = new Set<string>();
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = field.child(index);
    if (mount.name === '') errors.required(at.child('name'));
    else if (!volumes.has(mount.name)) errors.notFound(at.child('name'), mount.name);
    if (mount.mountPath === '') errors.required(at.child('mountPath'));
    else if (paths.has(mount.mountPath))
      errors.invalid(at.child('mountPath'), mount.mountPath, 'must be unique');
    paths.add(mount.mountPath);
    validateSubPath(mount, at, errors);
    validateMountOptions(mount, container, at, errors);
  }
}

export function validateVolumeDevices(
  container: Container,
  scope: { readonly spec: PodSpec; readonly volumes: ReadonlyMap<string, Volume> },
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const devices = container.volumeDevices ?? [];
  const mountPaths = new Set(container.volumeMounts?.map((mount) => mount.mountPath));
  const mountNames = new Set(container.volumeMounts?.map((mount) => mount.name));
  const paths = new Set<string>();
  const names = new Set<string>();
  if (devices.length > 0 && scope.spec.hostUsers === false) {
    errors.forbidden(field, 'when `hostUsers` is false');
  }
  for (const [index, device] of devices.entries()) {
    const name = field.child(index).child('name');
    const path = field.child(index).child('devicePath');
    const volume = scope.volumes.get(device.name);
    if (device.name === '') errors.required(name);
    else if (volume === undefined) errors.notFound(name, device.name);
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      errors.invalid(
        name,
        device.name,
        'must be a persistentVolumeClaim or ephemeral volume to be used as a block device',
      );
    }
    if (names.has(device.name) || mountNames.has(device.name))
      errors.invalid(name, device.name, 'must be unique among volumeDevices and volumeMounts');
    names.add(device.name);
    errors.requiredCheck(path, device.devicePath, noBacksteps);
    if (paths.has(device.devicePath) || mountPaths.has(device.devicePath)) {
      errors.invalid(path, device.devicePath, 'must be unique among volumeDevices and volumeMounts');
    }
    paths.add(device.devicePath);
  }
}

function validateSubPath(mount: VolumeMount, field: LazyFieldPath, errors: FieldErrors): void {
  if (mount.subPath) errors.check(field.child('subPath'), mount.subPath, localPath);
  if (!mount.subPathExpr) return;
  errors.check(field.child('subPathExpr'), mount.subPathExpr, localPath);
  if (mount.subPath)
    errors.invalid(field.child('subPathExpr'), mount.subPathExpr, 'give either subPath or subPathExpr');
}

function validateMountOptions(
  mount: VolumeMount,
  container: Container,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const propagation = field.child('mountPropagation');
  errors.oneOf(propagation, mount.mountPropagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (mount.mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    errors.forbidden(propagation, 'Bidirectional needs a privileged container');
  }
  for (const [index, option] of (mount.bindMountOptions ?? []).entries()) {
    errors.oneOf(field.child('bindMountOptions').child(index), option, ['nodev', 'noexec', 'nosuid']);
  }
  const recursive = field.child('recursiveReadOnly');
  errors.oneOf(recursive, mount.recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
  if (mount.recursiveReadOnly === undefined || mount.recursiveReadOnly === 'Disabled') return;
  if (mount.readOnly !== true) errors.forbidden(recursive, 'needs readOnly to be true');
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') {
    errors.forbidden(recursive, 'needs mountPropagation to be None or left out');
  }
}
