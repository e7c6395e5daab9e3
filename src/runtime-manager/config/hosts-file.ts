/** The content of a pod's hosts file. */
import type { HostAlias } from '../../kube/index.js';
import type { PodHostname } from './hostname.js';

const loopbackLines = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** The file of a pod with its own network. */
export function podHostsFile(
  podIps: readonly string[],
  { hostname, domain }: PodHostname,
  aliases: readonly HostAlias[],
): string {
  const lines = ['# Kubernetes-managed hosts file.', ...loopbackLines];
  for (const ip of podIps) {
    lines.push(domain === '' ? `${ip}\t${hostname}` : `${ip}\t${hostname}.${domain}\t${hostname}`);
  }
  return `${lines.join('\n')}\n${aliasLines(aliases)}`;
}

/** The file of a host-network pod: the node's own and the pod's aliases. */
export function hostNetworkHostsFile(nodeFile: string, aliases: readonly HostAlias[]): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeFile}${aliasLines(aliases)}`;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
