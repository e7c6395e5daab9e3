import { describe, expect, it } from 'vitest';
import type { Container, HTTPGetAction, HTTPHeader } from '../kube/index.js';
import { containerPort } from './port.js';
import { formatUrl, httpGetRequest } from './request.js';

const container: Container = { name: 'app', ports: [{ name: 'web', containerPort: 8080 }] };
const requestOf = (action: HTTPGetAction, podIp = '10.0.0.1') =>
  httpGetRequest(action, { container, podIp, userAgent: 'kube-probe/1.37' });

describe('the target of a probe', () => {
  it.each<[string, HTTPGetAction, string]>([
    ['the pod, over HTTP', { port: 80 }, 'http://10.0.0.1:80/'],
    ['the given host and scheme', { port: 443, host: 'db', scheme: 'HTTPS' }, 'https://db:443/'],
    ['IPv6 in brackets', { port: 80, host: 'fd00::1' }, 'http://[fd00::1]:80/'],
    ['a named port', { port: 'web' }, 'http://10.0.0.1:8080/'],
    ['a path', { port: 80, path: '/healthz' }, 'http://10.0.0.1:80/healthz'],
    ['a path without a leading slash', { port: 80, path: 'healthz' }, 'http://10.0.0.1:80/healthz'],
    ['a query', { port: 80, path: '/a?b=c&d' }, 'http://10.0.0.1:80/a?b=c&d'],
    ['no fragment', { port: 80, path: '/a#b' }, 'http://10.0.0.1:80/a'],
    ['spaces are escaped', { port: 80, path: '/a b' }, 'http://10.0.0.1:80/a%20b'],
    ['escapes stay', { port: 80, path: '/a%2Fb' }, 'http://10.0.0.1:80/a%2Fb'],
    [
      'an invalid reference is sent unchanged',
      { port: 80, path: '/a%zz?b' },
      'http://10.0.0.1:80/a%25zz%3Fb',
    ],
    ['the host of a full URL is ignored', { port: 80, path: 'http://x/y?z' }, 'http://10.0.0.1:80/y?z'],
  ])('%s', (_, action, expected) => {
    expect(formatUrl(requestOf(action).url)).toBe(expected);
  });

  it.each<[string, number | string, number | string]>([
    ['a number', 80, 80],
    ['a name', 'web', 8080],
    ['a number as text is a name', '81', 'port "81" not found'],
    ['an unknown name', 'metrics', 'port "metrics" not found'],
    ['zero', 0, 'invalid port number: 0'],
    ['too large', 65_536, 'invalid port number: 65536'],
  ])('port: %s', (_, port, expected) => {
    if (typeof expected === 'number') expect(containerPort(port, container)).toBe(expected);
    else expect(() => containerPort(port, container)).toThrow(expected);
  });
});

describe('the headers of a probe', () => {
  const defaults = [
    ['User-Agent', 'kube-probe/1.37'],
    ['Accept', '*/*'],
    ['Connection', 'close'],
  ];
  it.each<[string, HTTPHeader[], string[][], string?]>([
    ['by default', [], defaults],
    [
      'given headers replace the defaults',
      [
        { name: 'user-agent', value: 'me' },
        { name: 'accept', value: 'text/html' },
      ],
      [
        ['User-Agent', 'me'],
        ['Accept', 'text/html'],
        ['Connection', 'close'],
      ],
    ],
    [
      'empty defaults are omitted',
      [
        { name: 'User-Agent', value: '' },
        { name: 'Accept', value: '' },
      ],
      [['Connection', 'close']],
    ],
    [
      'repeated headers keep all values under a canonical name',
      [
        { name: 'x-muffins-or-PLUMS', value: 'a' },
        { name: 'X-Muffins-Or-Plums', value: 'b' },
      ],
      [
        ['User-Agent', 'kube-probe/1.37'],
        ['Accept', '*/*'],
        ['X-Muffins-Or-Plums', 'a'],
        ['X-Muffins-Or-Plums', 'b'],
        ['Connection', 'close'],
      ],
    ],
    ['Host sets the host header', [{ name: 'host', value: 'shop.example' }], defaults, 'shop.example'],
    [
      'headers of the message framing are dropped',
      [
        { name: 'Content-Length', value: '5' },
        { name: 'Connection', value: 'keep-alive' },
      ],
      defaults,
    ],
  ])('%s', (_, httpHeaders, headers, hostHeader) => {
    expect(requestOf({ port: 80, httpHeaders })).toMatchObject({ headers, hostHeader });
  });
});
