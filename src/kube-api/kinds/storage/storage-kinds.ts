/** Classes of storage, and what storage drivers and their attachments tell of themselves. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import { dnsSubdomain, qualifiedName } from '../../../kube/manifests/validation/names.js';
import type { StorageClass } from '../../../kube/types/index.js';
import { semanticEqual } from '../../../kube/values/deep-equal.js';
import { resources } from '../../../kube-client/resources.js';
import { served } from '../served-kind.js';

export const storageClassKind = served<StorageClass>({
  resource: resources.storageClasses,
  singular: 'storageclass',
  shortNames: ['sc'],
  subresources: [],
  defaults: (one) => {
    one.reclaimPolicy ||= 'Delete';
    one.volumeBindingMode ||= 'Immediate';
  },
  validate: ({ provisioner, reclaimPolicy, volumeBindingMode }) => {
    const errors = new FieldErrors();
    errors.requiredCheck(LazyFieldPath.root('provisioner'), provisioner, (text) =>
      qualifiedName(text.toLowerCase()),
    );
    errors.oneOf(LazyFieldPath.root('reclaimPolicy'), reclaimPolicy, ['Delete', 'Retain']);
    errors.oneOf(LazyFieldPath.root('volumeBindingMode'), volumeBindingMode, [
      'Immediate',
      'WaitForFirstConsumer',
    ]);
    return errors.list;
  },
  validateUpdate: (next, current) => {
    const errors = new FieldErrors();
    if (!semanticEqual(next.parameters, current.parameters))
      errors.forbidden(LazyFieldPath.root('parameters'), 'updates to parameters are forbidden.');
    if (next.provisioner !== current.provisioner)
      errors.forbidden(LazyFieldPath.root('provisioner'), 'updates to provisioner are forbidden.');
    for (const name of ['reclaimPolicy', 'volumeBindingMode'] as const) {
      if (next[name] !== current[name])
        errors.invalid(LazyFieldPath.root(name), next[name], 'field is immutable');
    }
    return errors.list;
  },
});

export const csiDriverKind = served({
  resource: resources.csiDrivers,
  singular: 'csidriver',
  subresources: [],
  defaults: ({ spec }) => {
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
  },
  validate: ({ spec }) => {
    const errors = new FieldErrors();
    const field = LazyFieldPath.root('spec');
    errors.oneOf(field.child('fsGroupPolicy'), spec.fsGroupPolicy, [
      'File',
      'None',
      'ReadWriteOnceWithFSType',
    ]);
    for (const mode of spec.volumeLifecycleModes ?? [])
      errors.oneOf(field.child('volumeLifecycleModes'), mode, ['Ephemeral', 'Persistent']);
    return errors.list;
  },
  validateUpdate: (next, current) => {
    const errors = new FieldErrors();
    const field = LazyFieldPath.root('spec');
    for (const name of ['attachRequired', 'volumeLifecycleModes'] as const) {
      if (!semanticEqual(next.spec[name], current.spec[name]))
        errors.invalid(field.child(name), next.spec[name], 'field is immutable');
    }
    return errors.list;
  },
});

export const csiNodeKind = served({
  resource: resources.csiNodes,
  singular: 'csinode',
  subresources: [],
  validate: ({ spec }) => {
    const errors = new FieldErrors();
    const names = new Set<string>();
    const field = LazyFieldPath.root('spec').child('drivers');
    for (const [index, { name, nodeID }] of (spec.drivers ?? []).entries()) {
      const at = field.child(index);
      errors.requiredCheck(at.child('name'), name, (text) => dnsSubdomain(text.toLowerCase()));
      if (!nodeID) errors.required(at.child('nodeID'));
      if (names.has(name)) errors.duplicate(at.child('name'), name);
      names.add(name);
    }
    return errors.list;
  },
});

export const volumeAttachmentKind = served({
  resource: resources.volumeAttachments,
  singular: 'volumeattachment',
  subresources: ['status'],
  validate: ({ spec }) => {
    const errors = new FieldErrors();
    const field = LazyFieldPath.root('spec');
    if (!spec.attacher) errors.required(field.child('attacher'));
    if (!spec.nodeName) errors.required(field.child('nodeName'));
    if (semanticEqual(spec.source, {}))
      errors.required(
        field.child('source'),
        'must specify exactly one of inlineVolumeSpec and persistentVolumeName',
      );
    return errors.list;
  },
  validateUpdate: (next, current): readonly FieldError[] =>
    semanticEqual(next.spec, current.spec)
      ? []
      : [{ path: ['spec'], message: `Invalid value: ${JSON.stringify(next.spec)}: field is immutable` }],
});
