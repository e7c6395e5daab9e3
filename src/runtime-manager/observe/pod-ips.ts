/** The IP addresses that a sandbox gives to its pod. */
import { isIP } from 'node:net';
import type { ObservedSandboxStatus } from '../../cri/index.js';

/** The primary address first; one that cannot be read makes the whole answer untrustworthy. */
export function sandboxIps({ network }: Pick<ObservedSandboxStatus, 'network'>): readonly string[] {
  if (network === undefined) return [];
  const ips = network.ip === '' ? network.additionalIps : [network.ip, ...network.additionalIps];
  return ips.every((ip) => isIP(ip) !== 0) ? ips : [];
}
