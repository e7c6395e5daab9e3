import { describe, expect, it } from 'vitest';
import { resources } from './resources.js';
import { collectionPath, defaultPriority, listQuery, objectPath, watchQuery } from './rest-path.js';

describe('paths', () => {
  it.each([
    ['a core object', resources.pods, 'default', 'web', undefined, '/api/v1/namespaces/default/pods/web'],
    ['its status', resources.pods, 'default', 'web', 'status', '/api/v1/namespaces/default/pods/web/status'],
    [
      'an object of a group',
      resources.leases,
      'kube-node-lease',
      'n1',
      undefined,
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
    ],
    ['an object in no namespace', resources.nodes, undefined, 'n1', undefined, '/api/v1/nodes/n1'],
    ['a namespace is ignored where there is none', resources.nodes, 'x', 'n1', undefined, '/api/v1/nodes/n1'],
    ['names are escaped', resources.nodes, undefined, '../a', undefined, '/api/v1/nodes/..%2Fa'],
  ])('%s', (_, resource, namespace, name, subresource, path) => {
    expect(
      objectPath(resource, { name, ...(namespace === undefined ? {} : { namespace }) }, subresource),
    ).toBe(path);
  });
  it('lists over all namespaces', () => {
    expect(collectionPath(resources.pods, undefined)).toBe('/api/v1/pods');
  });
  it('a missing name or namespace never becomes a request for something else', () => {
    expect(() => objectPath(resources.pods, { namespace: 'default', name: '' })).toThrow('without a name');
    expect(() => objectPath(resources.pods, { name: 'web' })).toThrow('needs a namespace');
  });
});

describe('queries', () => {
  it.each([
    ['nothing given', listQuery({}), ''],
    ['from the cache', listQuery({ resourceVersion: '0' }), '?resourceVersion=0'],
    [
      'selectors are escaped',
      listQuery({ fieldSelector: 'spec.nodeName=n1', labelSelector: 'a in (b,c)' }),
      '?fieldSelector=spec.nodeName%3Dn1&labelSelector=a%20in%20(b%2Cc)',
    ],
    [
      'a continued list names no version',
      listQuery({ resourceVersion: '5', limit: 10, continue: 'x' }),
      '?limit=10&continue=x',
    ],
    [
      'a watch with bookmarks',
      watchQuery({ resourceVersion: '7', timeoutSeconds: 300, allowBookmarks: true }),
      '?watch=true&resourceVersion=7&timeoutSeconds=300&allowWatchBookmarks=true',
    ],
    [
      'a watch that begins with all objects',
      watchQuery({ timeoutSeconds: 300, allowBookmarks: true, sendInitialEvents: true }),
      '?watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    ],
  ])('%s', (_, query, expected) => {
    expect(query).toBe(expected);
  });
});

it('leases and statuses go first, events last', () => {
  expect(defaultPriority(resources.leases, undefined)).toBe('urgent');
  expect(defaultPriority(resources.pods, 'status')).toBe('urgent');
  expect(defaultPriority(resources.pods, undefined)).toBe('normal');
  expect(defaultPriority(resources.events, undefined)).toBe('background');
});
