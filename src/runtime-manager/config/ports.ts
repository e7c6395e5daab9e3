/** The port mappings of a sandbox, which network plugins turn into host ports. */
import { type Init, type PortMapping, Protocol } from '../../cri/index.js';
import type { Container, ContainerPort, Pod } from '../../kube/index.js';

/** All ports of the regular containers, also those without a host port. */
export function portMappings(pod: Pod): Init<PortMapping>[] {
  return pod.spec.containers.flatMap(containerPortMappings);
}

/** A port listed twice in one container counts once: by its name, or without one by all its fields. */
function containerPortMappings(container: Container): Init<PortMapping>[] {
  const seen = new Set<string>();
  const mappings: Init<PortMapping>[] = [];
  for (const port of container.ports ?? []) {
    const key = port.name !== undefined && port.name !== '' ? port.name : unnamedKey(port);
    if (seen.has(key)) continue;
    seen.add(key);
    mappings.push({
      protocol: runtimeProtocol(port.protocol),
      containerPort: port.containerPort,
      hostPort: port.hostPort ?? 0,
      hostIp: port.hostIP ?? '',
    });
  }
  return mappings;
}

function unnamedKey({ protocol = '', hostIP = '', containerPort, hostPort = 0 }: ContainerPort): string {
  const family = hostIP === '' ? 'any' : hostIP.includes(':') ? 'v6' : 'v4';
  return `${family}-${protocol}-${hostIP}:${containerPort}:${hostPort}`;
}

function runtimeProtocol(protocol: string | undefined): Protocol {
  switch (protocol) {
    case 'UDP':
      return Protocol.UDP;
    case 'SCTP':
      return Protocol.SCTP;
    default:
      return Protocol.TCP;
  }
}
