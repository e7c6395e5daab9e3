import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../../kube/index.js';
import { kernelHostname, podHostname } from './hostname.js';

function pod(spec: Partial<PodSpec>, name = 'web') {
  return { metadata: { name, namespace: 'shop', uid: 'u1' }, spec: { containers: [], ...spec } };
}

describe('podHostname', () => {
  const rows: [rule: string, spec: Partial<PodSpec>, name: string, hostname: string, domain: string][] = [
    ['the pod name is the default', {}, 'web', 'web', ''],
    ['spec.hostname wins over the name', { hostname: 'front' }, 'web', 'front', ''],
    ['a subdomain makes a domain', { subdomain: 'sub' }, 'web', 'web', 'sub.shop.svc.cluster.local'],
    ['an override has no domain', { hostnameOverride: 'a.b', subdomain: 'sub' }, 'web', 'a.b', ''],
    ['63 characters stay', {}, 'a'.repeat(63), 'a'.repeat(63), ''],
    [
      'more is cut, and trailing - and . with it',
      {},
      `${'a'.repeat(61)}-.${'b'.repeat(7)}`,
      'a'.repeat(61),
      '',
    ],
  ];
  it.each(rows)('%s', (_rule, spec, name, hostname, domain) => {
    expect(podHostname(pod(spec, name), 'cluster.local')).toEqual({ hostname, domain });
  });

  const failures: [rule: string, spec: Partial<PodSpec>, message: string][] = [
    ['hostname must be a label', { hostname: 'a.b' }, 'pod Hostname "a.b" is not a valid DNS label: '],
    ['subdomain must be a label', { subdomain: 'A' }, 'pod Subdomain "A" is not a valid DNS label: '],
    [
      'override must be a subdomain',
      { hostnameOverride: 'a_b' },
      'pod HostnameOverride "a_b" is not a valid DNS subdomain: ',
    ],
  ];
  it.each(failures)('%s', (_rule, spec, message) => {
    expect(() => podHostname(pod(spec), 'cluster.local')).toThrow(message);
  });
});

describe('kernelHostname', () => {
  it('is the short name unless the FQDN is requested', () => {
    expect(kernelHostname({ hostname: 'web', domain: 'd.e' }, false)).toBe('web');
    expect(kernelHostname({ hostname: 'web', domain: 'd.e' }, true)).toBe('web.d.e');
    expect(kernelHostname({ hostname: 'web', domain: '' }, true)).toBe('web');
  });

  it('accepts an FQDN of 64 characters and rejects one of 65', () => {
    const domain = 'd'.repeat(32);
    expect(kernelHostname({ hostname: 'h'.repeat(31), domain }, true)).toHaveLength(64);
    const fqdn = `${'h'.repeat(32)}.${domain}`;
    expect(() => kernelHostname({ hostname: 'h'.repeat(32), domain }, true)).toThrow(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, 65 characters requested)`,
    );
  });
});
