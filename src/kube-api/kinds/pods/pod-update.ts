/** What each way of writing a pod may change, once the pod is there. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import { isMirrorPod, isSidecar } from '../../../kube/pods/pod-names.js';
import { computeQosClass } from '../../../kube/pods/qos.js';
import type { Container, EphemeralContainer, Pod, PodSpec } from '../../../kube/types/index.js';
import { clone, semanticEqual } from '../../../kube/values/deep-equal.js';
import type { ObjectSubresource } from '../../../kube-client/resources.js';

const containerLists = ['containers', 'initContainers'] as const;
const specField = LazyFieldPath.root('spec');
const otherFields =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Two subresources change one part only: whatever else a client sent there stays as it was. */
export function keepOtherThanWritten(
  next: Pod,
  current: Pod,
  subresource: ObjectSubresource | undefined,
): void {
  if (subresource === 'ephemeralcontainers') {
    const { ephemeralContainers } = next.spec;
    restore(next, current);
    if (ephemeralContainers !== undefined) next.spec.ephemeralContainers = ephemeralContainers;
  } else if (subresource === 'resize') {
    const wanted = next.spec;
    restore(next, current);
    if (wanted.resources !== undefined) next.spec.resources = wanted.resources;
    for (const list of containerLists) {
      for (const container of next.spec[list] ?? []) {
        const asked = wanted[list]?.find(({ name }) => name === container.name);
        if (asked?.resources !== undefined) container.resources = asked.resources;
        if (asked?.resizePolicy !== undefined) container.resizePolicy = asked.resizePolicy;
      }
    }
  } else if (subresource === undefined) {
    const { priority, preemptionPolicy } = current.spec;
    if (priority !== undefined) next.spec.priority ??= priority;
    if (preemptionPolicy !== undefined) next.spec.preemptionPolicy ??= preemptionPolicy;
  }
}

function restore(next: Pod, current: Pod): void {
  const { resourceVersion } = next.metadata;
  next.metadata = clone(current.metadata);
  if (resourceVersion !== undefined) next.metadata.resourceVersion = resourceVersion;
  next.spec = clone(current.spec);
}

export function validatePodUpdate(
  next: Pod,
  current: Pod,
  subresource: ObjectSubresource | undefined,
): readonly FieldError[] {
  const errors = new FieldErrors();
  switch (subresource) {
    case undefined:
      validatePlainUpdate(next.spec, current.spec, errors);
      break;
    case 'ephemeralcontainers':
      validateEphemeralContainers(next, current, errors);
      break;
    case 'resize':
      validateResize(next, current, errors);
      break;
    default:
      break;
  }
  return errors.list;
}

function validatePlainUpdate(next: PodSpec, before: PodSpec, errors: FieldErrors): void {
  const rest = clone(next);
  for (const list of containerLists) {
    const old = before[list] ?? [];
    const given = rest[list] ?? [];
    if (given.length !== old.length) {
      errors.forbidden(specField.child(list), 'pod updates may not add or remove containers');
      return;
    }
    for (const [index, container] of given.entries()) {
      const { image } = old[index] ?? {};
      if (image === undefined) delete container.image;
      else container.image = image;
    }
  }
  validateDeadline(next, before, errors);
  validateTolerations(next, before, errors);
  validateGates(rest, next, before, errors);
  takeOver(rest, before, ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']);
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && next.terminationGracePeriodSeconds === 1)
    takeOver(rest, before, ['terminationGracePeriodSeconds']);
  if (!semanticEqual(rest, before)) errors.forbidden(specField, otherFields);
}

/** A running pod's time may only become shorter. */
function validateDeadline(next: PodSpec, before: PodSpec, errors: FieldErrors): void {
  const { activeDeadlineSeconds: was } = before;
  const { activeDeadlineSeconds: wanted } = next;
  const field = specField.child('activeDeadlineSeconds');
  if (was === undefined) return;
  if (wanted === undefined)
    errors.invalid(field, undefined, 'must not update from a positive integer to nil value');
  else if (wanted > was) errors.invalid(field, wanted, 'must be less than or equal to previous value');
}

function validateTolerations(next: PodSpec, before: PodSpec, errors: FieldErrors): void {
  const timeless = (spec: PodSpec): unknown[] =>
    (spec.tolerations ?? []).map(({ tolerationSeconds, ...rest }) => rest);
  const given = timeless(next);
  const isGone = (one: unknown): boolean => !given.some((other) => semanticEqual(one, other));
  if (timeless(before).some(isGone))
    errors.forbidden(
      specField.child('tolerations'),
      'existing toleration can not be modified except its tolerationSeconds',
    );
}

/** Gates only go; while one is left, the pod may still be tied to fewer nodes. */
function validateGates(rest: PodSpec, next: PodSpec, before: PodSpec, errors: FieldErrors): void {
  const had = new Set((before.schedulingGates ?? []).map(({ name }) => name));
  for (const [index, { name }] of (next.schedulingGates ?? []).entries()) {
    if (!had.has(name))
      errors.forbidden(
        specField.child('schedulingGates').child(index),
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      );
  }
  if (had.size === 0) return;
  const kept = Object.entries(before.nodeSelector ?? {});
  if (kept.every(([key, value]) => next.nodeSelector?.[key] === value))
    takeOver(rest, before, ['nodeSelector']);
  if (before.affinity?.nodeAffinity === undefined && next.affinity?.nodeAffinity !== undefined) {
    const { nodeAffinity, ...others } = next.affinity;
    rest.affinity = others;
  }
}

