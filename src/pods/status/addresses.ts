/** The addresses in a pod's status: its own and the host's. */
import { isHostNetwork, type NodeAddress, type Pod, type PodStatus, parseIp } from '../../kube/index.js';

/** The node's first address, internal before external, and the first one of the other family. */
export function hostIpsOf(addresses: readonly NodeAddress[]): string[] {
  const ips = ['InternalIP', 'ExternalIP'].flatMap((type) =>
    addresses.flatMap((entry) => {
      const ip = entry.type === type ? parseIp(entry.address) : undefined;
      return ip === undefined ? [] : [ip];
    }),
  );
  const [first] = ips;
  if (first === undefined) return [];
  const other = ips.find(({ family }) => family !== first.family);
  return other === undefined ? [first.text] : [first.text, other.text];
}

type Addresses = Pick<PodStatus, 'podIP' | 'podIPs' | 'hostIP' | 'hostIPs'>;

/** The address fields; host-network pods show the host's addresses as their own. */
export function podAddresses(pod: Pod, podIps: readonly string[], hostIps: readonly string[]): Addresses {
  const ips = [...podIps];
  if (isHostNetwork(pod)) {
    const [firstHost, secondHost] = hostIps;
    if (ips.length === 0 && firstHost !== undefined) ips.push(firstHost);
    const [onlyIp] = ips;
    if (ips.length === 1 && onlyIp !== undefined && secondHost !== undefined) {
      if (parseIp(onlyIp)?.family !== parseIp(secondHost)?.family) ips.push(secondHost);
    }
  }
  return {
    ...(hostIps.length === 0 ? {} : { hostIP: hostIps[0], hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips.length === 0 ? {} : { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
  };
}
