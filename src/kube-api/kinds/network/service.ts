/** Services: their types and ports, and the addresses that the node gives them. */
import type { FieldError } from '../../../kube/manifests/validation/field-errors.js';
import type { Service, ServiceSpec } from '../../../kube/types/index.js';
import { type ObjectSubresource, resources } from '../../../kube-client/resources.js';
import { invalid } from '../../objects/server-errors.js';
import { type ServerFacts, served } from '../served-kind.js';
import { validateService, validateServiceUpdate } from './service-validation.js';

const affinitySeconds = 10_800;

export const serviceKind = served<Service>({
  resource: resources.services,
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  subresources: ['status'],
  defaults: (service) => {
    service.spec ??= {};
    applyDefaults(service.spec);
  },
  admit: (service, facts) => {
    service.status = { loadBalancer: {} };
    allocate(service, undefined, facts);
  },
  keep,
  validate: (service) => validateService(service.spec ?? {}),
  validateUpdate: (next, current, subresource): readonly FieldError[] =>
    subresource === 'status' ? [] : validateServiceUpdate(next.spec ?? {}, current.spec ?? {}),
});

function applyDefaults(spec: ServiceSpec): void {
  spec.type ||= 'ClusterIP';
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'ClientIP') {
    spec.sessionAffinityConfig ??= {};
    spec.sessionAffinityConfig.clientIP ??= {};
    spec.sessionAffinityConfig.clientIP.timeoutSeconds ??= affinitySeconds;
  }
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    port.targetPort ||= port.port;
  }
  if (spec.type === 'ExternalName') return;
  spec.internalTrafficPolicy ||= 'Cluster';
  spec.ipFamilies ??= ['IPv4'];
  spec.ipFamilyPolicy ||= 'SingleStack';
  if (spec.clusterIP && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [spec.clusterIP];
  if (!spec.clusterIP && spec.clusterIPs?.[0]) spec.clusterIP = spec.clusterIPs[0];
  if (spec.type === 'ClusterIP') return;
  spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
}

function keep(
  next: Service,
  current: Service,
  subresource: ObjectSubresource | undefined,
  facts: ServerFacts,
): void {
  if (subresource === 'status' || next.spec === undefined) return;
  dropWhatTheTypeEnds(next.spec, current.spec ?? {});
  const { clusterIP, clusterIPs } = current.spec ?? {};
  if (next.spec.type !== 'ExternalName' && !next.spec.clusterIP && clusterIP) {
    next.spec.clusterIP = clusterIP;
    next.spec.clusterIPs = [...(clusterIPs ?? [clusterIP])];
  }
  allocate(next, current, facts);
}

/** A client that changes only the type need not name what goes with it. */
function dropWhatTheTypeEnds(next: ServiceSpec, before: ServiceSpec): void {
  if (next.type === before.type) return;
  if (next.type === 'ExternalName') {
    if (next.clusterIP === before.clusterIP) {
      delete next.clusterIP;
      delete next.clusterIPs;
    }
    for (const name of ['ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'] as const) delete next[name];
  }
  if (next.type === 'ClusterIP' || next.type === 'ExternalName') {
    delete next.externalTrafficPolicy;
    for (const port of next.ports ?? []) {
      if (before.ports?.some(({ nodePort }) => nodePort === port.nodePort)) delete port.nodePort;
    }
  }
  if (next.type !== 'LoadBalancer') delete next.allocateLoadBalancerNodePorts;
}

function allocate(service: Service, before: Service | undefined, facts: ServerFacts): void {
  const { serviceAddresses } = facts;
  const { spec = {} } = service;
  if (serviceAddresses === undefined || validateService(spec).length > 0) return;
  serviceAddresses.rebuild(facts.list(resources.services));
  const outcome = serviceAddresses.update(before, service);
  if (!outcome.ok) {
    const { field, message } = outcome.problem;
    throw invalid(
      resources.services,
      service.metadata.name ?? '',
      `${field}: Invalid value: ${valueAt(spec, field)}: ${message}`,
    );
  }
  const { clusterIP, clusterIPs, ports } = outcome.assigned;
  if (clusterIP !== undefined) spec.clusterIP = clusterIP;
  if (clusterIPs !== undefined) spec.clusterIPs = [...clusterIPs];
  if (ports !== undefined) spec.ports = ports.map((port) => ({ ...port }));
}

function valueAt(spec: ServiceSpec, field: string): string {
  const [, index] = /^spec\.ports\[(\d+)\]/.exec(field) ?? [];
  const value = index === undefined ? spec.clusterIP : spec.ports?.[Number(index)]?.nodePort;
  return JSON.stringify(value ?? '');
}
