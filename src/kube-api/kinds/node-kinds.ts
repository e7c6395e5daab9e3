/** Nodes, their leases, classes of runtimes, events, and revisions of workloads. */
import { type FieldError, FieldErrors, LazyFieldPath } from '../../kube/manifests/validation/field-errors.js';
import { dnsLabel, labelValue, qualifiedName } from '../../kube/manifests/validation/names.js';
import type { ControllerRevision, Event, Lease, Node, RuntimeClass } from '../../kube/types/index.js';
import { semanticEqual } from '../../kube/values/deep-equal.js';
import { resources } from '../../kube-client/resources.js';
import { served } from './served-kind.js';

const taintEffects = ['NoExecute', 'NoSchedule', 'PreferNoSchedule'];

export const nodeKind = served<Node>({
  resource: resources.nodes,
  singular: 'node',
  shortNames: ['no'],
  subresources: ['status'],
  // The agent registers its node with what it knows of it.
  takesStatusOnCreate: true,
  validate: ({ spec = {} }) => {
    const errors = new FieldErrors();
    const field = LazyFieldPath.root('spec').child('taints');
    const known = new Set<string>();
    for (const [index, { key, value = '', effect }] of (spec.taints ?? []).entries()) {
      const at = field.child(index);
      errors.requiredCheck(at.child('key'), key, qualifiedName);
      errors.check(at.child('value'), value, labelValue);
      errors.requiredOneOf(at.child('effect'), effect, taintEffects);
      const identity = `${key}:${effect}`;
      if (known.has(identity)) errors.duplicate(at, { key, effect });
      known.add(identity);
    }
    return errors.list;
  },
  validateUpdate: ({ spec = {} }, { spec: before = {} }, subresource) => {
    const errors = new FieldErrors();
    if (subresource === 'status') return errors.list;
    const field = LazyFieldPath.root('spec');
    if (before.providerID && spec.providerID !== before.providerID)
      errors.forbidden(
        field.child('providerID'),
        'node updates may not change providerID except from "" to valid',
      );
    if ((before.podCIDRs ?? []).length > 0 && !semanticEqual(spec.podCIDRs, before.podCIDRs))
      errors.forbidden(
        field.child('podCIDRs'),
        'node updates may not change podCIDR except from "" to valid',
      );
    return errors.list;
  },
});

export const leaseKind = served<Lease>({
  resource: resources.leases,
  singular: 'lease',
  subresources: [],
  validate: ({ spec = {} }) => {
    const errors = new FieldErrors();
    const field = LazyFieldPath.root('spec');
    const { leaseDurationSeconds, leaseTransitions } = spec;
    if (leaseDurationSeconds !== undefined && !(leaseDurationSeconds > 0))
      errors.invalid(field.child('leaseDurationSeconds'), leaseDurationSeconds, 'must be greater than 0');
    errors.nonNegative(field.child('leaseTransitions'), leaseTransitions);
    return errors.list;
  },
});

export const runtimeClassKind = served<RuntimeClass>({
  resource: resources.runtimeClasses,
  singular: 'runtimeclass',
  subresources: [],
  defaults: ({ scheduling }) => {
    if (scheduling?.tolerations !== undefined && !Array.isArray(scheduling.tolerations))
      throw new TypeError('scheduling.tolerations is no list');
  },
  validate: ({ handler }) => {
    const errors = new FieldErrors();
    errors.requiredCheck(LazyFieldPath.root('handler'), handler, dnsLabel);
    return errors.list;
  },
  validateUpdate: ({ handler }, current): readonly FieldError[] => {
    const errors = new FieldErrors();
    if (handler !== current.handler)
      errors.invalid(LazyFieldPath.root('handler'), handler, 'field is immutable');
    return errors.list;
  },
});

/** Events of what has no namespace are in this one. */
const defaultNamespace = 'default';

export const eventKind = served<Event>({
  resource: resources.events,
  singular: 'event',
  shortNames: ['ev'],
  subresources: [],
  validate: ({ metadata: { namespace = '' }, involvedObject }) => {
    const errors = new FieldErrors();
    const { namespace: of = '' } = involvedObject ?? {};
    const fits =
      of === namespace || (of === '' && (namespace === defaultNamespace || namespace === 'kube-system'));
    if (!fits)
      errors.invalid(
        LazyFieldPath.root('involvedObject').child('namespace'),
        of,
        'does not match event.namespace',
      );
    return errors.list;
  },
});

export const controllerRevisionKind = served<ControllerRevision>({
  resource: resources.controllerRevisions,
  singular: 'controllerrevision',
  subresources: [],
  validate: ({ revision, data }) => {
    const errors = new FieldErrors();
    errors.nonNegative(LazyFieldPath.root('revision'), revision);
    if (data === undefined || data === null) errors.required(LazyFieldPath.root('data'));
    return errors.list;
  },
  validateUpdate: ({ data }, current) => {
    const errors = new FieldErrors();
    if (!semanticEqual(data, current.data))
      errors.invalid(LazyFieldPath.root('data'), data, 'field is immutable');
    return errors.list;
  },
});
