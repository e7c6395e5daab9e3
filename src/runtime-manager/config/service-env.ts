/** The environment variables that tell a container where its namespace's services are. */
import type { Service } from '../../kube/index.js';

/**
 * The services whose variables a pod gets: always the API server, and the others of its namespace if it
 * enables service links. A `kubernetes` service in the pod's own namespace wins over that of `default`.
 */
export function visibleServices(
  services: { readonly ofDefault: readonly Service[]; readonly ofNamespace: readonly Service[] },
  namespace: string,
  enableServiceLinks: boolean,
): Service[] {
  const byName = new Map<string, Service>();
  const add = (service: Service): void => {
    const { clusterIP = '' } = service.spec ?? {};
    if (clusterIP === '' || clusterIP === 'None') return;
    byName.set(service.metadata.name ?? '', service);
  };
  for (const service of services.ofDefault) {
    if (service.metadata.name === 'kubernetes') add(service);
  }
  if (enableServiceLinks) {
    const own = namespace === 'default' ? services.ofDefault : services.ofNamespace;
    for (const service of own) add(service);
  }
  return [...byName.values()];
}

export function serviceVariables(services: readonly Service[]): Map<string, string> {
  const variables = new Map<string, string>();
  for (const service of services) {
    const { clusterIP = '', ports = [] } = service.spec ?? {};
    const prefix = variableName(service.metadata.name ?? '');
    variables.set(`${prefix}_SERVICE_HOST`, clusterIP);
    const [firstPort] = ports;
    if (firstPort === undefined) continue;
    variables.set(`${prefix}_SERVICE_PORT`, String(firstPort.port));
    for (const { name = '', port } of ports) {
      if (name !== '') variables.set(`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port));
    }
    const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
    for (const [index, { protocol, port }] of ports.entries()) {
      const scheme = protocol === undefined || protocol === '' ? 'TCP' : protocol;
      const url = `${scheme.toLowerCase()}://${host}:${port}`;
      if (index === 0) variables.set(`${prefix}_PORT`, url);
      const portPrefix = `${prefix}_PORT_${port}_${scheme.toUpperCase()}`;
      variables.set(portPrefix, url);
      variables.set(`${portPrefix}_PROTO`, scheme.toLowerCase());
      variables.set(`${portPrefix}_PORT`, String(port));
      variables.set(`${portPrefix}_ADDR`, clusterIP);
    }
  }
  return variables;
}

function variableName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}
