import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../../kube/index.js';
import { composeDns, type DnsSettings, type PodDns } from './dns.js';
import type { ResolvConf } from './resolv-conf.js';

const host: ResolvConf = { servers: ['8.8.8.8'], searches: ['corp'], options: ['ndots:1', 'rotate'] };
const settings: DnsSettings = {
  clusterDomain: 'cluster.local',
  clusterDns: ['10.96.0.10'],
  resolvConf: '/etc/resolv.conf',
  nodeIps: [],
};
const clusterSearches = ['a.svc.cluster.local', 'svc.cluster.local', 'cluster.local'];

function compose(spec: Partial<PodSpec>, change: Partial<DnsSettings> = {}, hostFile = host): PodDns {
  const pod = { metadata: { name: 'web', namespace: 'a', uid: 'u1' }, spec: { containers: [], ...spec } };
  return composeDns(pod, hostFile, { ...settings, ...change });
}

const cluster: ResolvConf = {
  servers: ['10.96.0.10'],
  searches: [...clusterSearches, 'corp'],
  options: ['ndots:5'],
};

describe('the base that the policy chooses', () => {
  const rows: [rule: string, spec: Partial<PodSpec>, change: Partial<DnsSettings>, expected: ResolvConf][] = [
    ['ClusterFirst asks the cluster and keeps the node searches', { dnsPolicy: 'ClusterFirst' }, {}, cluster],
    ['no policy is ClusterFirst', {}, {}, cluster],
    ['unknown policies are ClusterFirst', { dnsPolicy: 'Odd' }, {}, cluster],
    [
      'ClusterFirst on the host network is the node file',
      { dnsPolicy: 'ClusterFirst', hostNetwork: true },
      {},
      host,
    ],
    [
      'ClusterFirstWithHostNet on the host network is the cluster',
      { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true },
      {},
      cluster,
    ],
    ['Default is the node file', { dnsPolicy: 'Default' }, {}, host],
    ['None is empty', { dnsPolicy: 'None' }, {}, { servers: [], searches: [], options: [] }],
    [
      'no cluster domain leaves out its searches',
      {},
      { clusterDomain: '' },
      { ...cluster, searches: ['corp'] },
    ],
    [
      'a disabled file gives loopback',
      { dnsPolicy: 'Default' },
      { resolvConf: '' },
      { servers: ['127.0.0.1'], searches: ['.'], options: [] },
    ],
    [
      'a disabled file follows the node families',
      { dnsPolicy: 'Default' },
      { resolvConf: '', nodeIps: ['fd00::1', '10.0.0.1'] },
      { servers: ['::1', '127.0.0.1'], searches: ['.'], options: [] },
    ],
  ];
  it.each(rows)('%s', (_rule, spec, change, expected) => {
    expect(compose(spec, change)).toEqual({ config: expected, warnings: [] });
  });

  it('falls back to the node file without cluster DNS, and reports it on pod and node', () => {
    const text =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
    expect(compose({}, { clusterDns: [] })).toEqual({
      config: host,
      warnings: [{ reason: 'MissingClusterDNS', message: `pod: "web_a(u1)". ${text}`, nodeMessage: text }],
    });
  });

  it('lists a search domain once', () => {
    expect(compose({}, {}, { ...host, searches: ['svc.cluster.local', 'corp'] }).config.searches).toEqual([
      ...clusterSearches,
      'corp',
    ]);
  });
});

describe('dnsConfig', () => {
  it('appends servers and searches without duplicates, and its options win', () => {
    const { config } = compose({
      dnsPolicy: 'Default',
      dnsConfig: {
        nameservers: ['8.8.8.8', '9.9.9.9'],
        searches: ['corp', 'more'],
        options: [{ name: 'ndots', value: '2' }, { name: 'use-vc' }],
      },
    });
    expect(config).toEqual({
      servers: ['8.8.8.8', '9.9.9.9'],
      searches: ['corp', 'more'],
      options: ['ndots:2', 'rotate', 'use-vc'],
    });
  });
});

describe('limits', () => {
  it('keeps three name servers', () => {
    const { config, warnings } = compose({
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['1', '2', '3', '4'] },
    });
    expect(config.servers).toEqual(['1', '2', '3']);
    expect(warnings).toEqual([
      {
        reason: 'DNSConfigForming',
        message:
          'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1 2 3',
      },
    ]);
  });

  const searchRows: [rule: string, searches: string[], kept: string[]][] = [
    [
      '32 searches',
      Array.from({ length: 33 }, (_, i) => `s${i}`),
      Array.from({ length: 32 }, (_, i) => `s${i}`),
    ],
    ['253 characters a search', ['a', 'b'.repeat(256), 'c'], ['a', 'c']],
    [
      '2048 characters a line, cut from its end',
      Array.from({ length: 10 }, (_, i) => `${i}${'x'.repeat(249)}`),
      Array.from({ length: 8 }, (_, i) => `${i}${'x'.repeat(249)}`),
    ],
  ];
  it.each(searchRows)('%s', (_rule, searches, kept) => {
    const { config, warnings } = compose({ dnsPolicy: 'None', dnsConfig: { searches } });
    expect(config.searches).toEqual(kept);
    expect(warnings).toEqual([
      {
        reason: 'DNSConfigForming',
        message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${kept.join(' ')}`,
      },
    ]);
  });
});
