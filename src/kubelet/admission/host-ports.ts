/** Refuses pods whose host ports are taken by other pods of the node. */
import { isSidecar, type Pod } from '../../kube/index.js';
import type { AdmissionRule } from './admission.js';

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

function hostPorts(pod: Pod): HostPort[] {
  const { containers, initContainers = [] } = pod.spec;
  // Only containers that stay hold ports: regular ones and sidecars.
  return [...initContainers.filter(isSidecar), ...containers].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort, hostIP, protocol }) =>
      hostPort === undefined || hostPort === 0
        ? []
        : [{ ip: hostIP || '0.0.0.0', protocol: protocol ?? 'TCP', port: hostPort }],
    ),
  );
}

function conflicts(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0';
}

export const freeHostPorts: AdmissionRule = {
  name: 'host ports',
  admit({ pod, others }) {
    const wanted = hostPorts(pod);
    if (wanted.length === 0) return { admit: true };
    const taken = others.flatMap(hostPorts);
    return wanted.some((port) => taken.some((other) => conflicts(port, other)))
      ? {
          admit: false,
          reason: 'NodePorts',
          message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        }
      : { admit: true };
  },
};
