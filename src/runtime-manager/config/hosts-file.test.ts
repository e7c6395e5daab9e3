import { describe, expect, it } from 'vitest';
import { hostNetworkHostsFile, podHostsFile } from './hosts-file.js';

const loopback = [
  '# Kubernetes-managed hosts file.',
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
].join('\n');

describe('hosts files', () => {
  it('name every address of the pod', () => {
    expect(podHostsFile(['10.0.0.7', 'fd00::7'], { hostname: 'web', domain: '' }, [])).toBe(
      `${loopback}\n10.0.0.7\tweb\nfd00::7\tweb\n`,
    );
  });

  it('put the name with its domain first', () => {
    expect(podHostsFile(['10.0.0.7'], { hostname: 'web', domain: 'sub.shop.svc.c' }, [])).toBe(
      `${loopback}\n10.0.0.7\tweb.sub.shop.svc.c\tweb\n`,
    );
  });

  it('end with the aliases', () => {
    const aliases = [
      { ip: '1.2.3.4', hostnames: ['a', 'b'] },
      { ip: '5.6.7.8', hostnames: ['c'] },
    ];
    expect(podHostsFile(['10.0.0.7'], { hostname: 'web', domain: '' }, aliases)).toBe(
      `${loopback}\n10.0.0.7\tweb\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n5.6.7.8\tc\n`,
    );
  });

  it('are the node file on the host network', () => {
    expect(hostNetworkHostsFile('127.0.0.1 localhost\n', [{ ip: '1.2.3.4', hostnames: ['a'] }])).toBe(
      '# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n# Entries added by HostAliases.\n1.2.3.4\ta\n',
    );
  });
});
