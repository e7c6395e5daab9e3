/** Parses IP addresses, and orders those of a pod. */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';

export type IpFamily = 4 | 6;

export interface Ip {
  readonly text: string;
  readonly family: IpFamily;
}

/** Longer than any real address, even with leading zeros. */
const longestText = 64;

/** The address in canonical form; undefined when it is not one. Leading zeros of IPv4 parts are dropped. */
export function parseIp(text: string): Ip | undefined {
  // The pattern below takes quadratic time for a long row of zeros, which is no address anyway.
  if (text.length > longestText) return undefined;
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

/**
 * At most one address per family; the family of the node's first configured address comes first, else IPv4.
 */
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
