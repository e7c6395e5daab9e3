/** The servers of names that the machine itself uses. */
import { isIP } from 'node:net';
import { type Ipv4Range, isInRange } from '../addresses/ipv4-range.js';
import { servicesLimits } from '../limits.js';

/** `text` is that of `/etc/resolv.conf`. Our own addresses are left out: a question must not come back to us. */
export function upstreamsOf(
  text: string,
  clusterRange: Ipv4Range,
  own: readonly string[],
): readonly string[] {
  const servers = new Set<string>();
  for (const line of text.split('\n')) {
    const [, server = ''] = /^\s*nameserver\s+(\S+)/.exec(line) ?? [];
    const [address = ''] = server.split('%');
    if (isIP(address) === 0 || isInRange(clusterRange, address) || own.includes(address)) continue;
    servers.add(server);
    if (servers.size >= servicesLimits.dnsUpstreams) break;
  }
  return [...servers];
}
