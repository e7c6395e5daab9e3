/** Composes a pod's DNS settings from its policy, the cluster's servers and the node's resolver file. */
import { formatPod, isHostNetwork, type Pod, type PodDNSConfigOption } from '../../kube/index.js';
import { dnsLimits, emptyResolvConf, optionName, type ResolvConf } from './resolv-conf.js';
import type { RuntimeSettings } from './settings.js';

/** A Warning event for the user. */
export interface DnsWarning {
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS';
  /** The event on the pod. */
  readonly message: string;
  /** The event on the node, if there is one, too. */
  readonly nodeMessage?: string;
}

export interface PodDns {
  readonly config: ResolvConf;
  readonly warnings: readonly DnsWarning[];
}

export type DnsSettings = Pick<RuntimeSettings, 'clusterDomain' | 'clusterDns' | 'resolvConf' | 'nodeIps'>;

const missingClusterDns =
  'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';

/** `host` is the node's resolver file; empty when that is disabled. */
export function composeDns(pod: Pod, host: ResolvConf, settings: DnsSettings): PodDns {
  const warnings: DnsWarning[] = [];
  const base = baseConfig(pod, host, settings, warnings);
  return { config: fitLimits(appendPodConfig(base, pod), warnings), warnings };
}

type DnsSource = 'none' | 'cluster' | 'host';

/** Unknown policies count as ClusterFirst. */
function sourceOf(pod: Pod): DnsSource {
  switch (pod.spec.dnsPolicy) {
    case 'None':
      return 'none';
    case 'Default':
      return 'host';
    case 'ClusterFirstWithHostNet':
      return 'cluster';
    default:
      return isHostNetwork(pod) ? 'host' : 'cluster';
  }
}

function baseConfig(pod: Pod, host: ResolvConf, settings: DnsSettings, warnings: DnsWarning[]): ResolvConf {
  switch (sourceOf(pod)) {
    case 'none':
      return emptyResolvConf;
    case 'host':
      return hostConfig(host, settings);
    case 'cluster':
      if (settings.clusterDns.length > 0) return clusterConfig(pod, host, settings);
      warnings.push({
        reason: 'MissingClusterDNS',
        message: `pod: "${formatPod(pod)}". ${missingClusterDns}`,
        nodeMessage: missingClusterDns,
      });
      return hostConfig(host, settings);
  }
}

/** Without a resolver file pods get servers that never respond, so that no runtime puts in its own. */
function hostConfig(host: ResolvConf, settings: DnsSettings): ResolvConf {
  if (settings.resolvConf !== '') return host;
  const servers = settings.nodeIps.map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
  return { servers: servers.length > 0 ? servers : ['127.0.0.1'], searches: ['.'], options: [] };
}

function clusterConfig(pod: Pod, host: ResolvConf, { clusterDns, clusterDomain }: DnsSettings): ResolvConf {
  const own =
    clusterDomain === ''
      ? []
      : [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: clusterDns, searches: unique([...own, ...host.searches]), options: ['ndots:5'] };
}

function appendPodConfig(base: ResolvConf, pod: Pod): ResolvConf {
  const { dnsConfig } = pod.spec;
  if (dnsConfig === undefined) return base;
  return {
    servers: unique([...base.servers, ...(dnsConfig.nameservers ?? [])]),
    searches: unique([...base.searches, ...(dnsConfig.searches ?? [])]),
    options: mergeOptions(base.options, dnsConfig.options ?? []),
  };
}

function mergeOptions(base: readonly string[], own: readonly PodDNSConfigOption[]): string[] {
  const options = new Map(base.map((option) => [optionName(option), option]));
  for (const { name = '', value = '' } of own) options.set(name, value === '' ? name : `${name}:${value}`);
  return [...options.values()];
}

function fitLimits(config: ResolvConf, warnings: DnsWarning[]): ResolvConf {
  const servers = config.servers.slice(0, dnsLimits.nameservers);
  if (servers.length < config.servers.length) {
    warnings.push({
      reason: 'DNSConfigForming',
      message: `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    });
  }
  const searches = fitSearches(config.searches);
  if (searches.length < config.searches.length) {
    warnings.push({
      reason: 'DNSConfigForming',
      message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    });
  }
  return { servers, searches, options: config.options };
}

function fitSearches(searches: readonly string[]): string[] {
  const kept = searches
    .slice(0, dnsLimits.searches)
    .filter((search) => search.length <= dnsLimits.searchChars);
  while (kept.join(' ').length > dnsLimits.searchLineChars) kept.pop();
  return kept;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
