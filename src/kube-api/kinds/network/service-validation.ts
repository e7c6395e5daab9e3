/** What is wrong with the spec of a Service, and with a change of it. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import { validateLabels } from '../../../kube/manifests/validation/metadata.js';
import { dnsLabel, dnsSubdomain, ipAddress, portName } from '../../../kube/manifests/validation/names.js';
import type { ServicePort, ServiceSpec } from '../../../kube/types/index.js';

const field = LazyFieldPath.root('spec');
const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
const longestAffinitySeconds = 86_400;
const mostPorts = 1000;

export function validateService(spec: ServiceSpec): readonly FieldError[] {
  const errors = new FieldErrors();
  errors.requiredOneOf(field.child('type'), spec.type, types);
  validateLabels(spec.selector, field.child('selector'), errors);
  validatePorts(spec, errors);
  validateAffinity(spec, errors);
  for (const [index, address] of (spec.externalIPs ?? []).entries())
    errors.check(field.child('externalIPs').child(index), address, ipAddress);
  if (spec.type === 'ExternalName') validateExternalName(spec, errors);
  else validateAddresses(spec, errors);
  return errors.list;
}

function validateExternalName(spec: ServiceSpec, errors: FieldErrors): void {
  errors.requiredCheck(field.child('externalName'), spec.externalName?.replace(/\.$/, ''), dnsSubdomain);
  for (const name of ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const) {
    if (spec[name] !== undefined && spec[name].length > 0)
      errors.forbidden(field.child(name), "may not be set when `type` is 'ExternalName'");
  }
}

function validateAddresses(spec: ServiceSpec, errors: FieldErrors): void {
  const { clusterIP = '', clusterIPs = [] } = spec;
  const at = field.child('clusterIPs');
  if (clusterIP !== (clusterIPs[0] ?? clusterIP))
    errors.invalid(at, clusterIPs, 'first value must match `clusterIP`');
  if (clusterIPs.length > 1)
    errors.invalid(
      at,
      clusterIPs,
      'may only hold up to 1 value: this node gives Services IPv4 addresses only',
    );
  if (clusterIP === 'None') {
    if (spec.type !== 'ClusterIP')
      errors.invalid(at.child(0), 'None', `may not be set to 'None' for ${spec.type ?? ''} services`);
  } else if (clusterIP !== '') errors.check(at.child(0), clusterIP, ipAddress);
  errors.oneOf(field.child('ipFamilyPolicy'), spec.ipFamilyPolicy, policies);
  if (spec.ipFamilyPolicy === 'RequireDualStack')
    errors.invalid(
      field.child('ipFamilyPolicy'),
      spec.ipFamilyPolicy,
      'this cluster is not configured for dual-stack services',
    );
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    if (family !== 'IPv4')
      errors.invalid(field.child('ipFamilies').child(index), family, 'not configured on this cluster');
  }
  for (const name of ['internalTrafficPolicy', 'externalTrafficPolicy'] as const)
    errors.oneOf(field.child(name), spec[name], ['Cluster', 'Local']);
}

function validatePorts(spec: ServiceSpec, errors: FieldErrors): void {
  const { ports = [], type } = spec;
  const at = field.child('ports');
  if (ports.length === 0 && type !== 'ExternalName' && spec.clusterIP !== 'None') errors.required(at);
  if (ports.length > mostPorts) {
    errors.tooMany(at, ports.length, mostPorts);
    return;
  }
  const names = new Set<string>();
  const numbers = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const here = at.child(index);
    validatePort(port, ports.length, here, errors);
    if (port.name && names.has(port.name)) errors.duplicate(here.child('name'), port.name);
    names.add(port.name ?? '');
    const number = `${port.protocol ?? ''} ${port.port}`;
    if (numbers.has(number)) errors.duplicate(here, { port: port.port, protocol: port.protocol });
    numbers.add(number);
    if (port.nodePort && (type === 'ClusterIP' || type === 'ExternalName'))
      errors.forbidden(here.child('nodePort'), `may not be used when \`type\` is '${type}'`);
  }
}

function validatePort(port: ServicePort, count: number, at: LazyFieldPath, errors: FieldErrors): void {
  if (count > 1 || port.name) errors.requiredCheck(at.child('name'), port.name, dnsLabel);
  validatePortNumber(port.port, at.child('port'), errors);
  errors.requiredOneOf(at.child('protocol'), port.protocol, ['SCTP', 'TCP', 'UDP']);
  const { targetPort } = port;
  if (typeof targetPort === 'string') errors.check(at.child('targetPort'), targetPort, portName);
  else if (targetPort !== undefined) validatePortNumber(targetPort, at.child('targetPort'), errors);
}

export function validatePortNumber(port: unknown, at: LazyFieldPath, errors: FieldErrors): void {
  if (typeof port === 'number' && Number.isSafeInteger(port) && port >= 1 && port <= 65_535) return;
  errors.invalid(at, port, 'must be between 1 and 65535, inclusive');
}

function validateAffinity(spec: ServiceSpec, errors: FieldErrors): void {
  errors.requiredOneOf(field.child('sessionAffinity'), spec.sessionAffinity, ['ClientIP', 'None']);
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  const at = field.child('sessionAffinityConfig');
  if (spec.sessionAffinity === 'None' && spec.sessionAffinityConfig !== undefined)
    errors.forbidden(at, 'must not be set when session affinity is None');
  if (seconds !== undefined && !(seconds > 0 && seconds <= longestAffinitySeconds))
    errors.invalid(
      at.child('clientIP').child('timeoutSeconds'),
      seconds,
      `must be greater than 0 and less than ${longestAffinitySeconds}`,
    );
}

/** An address stays with its Service until that is deleted, or names another one. */
export function validateServiceUpdate(next: ServiceSpec, current: ServiceSpec): readonly FieldError[] {
  const errors = new FieldErrors();
  const hasAddress = next.type !== 'ExternalName' && current.type !== 'ExternalName';
  if (hasAddress && current.clusterIP && next.clusterIP !== current.clusterIP)
    errors.invalid(field.child('clusterIPs').child(0), [next.clusterIP], 'may not change once set');
  return errors.list;
}
