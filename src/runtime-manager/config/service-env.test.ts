import { describe, expect, it } from 'vitest';
import type { Service, ServiceSpec } from '../../kube/index.js';
import { serviceVariables, visibleServices } from './service-env.js';

function service(namespace: string, name: string, spec: ServiceSpec = {}): Service {
  return { metadata: { name, namespace }, spec: { clusterIP: '1.2.3.4', ports: [{ port: 80 }], ...spec } };
}

describe('visibleServices', () => {
  const api = service('default', 'kubernetes', { clusterIP: '10.96.0.1' });
  const own = service('shop', 'db');
  const local = service('shop', 'kubernetes', { clusterIP: '9.9.9.9' });
  const other = service('default', 'other');
  const headless = service('shop', 'headless', { clusterIP: 'None' });
  const external = service('shop', 'external', { clusterIP: '' });
  const rows: [
    rule: string,
    namespace: string,
    ofNamespace: Service[],
    links: boolean,
    expected: Service[],
  ][] = [
    ['without links only the API server', 'shop', [own], false, [api]],
    ['with links all of the namespace', 'shop', [own], true, [api, own]],
    ['headless and external ones have no address', 'shop', [headless, external], true, [api]],
    ['a local kubernetes wins', 'shop', [local], true, [local]],
    ['a local kubernetes does not count without links', 'shop', [local], false, [api]],
    ['the default namespace sees its own', 'default', [], true, [api, other]],
  ];
  it.each(rows)('%s', (_rule, namespace, ofNamespace, links, expected) => {
    expect(visibleServices({ ofDefault: [api, other], ofNamespace }, namespace, links)).toEqual(expected);
  });
});

describe('serviceVariables', () => {
  it('include the address, ports and links of every port', () => {
    const variables = serviceVariables([
      service('shop', 'abc-123', {
        clusterIP: '5.6.7.8',
        ports: [
          { name: 'u-d-p', port: 8081, protocol: 'UDP' },
          { name: 't-c-p', port: 8081, protocol: 'TCP' },
        ],
      }),
    ]);
    expect(Object.fromEntries(variables)).toEqual({
      ABC_123_SERVICE_HOST: '5.6.7.8',
      ABC_123_SERVICE_PORT: '8081',
      ABC_123_SERVICE_PORT_U_D_P: '8081',
      ABC_123_SERVICE_PORT_T_C_P: '8081',
      ABC_123_PORT: 'udp://5.6.7.8:8081',
      ABC_123_PORT_8081_UDP: 'udp://5.6.7.8:8081',
      ABC_123_PORT_8081_UDP_PROTO: 'udp',
      ABC_123_PORT_8081_UDP_PORT: '8081',
      ABC_123_PORT_8081_UDP_ADDR: '5.6.7.8',
      ABC_123_PORT_8081_TCP: 'tcp://5.6.7.8:8081',
      ABC_123_PORT_8081_TCP_PROTO: 'tcp',
      ABC_123_PORT_8081_TCP_PORT: '8081',
      ABC_123_PORT_8081_TCP_ADDR: '5.6.7.8',
    });
  });

  it('bracket IPv6 in URLs only, and protocols default to TCP', () => {
    const variables = serviceVariables([service('shop', 'six', { clusterIP: 'fd00::1' })]);
    expect(variables.get('SIX_PORT')).toBe('tcp://[fd00::1]:80');
    expect(variables.get('SIX_SERVICE_HOST')).toBe('fd00::1');
    expect(variables.get('SIX_PORT_80_TCP_ADDR')).toBe('fd00::1');
  });
});
