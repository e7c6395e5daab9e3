/** Parses `--node-ip`: one address, or one of each family. */
import { parseIp } from '../../kube/index.js';

export type NodeIps =
  | {
      readonly kind: 'valid';
      /** In order; an unspecified address (`0.0.0.0`, `::`) only requests a family. */
      readonly ips: readonly string[];
      /** Parts that are not addresses. */
      readonly dropped: readonly string[];
    }
  | { readonly kind: 'invalid'; readonly message: string };

export function parseNodeIps(text: string): NodeIps {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  const parsed = items.map((item) => ({ item, ip: parseIp(item) }));
  const ips = parsed.flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
  const [first, second] = ips;
  const bad = (what: string): NodeIps => ({ kind: 'invalid', message: `bad --node-ip "${text}": ${what}` });
  if (ips.length > 2 || (second !== undefined && first?.family === second.family)) {
    return bad('must contain either a single IP or a dual-stack pair of IPs');
  }
  if (ips.length === 2 && ips.some((ip) => isUnspecified(ip.text))) {
    return bad("dual-stack node IP cannot include '0.0.0.0' or '::'");
  }
  return {
    kind: 'valid',
    ips: ips.map((ip) => ip.text),
    dropped: parsed.flatMap(({ item, ip }) => (ip === undefined ? [item] : [])),
  };
}

export function isUnspecified(ip: string): boolean {
  return ip === '0.0.0.0' || ip === '::';
}
