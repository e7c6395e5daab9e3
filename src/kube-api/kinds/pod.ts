/** Pods: defaults, what a new pod is given, and what may change later. */
import { applyPodDefaults } from '../../kube/manifests/defaults.js';
import type { FieldError } from '../../kube/manifests/validation/field-errors.js';
import { validatePod } from '../../kube/manifests/validation.js';
import { computeQosClass } from '../../kube/pods/qos.js';
import type { Pod, PodManifest } from '../../kube/types/index.js';
import { clone } from '../../kube/values/deep-equal.js';
import { jsonEqual } from '../../kube-client/patches/json.js';
import { type ObjectSubresource, resources } from '../../kube-client/resources.js';
import { decideDeletion } from '../objects/object-rules.js';
import { served } from './served-kind.js';

export const podKind = served({
  resource: resources.pods,
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  subresources: ['status', 'ephemeralcontainers', 'resize'],
  countsGenerations: true,
  defaults: (pod) => void applyPodDefaults(pod),
  admit: (pod) => {
    pod.status = { phase: 'Pending', qosClass: computeQosClass(pod) };
  },
  // The server has given it name and namespace before it asks.
  validate: (pod) => validatePod(pod as PodManifest),
  validateUpdate,
  deletion: (pod, { gracePeriodSeconds }, nowMs) =>
    decideDeletion({ resource: resources.pods, object: pod, gracePeriodSeconds, nowMs }),
});

/** What each way of writing may change; everything else of the spec stays. */
function validateUpdate(
  next: Pod,
  current: Pod,
  subresource: ObjectSubresource | undefined,
): readonly FieldError[] {
  if (subresource === 'status') return [];
  const allowed = clone(next.spec);
  const before = current.spec;
  if (subresource === 'ephemeralcontainers') allowed.ephemeralContainers = before.ephemeralContainers ?? [];
  else if (subresource === 'resize') {
    allowed.resources = before.resources ?? {};
    for (const list of ['containers', 'initContainers'] as const) {
      for (const container of allowed[list] ?? []) {
        const old = before[list]?.find(({ name }) => name === container.name);
        if (old !== undefined) {
          container.resources = old.resources ?? {};
          if (old.resizePolicy !== undefined) container.resizePolicy = old.resizePolicy;
        }
      }
    }
  } else {
    for (const list of ['containers', 'initContainers'] as const) {
      for (const container of allowed[list] ?? []) {
        const old = before[list]?.find(({ name }) => name === container.name);
        if (old?.image !== undefined) container.image = old.image;
      }
    }
    if (before.activeDeadlineSeconds === undefined) delete allowed.activeDeadlineSeconds;
    else allowed.activeDeadlineSeconds = before.activeDeadlineSeconds;
    if (before.terminationGracePeriodSeconds !== undefined)
      allowed.terminationGracePeriodSeconds = before.terminationGracePeriodSeconds;
    if (before.tolerations !== undefined) allowed.tolerations = before.tolerations;
    if (before.schedulingGates !== undefined) allowed.schedulingGates = before.schedulingGates;
  }
  const unchanged = (spec: unknown): unknown => JSON.parse(JSON.stringify(spec));
  if (jsonEqual(withoutEmpty(unchanged(allowed)), withoutEmpty(unchanged(before)))) return [];
  const message =
    subresource === 'resize'
      ? 'Forbidden: only cpu and memory resources are mutable'
      : subresource === 'ephemeralcontainers'
        ? 'Forbidden: only ephemeral containers may be added here'
        : 'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
  return [{ path: ['spec'], message }];
}

/** An absent member and an empty one mean the same. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, member]): [string, unknown] => [key, withoutEmpty(member)])
    .filter(([, member]) => !isEmpty(member));
  return Object.fromEntries(kept);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
