/** Decides which of the machine's addresses can be a node's. */
import { type IpFamily, parseIp } from '../../kube/index.js';
import { isUnspecified } from './node-ip.js';

export interface LocalAddress {
  readonly interface: string;
  readonly address: string;
  readonly isLoopbackInterface: boolean;
}

/** The current state of the machine's network. */
export interface NetworkFacts {
  readonly addresses: readonly LocalAddress[];
  /** Interfaces with a default route, lowest metric first. */
  readonly routed: Readonly<Record<IpFamily, readonly string[]>>;
}

/** Why an address cannot be a node's; undefined if it can. */
export function nodeIpProblem(ip: string, network: NetworkFacts): string | undefined {
  const parsed = parseIp(ip);
  if (parsed === undefined) return 'nodeIP must be a valid IP address';
  if (isLoopback(parsed.text)) return "nodeIP can't be loopback address";
  if (isMulticast(parsed.text)) return "nodeIP can't be a multicast address";
  if (isLinkLocal(parsed.text)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(parsed.text)) return "nodeIP can't be an all zeros address";
  const isHere = network.addresses.some(({ address }) => parseIp(address)?.text === parsed.text);
  return isHere ? undefined : `node IP: "${parsed.text}" not found in the host's network interfaces`;
}

/** The address of the interface with the default route, of the preferred family if possible. */
export function routedAddress(
  network: NetworkFacts,
  preferred: IpFamily,
): { readonly ip: string } | { readonly problem: string } {
  const families: readonly IpFamily[] = preferred === 4 ? [4, 6] : [6, 4];
  if (families.every((family) => network.routed[family].length === 0)) {
    return { problem: 'no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"' };
  }
  for (const family of families) {
    for (const name of network.routed[family]) {
      const own = globalAddress(network, family, (address) => address.interface === name);
      // A routed interface may lack an address of its own; then the loopback has the machine's.
      const ip = own ?? globalAddress(network, family, ({ isLoopbackInterface }) => isLoopbackInterface);
      if (ip !== undefined) return { ip };
    }
  }
  return { problem: 'unable to select an IP from default routes.' };
}

function globalAddress(
  network: NetworkFacts,
  family: IpFamily,
  isWanted: (address: LocalAddress) => boolean,
): string | undefined {
  return network.addresses
    .filter(isWanted)
    .map(({ address }) => parseIp(address))
    .find((ip) => ip?.family === family && isGlobal(ip.text))?.text;
}

function isGlobal(ip: string): boolean {
  return !isLoopback(ip) && !isMulticast(ip) && !isLinkLocal(ip) && !isUnspecified(ip);
}

function isLoopback(ip: string): boolean {
  return ip.startsWith('127.') || ip === '::1';
}

function isMulticast(ip: string): boolean {
  return /^ff[0-9a-f]{2}:/i.test(ip) || /^(22[4-9]|23\d)\./.test(ip);
}

function isLinkLocal(ip: string): boolean {
  return ip.startsWith('169.254.') || /^fe[89ab][0-9a-f]:/i.test(ip);
}

/** Interfaces with a default route in `/proc/net/route`, lowest metric first. */
export function defaultRoutes4(text: string): string[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((a, b) => Number(a[6]) - Number(b[6]))
    .flatMap(([name]) => (name === undefined ? [] : [name]));
}

/** The same from `/proc/net/ipv6_route`, where reject routes point to the loopback. */
export function defaultRoutes6(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([destination, length]) => /^0{32}$/.test(destination ?? '') && length === '00')
    .map((fields) => ({ name: fields.at(-1) ?? '', metric: Number.parseInt(fields[5] ?? '0', 16) }))
    .filter(({ name }) => name !== 'lo' && name !== '')
    .sort((a, b) => a.metric - b.metric)
    .map(({ name }) => name);
}
