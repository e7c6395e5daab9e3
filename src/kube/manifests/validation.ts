/** Validates a new pod as the API server does, reporting everything that is wrong with it. */
import type { PodManifest, PodSpec } from '../types/pod.js';
import { type PodScope, validateContainers } from './validation/containers.js';
import { type FieldError, FieldErrors, LazyFieldPath } from './validation/field-errors.js';
import { validateMetadata } from './validation/metadata.js';
import { dnsLabel, dnsSearchDomain, dnsSubdomain, ipAddress } from './validation/names.js';
import { validateOverhead, validatePodResources } from './validation/resources.js';
import { validateResourceClaims, validateScheduling } from './validation/scheduling.js';
import { validatePodSecurityContext } from './validation/security.js';
import { validateVolumes } from './validation/volumes.js';

const largestInt32 = 2 ** 31 - 1;
const largestNameserverCount = 3;
const largestSearchCount = 32;
const searchesLimitBytes = 2048;
const longestHostname = 64;

/** All errors of a pod that has its defaults; an empty list means that it can be run. */
export function validatePod(pod: PodManifest): FieldError[] {
  const errors = new FieldErrors();
  const { spec } = pod;
  const field = LazyFieldPath.root('spec');
  validateMetadata(pod.metadata, LazyFieldPath.root('metadata'), errors);
  const scope: PodScope = {
    spec,
    volumes: validateVolumes(spec.volumes, field.child('volumes'), errors),
    claims: validateResourceClaims(spec, field.child('resourceClaims'), errors),
  };
  validateContainers(scope, field, errors);
  validateLifetime(spec, field, errors);
  validateNamespaces(spec, field, errors);
  validateDns(spec, field, errors);
  validateReferences(spec, field, errors);
  validatePodSecurityContext(spec, field.child('securityContext'), errors);
  validateScheduling(spec, field, errors);
  validatePodResources(spec, field.child('resources'), errors);
  validateOverhead(spec.overhead, field.child('overhead'), errors);
  return errors.list;
}

function validateLifetime(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  errors.requiredOneOf(field.child('restartPolicy'), spec.restartPolicy, ['Always', 'Never', 'OnFailure']);
  errors.nonNegative(field.child('terminationGracePeriodSeconds'), spec.terminationGracePeriodSeconds);
  errors.inRange(field.child('activeDeadlineSeconds'), spec.activeDeadlineSeconds, 1, largestInt32);
  errors.oneOf(field.child('preemptionPolicy'), spec.preemptionPolicy, ['Never', 'PreemptLowerPriority']);
  if (spec.os !== undefined)
    errors.requiredOneOf(field.child('os').child('name'), spec.os.name, ['linux', 'windows']);
}

/** What the pod shares with the host and its containers with each other. */
function validateNamespaces(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    errors.invalid(field.child('shareProcessNamespace'), true, 'cannot be combined with `hostPID`');
  }
  if (spec.hostUsers === false) {
    for (const name of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
      if (spec[name] === true) errors.forbidden(field.child(name), 'when `hostUsers` is false');
    }
  }
  if (spec.hostname) errors.check(field.child('hostname'), spec.hostname, dnsLabel);
  if (spec.subdomain) errors.check(field.child('subdomain'), spec.subdomain, dnsLabel);
  if (spec.hostnameOverride === undefined) return;
  const at = field.child('hostnameOverride');
  errors.check(at, spec.hostnameOverride, dnsSubdomain);
  if (spec.hostnameOverride.length > longestHostname) errors.tooLong(at, longestHostname);
  if (spec.hostNetwork === true) errors.forbidden(at, 'cannot be combined with `hostNetwork`');
  if (spec.setHostnameAsFQDN === true) errors.forbidden(at, 'cannot be combined with `setHostnameAsFQDN`');
}

function validateDns(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  errors.requiredOneOf(field.child('dnsPolicy'), spec.dnsPolicy, [
    'ClusterFirst',
    'ClusterFirstWithHostNet',
    'Default',
    'None',
  ]);
  const at = field.child('dnsConfig');
  const { nameservers = [], searches = [], options = [] } = spec.dnsConfig ?? {};
  if (spec.dnsPolicy === 'None') {
    if (spec.dnsConfig === undefined) errors.required(at, 'dnsPolicy None takes its name servers from here');
    else if (nameservers.length === 0)
      errors.required(at.child('nameservers'), 'dnsPolicy None needs at least one name server');
  }
  if (nameservers.length > largestNameserverCount)
    errors.tooMany(at.child('nameservers'), nameservers.length, largestNameserverCount);
  for (const [index, server] of nameservers.entries())
    errors.check(at.child('nameservers').child(index), server, ipAddress);
  const list = at.child('searches');
  if (searches.length > largestSearchCount) errors.tooMany(list, searches.length, largestSearchCount);
  if (Buffer.byteLength(searches.join(' ')) > searchesLimitBytes) errors.tooLong(list, searchesLimitBytes);
  for (const [index, domain] of searches.entries()) {
    if (domain !== '.')
      errors.check(list.child(index), domain, (text) => dnsSearchDomain(text.replace(/\.$/, '')));
  }
  for (const [index, option] of options.entries()) {
    if (!option.name) errors.required(at.child('options').child(index), 'must not be empty');
  }
  validateHostAliases(spec, field.child('hostAliases'), errors);
}

function validateHostAliases(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  for (const [index, alias] of (spec.hostAliases ?? []).entries()) {
    const at = field.child(index);
    errors.check(at.child('ip'), alias.ip, ipAddress);
    for (const [position, hostname] of (alias.hostnames ?? []).entries()) {
      errors.check(at.child('hostnames').child(position), hostname, dnsSubdomain);
    }
  }
}

/** Names of other objects. */
function validateReferences(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  for (const name of ['serviceAccountName', 'priorityClassName', 'runtimeClassName'] as const) {
    const value = spec[name];
    if (value) errors.check(field.child(name), value, dnsSubdomain);
  }
  for (const [index, secret] of (spec.imagePullSecrets ?? []).entries()) {
    if (!secret.name) errors.required(field.child('imagePullSecrets').child(index).child('name'));
  }
}
