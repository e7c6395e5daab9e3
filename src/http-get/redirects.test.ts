import { describe, expect, it } from 'vitest';
import type { HttpGetRequest } from './contracts.js';
import { redirectedRequest } from './redirects.js';
import { formatUrl } from './request.js';

const first: HttpGetRequest = {
  url: { scheme: 'http', hostname: '10.0.0.1', port: 80, target: '/start' },
  hostHeader: 'shop.example',
  headers: [['X-Key', 'k']],
};

describe('redirects', () => {
  it.each<[string, string, string | undefined, string | undefined]>([
    [
      'a path on the same host, with the same Host header',
      '/next?a',
      'http://10.0.0.1:80/next?a',
      'shop.example',
    ],
    ['another port', 'http://10.0.0.1:8080/x', 'http://10.0.0.1:8080/x', undefined],
    ['another scheme', 'https://10.0.0.1/x', 'https://10.0.0.1/x', undefined],
    ['another host is not followed', 'http://10.0.0.2/', undefined, undefined],
    ['a protocol-relative location is another host', '//10.0.0.2/x', undefined, undefined],
  ])('%s', (_, location, expected, hostHeader) => {
    const next = redirectedRequest(first, first, location, 1);
    // The scheme's default port may be omitted.
    expect(next && formatUrl(next.url)).toBe(expected?.replace(':80/', '/'));
    expect(next?.hostHeader).toBe(hostHeader);
    if (next !== undefined) expect(next.headers).toContainEqual(['X-Key', 'k']);
  });

  it('stop after ten', () => {
    expect(redirectedRequest(first, first, '/again', 9)).toBeDefined();
    expect(() => redirectedRequest(first, first, '/again', 10)).toThrow(
      'Get "/again": stopped after 10 redirects',
    );
  });
});
