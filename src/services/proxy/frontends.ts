/** Decides at which addresses the proxy listens, and which endpoints stand behind each. */
import { isIPv4 } from 'node:net';
import type { Endpoint, EndpointSlice, Service, ServicePort } from '../../kube/types/index.js';
import { type Ipv4Range, isInRange } from '../addresses/ipv4-range.js';
import { hasClusterAddress, hasNodePorts } from '../addresses/service-addresses.js';
import { serviceNameLabel } from '../endpoints/slice-plan.js';

export type ProxyProtocol = 'TCP' | 'UDP';

export interface Backend {
  readonly address: string;
  readonly port: number;
}

export interface Frontend {
  /** `TCP 10.96.3.3:80` */
  readonly key: string;
  readonly protocol: ProxyProtocol;
  readonly address: string;
  readonly port: number;
  /** `namespace/name` */
  readonly service: string;
  readonly isNodePort: boolean;
  readonly backends: readonly Backend[];
  /** How long a client stays with its endpoint; 0 without affinity. */
  readonly affinityMs: number;
}

export interface FrontendSettings {
  readonly clusterRange: Ipv4Range;
  /** The addresses of the node at which node ports listen. */
  readonly nodeAddresses: readonly string[];
  /** Keys of frontends that something else in this process serves. */
  readonly served?: ReadonlySet<string>;
}

const defaultAffinitySeconds = 10_800;
const longestAffinitySeconds = 86_400;

export function planFrontends(
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  settings: FrontendSettings,
): readonly Frontend[] {
  const slicesOf = slicesByService(slices);
  const frontends = new Map<string, Frontend>();
  const add = (frontend: Omit<Frontend, 'key'>): void => {
    const key = frontendKey(frontend);
    // Of two Services with one address, which the API does not allow, the one that was first keeps it.
    if (!frontends.has(key) && settings.served?.has(key) !== true) frontends.set(key, { key, ...frontend });
  };
  for (const service of services.toSorted(byAge)) {
    const { metadata, spec = {} } = service;
    const name = `${metadata.namespace}/${metadata.name}`;
    const { clusterIP = '' } = spec;
    if (!hasClusterAddress(spec)) continue;
    const affinityMs = affinityOf(service);
    for (const servicePort of spec.ports ?? []) {
      const protocol = protocolOf(servicePort);
      if (protocol === undefined) continue;
      const backends = backendsOf(slicesOf.get(name) ?? [], servicePort, protocol);
      const common = { protocol, service: name, backends, affinityMs };
      if (isInRange(settings.clusterRange, clusterIP) && isPort(servicePort.port))
        add({ ...common, address: clusterIP, port: servicePort.port, isNodePort: false });
      const { nodePort = 0 } = servicePort;
      if (!hasNodePorts(spec) || !isPort(nodePort)) continue;
      for (const address of settings.nodeAddresses)
        add({ ...common, address, port: nodePort, isNodePort: true });
    }
  }
  // A Service that reaches itself would send one datagram round and round.
  return [...frontends.values()].map((frontend) => ({
    ...frontend,
    backends: frontend.backends.filter(
      ({ address, port }) =>
        !isInRange(settings.clusterRange, address) &&
        !frontends.has(frontendKey({ protocol: frontend.protocol, address, port })),
    ),
  }));
}

export function slicesByService(slices: readonly EndpointSlice[]): ReadonlyMap<string, EndpointSlice[]> {
  const byService = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const { namespace, labels } = slice.metadata;
    const key = `${namespace}/${labels?.[serviceNameLabel]}`;
    const known = byService.get(key);
    if (known === undefined) byService.set(key, [slice]);
    else known.push(slice);
  }
  return byService;
}

export function frontendKey({
  protocol,
  address,
  port,
}: Pick<Frontend, 'protocol' | 'address' | 'port'>): string {
  return `${protocol} ${address}:${port}`;
}

/** The ready endpoints; without any, those that still serve while they end. */
export function backendsOf(
  slices: readonly EndpointSlice[],
  { name = '' }: ServicePort,
  protocol: ProxyProtocol,
): readonly Backend[] {
  const ready = new Map<string, Backend>();
  const ending = new Map<string, Backend>();
  for (const { addressType, endpoints = [], ports = [] } of slices) {
    if (addressType !== 'IPv4') continue;
    for (const port of ports) {
      if ((port.name ?? '') !== name || (port.protocol ?? 'TCP') !== protocol || !isPort(port.port)) continue;
      for (const endpoint of endpoints) {
        const [address = ''] = endpoint.addresses;
        const kind = readiness(endpoint);
        if (kind === 'none' || !isIPv4(address)) continue;
        (kind === 'ready' ? ready : ending).set(`${address}:${port.port}`, { address, port: port.port });
      }
    }
  }
  return [...(ready.size > 0 ? ready : ending).values()];
}

/** A condition that is not there counts as ready, as the API has it. */
export function readiness({ conditions = {} }: Endpoint): 'ready' | 'ending' | 'none' {
  if (conditions.ready !== false) return 'ready';
  return conditions.serving === true && conditions.terminating === true ? 'ending' : 'none';
}

/** Ports of Services that no proxy of ours can serve, for people to read. */
export function unservedPorts(services: readonly Service[]): readonly string[] {
  return services.flatMap(({ metadata, spec = {} }) =>
    (hasClusterAddress(spec) ? (spec.ports ?? []) : [])
      .filter((port) => protocolOf(port) === undefined)
      .map(({ port, protocol }) => `${metadata.namespace}/${metadata.name} ${protocol} ${port}`),
  );
}

function protocolOf({ protocol = 'TCP' }: ServicePort): ProxyProtocol | undefined {
  return protocol === 'TCP' || protocol === 'UDP' ? protocol : undefined;
}

function affinityOf({ spec = {} }: Service): number {
  if (spec.sessionAffinity !== 'ClientIP') return 0;
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds;
  return Math.min(Math.max(1, seconds), longestAffinitySeconds) * 1000;
}

function isPort(port: number | undefined): port is number {
  return port !== undefined && Number.isInteger(port) && port > 0 && port < 65_536;
}

function byAge(a: Service, b: Service): number {
  return ageKey(a) < ageKey(b) ? -1 : 1;
}

function ageKey({ metadata: { creationTimestamp = '', namespace, name } }: Service): string {
  return `${creationTimestamp} ${namespace}/${name}`;
}
