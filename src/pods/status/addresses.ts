/** The addresses in a pod's status: the pod's own, in the node's order of families, and the host's. */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { isHostNetwork, type NodeAddress, type Pod, type PodStatus } from '../../kube/index.js';

export type IpFamily = 4 | 6;

export interface Ip {
  readonly text: string;
  readonly family: IpFamily;
}

/** The address in its canonical text, or undefined when it is none. Leading zeros of IPv4 parts are dropped. */
export function parseIp(text: string): Ip | undefined {
  const dotted = /^0*(\d+)\.0*(\d+)\.0*(\d+)\.0*(\d+)$/.exec(text);
  if (dotted !== null) {
    const plain = dotted.slice(1).join('.');
    return isIPv4(plain) ? { text: plain, family: 4 } : undefined;
  }
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const canonical = new SocketAddress({ address: text, family: 'ipv6' }).address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(canonical)?.[1];
  return mapped === undefined ? { text: canonical, family: 6 } : { text: mapped, family: 4 };
}

/** At most one address of each family, that of the node's first configured address first (IPv4 without one). */
export function orderPodIps(runtimeIps: readonly string[], nodeIps: readonly string[]): string[] {
  const ips: Ip[] = [];
  for (const text of runtimeIps) {
    const ip = parseIp(text);
    if (ip === undefined) return [];
    ips.push(ip);
  }
  const [nodeIp] = nodeIps;
  const primary = nodeIp === undefined ? 4 : (parseIp(nodeIp)?.family ?? 4);
  const first = ips.find(({ family }) => family === primary);
  const second = ips.find(({ family }) => family !== primary);
  return [first, second].flatMap((ip) => (ip === undefined ? [] : [ip.text]));
}

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

/** The address fields; pods on the host's network show the host's addresses as their own. */
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
