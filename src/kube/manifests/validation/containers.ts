/** Validates the containers of a pod: what they run, their ports, and how they restart. */

import { isSidecar } from '../../pods/pod-names.js';
import type { Container, ContainerRestartRule } from '../../types/container.js';
import type { PodSpec } from '../../types/pod.js';
import type { Volume } from '../../types/volume.js';
import { validateEnv } from './env.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { validateVolumeDevices, validateVolumeMounts } from './mounts.js';
import { dnsLabel, ipAddress, portName } from './names.js';
import { validateLifecycle, validateProbes } from './probes.js';
import { validateResizePolicy, validateResources } from './resources.js';
import { validateSecurityContext } from './security.js';

/** Shared state for validating the containers of one pod. */
export interface PodScope {
  readonly spec: PodSpec;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: ReadonlySet<string>;
}

const largestRuleCount = 20;
const largestExitCodeCount = 255;

export function validateContainers(scope: PodScope, field: LazyFieldPath, errors: FieldErrors): void {
  const { spec } = scope;
  if (spec.containers.length === 0) errors.required(field.child('containers'));
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      const at = field.child(list).child(index);
      if (container.name !== '' && names.has(container.name))
        errors.duplicate(at.child('name'), container.name);
      names.add(container.name);
      validateContainer(container, scope, at, errors);
      validatePorts(
        container,
        scope,
        list === 'containers' ? hostPorts : new Set(),
        at.child('ports'),
        errors,
      );
      if (list === 'initContainers') validateInitContainer(container, at, errors);
    }
  }
  if ((spec.ephemeralContainers?.length ?? 0) > 0) {
    errors.forbidden(field.child('ephemeralContainers'), 'cannot be set on create');
  }
}

function validateContainer(
  container: Container,
  scope: PodScope,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const { spec } = scope;
  errors.requiredCheck(field.child('name'), container.name, dnsLabel);
  const { image = '' } = container;
  if (image === '') errors.required(field.child('image'));
  else if (image.trim() !== image)
    errors.invalid(field.child('image'), image, 'must not have leading or trailing whitespace');
  errors.requiredOneOf(field.child('imagePullPolicy'), container.imagePullPolicy, [
    'Always',
    'IfNotPresent',
    'Never',
  ]);
  errors.requiredOneOf(field.child('terminationMessagePolicy'), container.terminationMessagePolicy, [
    'FallbackToLogsOnError',
    'File',
  ]);
  validateEnv(container, scope.volumes, field, errors);
  validateVolumeMounts(container, scope.volumes, field.child('volumeMounts'), errors);
  validateVolumeDevices(container, scope, field.child('volumeDevices'), errors);
  validateResources(container.resources, scope.claims, field.child('resources'), errors);
  validateResizePolicy(container.resizePolicy, spec.restartPolicy, field.child('resizePolicy'), errors);
  validateSecurityContext(container.securityContext, spec, field.child('securityContext'), errors);
  validateLifecycle(container, spec, field.child('lifecycle'), errors);
  validateProbes(container, field, errors);
  errors.oneOf(field.child('restartPolicy'), container.restartPolicy, ['Always', 'Never', 'OnFailure']);
  validateRestartRules(container, field, errors);
}

/** Only sidecars can have probes or hooks. */
function validateInitContainer(container: Container, field: LazyFieldPath, errors: FieldErrors): void {
  if (isSidecar(container)) return;
  for (const name of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (container[name] === undefined) continue;
    const onlyStopSignal =
      name === 'lifecycle' && !container.lifecycle?.postStart && !container.lifecycle?.preStop;
    if (!onlyStopSignal)
      errors.forbidden(field.child(name), 'only init containers with restartPolicy Always may have it');
  }
}

function validatePorts(
  container: Container,
  scope: PodScope,
  hostPorts: Set<string>,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const names = new Set<string>();
  for (const [index, port] of (container.ports ?? []).entries()) {
    const at = field.child(index);
    if (port.name) {
      errors.check(at.child('name'), port.name, portName);
      if (names.has(port.name)) errors.duplicate(at.child('name'), port.name);
      names.add(port.name);
    }
    if (port.containerPort === 0) errors.required(at.child('containerPort'));
    else errors.inRange(at.child('containerPort'), port.containerPort, 1, 65535);
    errors.requiredOneOf(at.child('protocol'), port.protocol, ['SCTP', 'TCP', 'UDP']);
    if (port.hostIP) errors.check(at.child('hostIP'), port.hostIP, ipAddress);
    const { hostPort = 0 } = port;
    if (scope.spec.hostNetwork === true && hostPort !== port.containerPort) {
      errors.invalid(
        at.child('containerPort'),
        port.containerPort,
        'must equal `hostPort` on the host network',
      );
    }
    if (hostPort === 0) continue;
    errors.inRange(at.child('hostPort'), hostPort, 1, 65535);
    const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${hostPort}`;
    if (hostPorts.has(key)) errors.duplicate(at.child('hostPort'), key);
    hostPorts.add(key);
  }
}

function validateRestartRules(container: Container, field: LazyFieldPath, errors: FieldErrors): void {
  const rules = container.restartPolicyRules ?? [];
  const at = field.child('restartPolicyRules');
  if (rules.length > 0 && container.restartPolicy === undefined) {
    errors.required(field.child('restartPolicy'), 'restartPolicyRules need a restartPolicy of the container');
  }
  if (rules.length > largestRuleCount) errors.tooMany(at, rules.length, largestRuleCount);
  for (const [index, rule] of rules.entries()) validateRestartRule(rule, at.child(index), errors);
}

function validateRestartRule(rule: ContainerRestartRule, field: LazyFieldPath, errors: FieldErrors): void {
  errors.requiredOneOf(field.child('action'), rule.action, ['Restart', 'RestartAllContainers']);
  const at = field.child('exitCodes');
  if (rule.exitCodes === undefined) {
    errors.required(at, 'must be specified');
    return;
  }
  errors.requiredOneOf(at.child('operator'), rule.exitCodes.operator, ['In', 'NotIn']);
  const { values = [] } = rule.exitCodes;
  const list = at.child('values');
  if (values.length === 0) errors.invalid(list, values, 'must contain at least one exit code');
  if (values.length > largestExitCodeCount) errors.tooMany(list, values.length, largestExitCodeCount);
  for (const [index, value] of values.entries()) {
    errors.inRange(list.child(index), value, 0, 255);
    if (values.indexOf(value) < index) errors.duplicate(list.child(index), value);
  }
}
