/** The IP addresses of a sandbox. */
import { isIP } from 'node:net';
import type { ObservedSandboxStatus } from '../../cri/index.js';

/** The primary address first. One invalid address makes the whole response untrustworthy. */
export function sandboxIps({ network }: Pick<ObservedSandboxStatus, 'network'>): readonly string[] {
  if (network === undefined) return [];
  const ips = network.ip === '' ? network.additionalIps : [network.ip, ...network.additionalIps];
  return ips.every((ip) => isIP(ip) !== 0) ? ips : [];
}
