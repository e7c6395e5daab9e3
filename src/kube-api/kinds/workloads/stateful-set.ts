/** StatefulSets: most of their spec stays as it was made. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import { dnsLabel, dnsSubdomain } from '../../../kube/manifests/validation/names.js';
import type { StatefulSet } from '../../../kube/types/index.js';
import { semanticEqual } from '../../../kube/values/deep-equal.js';
import { resources } from '../../../kube-client/resources.js';
import { served } from '../served-kind.js';
import { applyClaimDefaults } from '../storage/claim-spec.js';
import { isZero, validateAtMostAll, validateCountOrPercent, validateCounts } from './amounts.js';
import { applyTemplateDefaults, templateErrors, validateEndlessTemplate } from './pod-template.js';
import { validateSelector } from './selector.js';

const spec = LazyFieldPath.root('spec');
const mutable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
] as const;

export const statefulSetKind = served<StatefulSet>({
  resource: resources.statefulSets,
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  subresources: ['status', 'scale'],
  countsGenerations: true,
  defaults: ({ spec: wanted }) => {
    wanted.podManagementPolicy ||= 'OrderedReady';
    wanted.updateStrategy ??= {};
    wanted.updateStrategy.type ||= 'RollingUpdate';
    if (wanted.updateStrategy.type === 'RollingUpdate') {
      wanted.updateStrategy.rollingUpdate ??= {};
      wanted.updateStrategy.rollingUpdate.partition ??= 0;
    }
    wanted.persistentVolumeClaimRetentionPolicy ??= {};
    wanted.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain';
    wanted.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain';
    wanted.replicas ??= 1;
    wanted.revisionHistoryLimit ??= 10;
    wanted.template ??= { spec: { containers: [] } };
    applyTemplateDefaults(wanted.template);
    for (const claim of wanted.volumeClaimTemplates ?? []) {
      applyClaimDefaults(claim.spec);
      claim.status ??= { phase: 'Pending' };
    }
  },
  admit: (set) => {
    set.status = { replicas: 0 };
  },
  validate,
  validateUpdate: (next, current, subresource) => (subresource === 'status' ? [] : changes(next, current)),
});

function validate({ spec: wanted, metadata }: StatefulSet): readonly FieldError[] {
  const errors = new FieldErrors();
  validateCounts(wanted, ['replicas', 'minReadySeconds', 'revisionHistoryLimit'], spec, errors);
  errors.requiredOneOf(spec.child('podManagementPolicy'), wanted.podManagementPolicy, [
    'OrderedReady',
    'Parallel',
  ]);
  const { type, rollingUpdate } = wanted.updateStrategy ?? {};
  const strategy = spec.child('updateStrategy');
  errors.requiredOneOf(strategy.child('type'), type, ['OnDelete', 'RollingUpdate']);
  if (type === 'OnDelete' && rollingUpdate !== undefined)
    errors.invalid(
      strategy.child('rollingUpdate'),
      rollingUpdate,
      "only allowed for updateStrategy 'RollingUpdate'",
    );
  const rolling = strategy.child('rollingUpdate');
  validateCounts(rollingUpdate ?? {}, ['partition'], rolling, errors);
  const maxUnavailable = rollingUpdate?.maxUnavailable;
  validateCountOrPercent(maxUnavailable, rolling.child('maxUnavailable'), errors);
  if (isZero(maxUnavailable)) errors.invalid(rolling.child('maxUnavailable'), maxUnavailable, 'cannot be 0');
  validateAtMostAll(maxUnavailable, rolling.child('maxUnavailable'), errors);
  for (const when of ['whenDeleted', 'whenScaled'] as const)
    errors.oneOf(
      spec.child('persistentVolumeClaimRetentionPolicy').child(when),
      wanted.persistentVolumeClaimRetentionPolicy?.[when],
      ['Retain', 'Delete'],
    );
  validateCounts(wanted.ordinals ?? {}, ['start'], spec.child('ordinals'), errors);
  if (wanted.serviceName) errors.check(spec.child('serviceName'), wanted.serviceName, dnsSubdomain);
  // The name becomes part of a label, and of the names of pods as hosts.
  errors.check(LazyFieldPath.root('metadata').child('name'), metadata.name ?? '', dnsLabel);
  validateSelector(wanted.selector, wanted.template, 'statefulset', errors);
  validateEndlessTemplate(wanted.template, 'StatefulSet', errors);
  return [...errors.list, ...templateErrors(withClaims(wanted), ['spec', 'template'])];
}

/** Containers may mount what comes of the templates of claims. */
function withClaims({
  template,
  volumeClaimTemplates = [],
}: StatefulSet['spec']): StatefulSet['spec']['template'] {
  const claims = volumeClaimTemplates.map(({ metadata: { name = '' } }) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-0` },
  }));
  const names = new Set(claims.map(({ name }) => name));
  const others = (template.spec.volumes ?? []).filter(({ name }) => !names.has(name));
  return { ...template, spec: { ...template.spec, volumes: [...others, ...claims] } };
}

function changes(next: StatefulSet, current: StatefulSet): readonly FieldError[] {
  const rest = { ...next.spec };
  for (const name of mutable) {
    if (current.spec[name] === undefined) delete rest[name];
    else Reflect.set(rest, name, current.spec[name]);
  }
  if (semanticEqual(rest, current.spec)) return [];
  const message =
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  return [{ path: ['spec'], message }];
}
