/** Decides whether the machine's own routes leave the cluster's addresses free. */
import { type Ipv4Range, isInRange, parseIpv4Range } from '../addresses/ipv4-range.js';

const routeTypes: ReadonlySet<string> = new Set([
  'unicast',
  'blackhole',
  'unreachable',
  'prohibit',
  'throw',
  'local',
  'broadcast',
  'multicast',
]);

/**
 * `routes` is what `ip -4 route show table main` prints. A wider route, such as the default, does no harm: the
 * cluster's addresses are the more special ones. The sentence says what is in the way.
 */
export function routeConflict(range: Ipv4Range, routes: string): string | undefined {
  for (const line of routes.split('\n')) {
    const words = line.trim().split(/\s+/);
    const [first = '', second = ''] = words;
    const destination = routeTypes.has(first) ? second : first;
    const to = parseIpv4Range(destination.includes('/') ? destination : `${destination}/32`);
    if (to !== undefined && to.first >= range.first && to.last <= range.last)
      return `the machine has a route to ${destination}, which lies in ${range.text}`;
    for (const keyword of ['via', 'src']) {
      const at = words.indexOf(keyword);
      const address = at < 0 ? '' : (words[at + 1] ?? '');
      if (isInRange(range, address))
        return `the machine's route to ${destination} uses ${address}, which lies in ${range.text}`;
    }
  }
  return undefined;
}
