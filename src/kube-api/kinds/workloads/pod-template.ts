/** The template of a workload's pods: its defaults, and its validation as that of a pod. */
import { applyPodTemplateDefaults } from '../../../kube/manifests/defaults.js';
import {
  type FieldError,
  type FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import { validatePod } from '../../../kube/manifests/validation.js';
import type { PodTemplateSpec } from '../../../kube/types/index.js';

export function applyTemplateDefaults(template: PodTemplateSpec): void {
  template.spec ??= { containers: [] };
  template.spec.containers ??= [];
  template.metadata ??= {};
  applyPodTemplateDefaults(template.spec);
}

/** What is wrong with the pods that would come of it; `at` is where the template is. */
export function templateErrors(template: PodTemplateSpec, at: readonly string[]): readonly FieldError[] {
  const { labels, annotations } = template.metadata ?? {};
  const metadata = {
    name: 'pod',
    namespace: 'pods',
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const { ephemeralContainers = [], ...spec } = template.spec;
  const errors = validatePod({ metadata, spec }).map(({ path, message }) => ({
    path: path.length === 0 ? path : [...at, ...path],
    message,
  }));
  if (ephemeralContainers.length === 0) return errors;
  const message = 'Forbidden: ephemeral containers not allowed in pod template';
  return [...errors, { path: [...at, 'spec', 'ephemeralContainers'], message }];
}

/** Pods that are replaced for ever run for ever; `kind` is named where they would not. */
export function validateEndlessTemplate({ spec }: PodTemplateSpec, kind: string, errors: FieldErrors): void {
  const field = LazyFieldPath.root('spec').child('template').child('spec');
  if (spec.restartPolicy !== 'Always')
    errors.unsupported(field.child('restartPolicy'), spec.restartPolicy, ['Always']);
  if (spec.activeDeadlineSeconds !== undefined)
    errors.forbidden(
      field.child('activeDeadlineSeconds'),
      `activeDeadlineSeconds in ${kind} is not Supported`,
    );
}