function takeOver<K extends keyof PodSpec>(spec: PodSpec, from: PodSpec, fields: readonly K[]): void {
  for (const field of fields) {
    if (from[field] === undefined) delete spec[field];
    else spec[field] = from[field];
  }
}

/** What only containers that belong to the pod's life have. */
const notForEphemeral = ['ports', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'] as const;

function validateEphemeralContainers(next: Pod, current: Pod, errors: FieldErrors): void {
  const field = specField.child('ephemeralContainers');
  if (isMirrorPod(current)) {
    errors.forbidden(specField, 'static pods do not support ephemeral containers');
    return;
  }
  const given = next.spec.ephemeralContainers ?? [];
  for (const old of current.spec.ephemeralContainers ?? []) {
    const name = JSON.stringify(old.name);
    const same = given.find((one) => one.name === old.name);
    if (same === undefined)
      errors.forbidden(field, `existing ephemeral containers ${name} may not be removed`);
    else if (!semanticEqual(same, old))
      errors.forbidden(field, `existing ephemeral containers ${name} may not be changed`);
  }
  const names = new Set(containerLists.flatMap((list) => next.spec[list] ?? []).map(({ name }) => name));
  for (const [index, container] of given.entries()) {
    const at = field.child(index);
    if (names.has(container.name)) errors.duplicate(at.child('name'), container.name);
    validateEphemeralContainer(container, next.spec, at, errors);
    names.add(container.name);
  }
}

function validateEphemeralContainer(
  container: EphemeralContainer,
  spec: PodSpec,
  at: LazyFieldPath,
  errors: FieldErrors,
): void {
  if (!container.name) errors.required(at.child('name'));
  if (!container.image) errors.required(at.child('image'));
  for (const field of notForEphemeral) {
    if (!semanticEqual(Reflect.get(container, field), undefined))
      errors.forbidden(at.child(field), 'cannot be set for an Ephemeral Container');
  }
  if (!semanticEqual(container.resources, undefined))
    errors.forbidden(at.child('resources'), 'cannot be set for an Ephemeral Container');
  const target = container.targetContainerName;
  if (target && !containerLists.some((list) => spec[list]?.some(({ name }) => name === target)))
    errors.notFound(at.child('targetContainerName'), target);
  for (const [index, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries()) {
    if (subPath || subPathExpr)
      errors.forbidden(
        at
          .child('volumeMounts')
          .child(index)
          .child(subPath ? 'subPath' : 'subPathExpr'),
        'cannot be set for an Ephemeral Container',
      );
  }
}

const resizable: ReadonlySet<string> = new Set(['cpu', 'memory']);

function validateResize(next: Pod, current: Pod, errors: FieldErrors): void {
  if (isMirrorPod(current)) {
    errors.forbidden(specField, 'static pods cannot be resized');
    return;
  }
  const before = current.status?.qosClass ?? computeQosClass(current);
  if (computeQosClass(next) !== before)
    errors.invalid(specField, before, 'Pod QOS Class may not change as a result of resizing');
  validateAmounts(next.spec, current.spec, specField, errors);
  for (const list of containerLists) {
    for (const [index, container] of (next.spec[list] ?? []).entries()) {
      const old: Container | undefined = current.spec[list]?.[index];
      if (old === undefined) continue;
      const at = specField.child(list).child(index);
      const isOnce = list === 'initContainers' && !isSidecar(container);
      if (isOnce && restartsOnResize(container) && !semanticEqual(container.resources, old.resources))
        errors.forbidden(
          at,
          'non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
        );
      validateAmounts(container, old, at, errors);
    }
  }
}

/** A container that runs once would run its work again. */
function restartsOnResize({ resizePolicy = [] }: Container): boolean {
  return resizePolicy.some(({ restartPolicy }) => restartPolicy === 'RestartContainer');
}

/** CPU and memory may change, and what has an amount keeps one. */
function validateAmounts(
  next: Pick<Container, 'resources'>,
  before: Pick<Container, 'resources'>,
  at: LazyFieldPath,
  errors: FieldErrors,
): void {
  for (const side of ['requests', 'limits'] as const) {
    const [given, old] = [next.resources?.[side] ?? {}, before.resources?.[side] ?? {}];
    for (const name of new Set([...Object.keys(given), ...Object.keys(old)])) {
      if (given[name] === old[name]) continue;
      const field = at.child('resources').child(side);
      if (!resizable.has(name)) errors.forbidden(field, 'only cpu and memory resources are mutable');
      else if (given[name] === undefined) errors.forbidden(field, `resource ${side} cannot be removed`);
    }
  }
  if (!semanticEqual(next.resources?.claims, before.resources?.claims))
    errors.forbidden(at.child('resources').child('claims'), 'only cpu and memory resources are mutable');
}
