import { describe, expect, it } from 'vitest';
import { endpointText, parseAddresses, parsePort } from './port-forward-ports.js';

const pod = {
  metadata: { uid: 'u', name: 'p', namespace: 'default' },
  spec: { containers: [{ name: 'app', ports: [{ containerPort: 80, name: 'http' }, { containerPort: 9 }] }] },
};

describe('parsePort', () => {
  it.each([
    ['80', 80, 80],
    ['8080:80', 8080, 80],
    [':80', 0, 80],
    ['0:80', 0, 80],
    ['http', 80, 80],
    ['8080:http', 8080, 80],
  ])('%s', (text, local, remote) => {
    expect(parsePort(text, pod)).toEqual({ local, remote });
  });
  it.each([
    ['0', 'invalid port "0" in "0": 1 to 65535'],
    ['70000', 'invalid port "70000"'],
    ['1:2:3', 'invalid port format "1:2:3"'],
    ['8080:', 'invalid port ""'],
    ['-1:80', 'invalid port "-1"'],
    ['8080:https', 'the pod has no port named "https"; it has http'],
  ])('refuses %s', (text, message) => {
    expect(() => parsePort(text, pod)).toThrow(message);
  });
});

it('listens on both addresses of localhost; the IPv6 one is optional', () => {
  expect(parseAddresses('localhost, 10.0.0.1')).toEqual([
    { address: '127.0.0.1', optional: false },
    { address: '::1', optional: true },
    { address: '10.0.0.1', optional: false },
  ]);
});

it('writes IPv6 addresses in brackets', () => {
  expect([endpointText('127.0.0.1', 80), endpointText('::1', 80)]).toEqual(['127.0.0.1:80', '[::1]:80']);
});
