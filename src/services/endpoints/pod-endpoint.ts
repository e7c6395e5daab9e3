/** Decides whether a pod is an endpoint of a Service, with which conditions and behind which ports. */
import { isIPv4, isIPv6 } from 'node:net';
import type { Endpoint, EndpointPort, Pod, Service, ServicePort } from '../../kube/types/index.js';

export type SliceAddressType = 'IPv4' | 'IPv6';

export interface PodEndpoint {
  readonly addressType: SliceAddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoint: Endpoint;
}

/** The families of the Service's addresses; IPv4 unless it says otherwise. */
export function addressTypesOf({ spec = {} }: Service): readonly SliceAddressType[] {
  const families = (spec.ipFamilies ?? []).filter((family) => family === 'IPv4' || family === 'IPv6');
  if (families.length > 0) return [...new Set(families)];
  return isIPv6(spec.clusterIP ?? '') ? ['IPv6'] : ['IPv4'];
}

/** An empty selector selects nothing here: somebody else writes the endpoints of such a Service. */
export function isSelectedBy({ metadata, spec = {} }: Service, pod: Pod): boolean {
  const wanted = Object.entries(spec.selector ?? {});
  const { namespace, labels = {} } = pod.metadata;
  if (wanted.length === 0 || namespace !== metadata.namespace) return false;
  return wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** One for each family of the Service in which the pod has an address. */
export function podEndpoints(service: Service, pod: Pod): readonly PodEndpoint[] {
  const { status = {}, spec } = pod;
  if (status.phase === 'Succeeded' || status.phase === 'Failed' || !isSelectedBy(service, pod)) return [];
  const ips = status.podIPs?.map(({ ip }) => ip) ?? (status.podIP === undefined ? [] : [status.podIP]);
  const ports = targetPorts(service, pod);
  return addressTypesOf(service).flatMap((addressType) => {
    const address = ips.find((ip) => (addressType === 'IPv4' ? isIPv4(ip) : isIPv6(ip)));
    if (address === undefined) return [];
    const hostname = publishedHostname(service, pod);
    const endpoint: Endpoint = {
      addresses: [address],
      conditions: conditionsOf(service, pod),
      ...(hostname === undefined ? {} : { hostname }),
      ...(spec.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
      targetRef: {
        kind: 'Pod',
        namespace: pod.metadata.namespace,
        name: pod.metadata.name,
        uid: pod.metadata.uid,
      },
    };
    return [{ addressType, ports, endpoint }];
  });
}

function conditionsOf(
  service: Service,
  pod: Pod,
): { ready: boolean; serving: boolean; terminating: boolean } {
  const serving = (pod.status?.conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  return {
    ready: service.spec?.publishNotReadyAddresses === true || (serving && !terminating),
    serving,
    terminating,
  };
}

/** The pod has a name of its own below the Service that its subdomain names. */
function publishedHostname({ metadata }: Service, { spec }: Pod): string | undefined {
  const { hostname = '', subdomain = '' } = spec;
  return hostname !== '' && subdomain !== '' && subdomain === metadata.name ? hostname : undefined;
}

/** The ports of the pod behind those of the Service; one that the pod does not have is left out. */
function targetPorts({ spec = {} }: Service, pod: Pod): readonly EndpointPort[] {
  return (spec.ports ?? []).flatMap((servicePort): EndpointPort[] => {
    const port = targetPort(servicePort, pod);
    if (port === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = servicePort;
    return [{ name, protocol, port, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

function targetPort(
  { port, targetPort: target, protocol = 'TCP' }: ServicePort,
  pod: Pod,
): number | undefined {
  if (target === undefined || target === 0 || target === '') return port;
  if (typeof target === 'number') return target;
  const restartable = (pod.spec.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === 'Always',
  );
  for (const { ports = [] } of [...pod.spec.containers, ...restartable]) {
    const named = ports.find((one) => one.name === target && (one.protocol ?? 'TCP') === protocol);
    if (named !== undefined) return named.containerPort;
  }
  return undefined;
}
