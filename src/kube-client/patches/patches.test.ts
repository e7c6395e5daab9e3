import { describe, expect, it } from 'vitest';
import { applyJsonPatch } from './json-patch.js';
import { mergeSchemaOf } from './merge-keys.js';
import { applyMergePatch } from './merge-patch.js';
import { strategicMergeDiff } from './strategic-diff.js';
import { applyStrategicMergePatch } from './strategic-merge.js';

describe('JSON merge patch', () => {
  it.each([
    ['sets and keeps', { a: 1, b: 2 }, { a: 3 }, { a: 3, b: 2 }],
    ['null removes', { a: 1, b: 2 }, { a: null }, { b: 2 }],
    ['goes into mappings', { a: { b: 1, c: 2 } }, { a: { b: null, d: 3 } }, { a: { c: 2, d: 3 } }],
    ['replaces lists', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['a mapping over a scalar', { a: 1 }, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
  ])('%s', (_, original, patch, expected) => {
    expect(applyMergePatch(original, patch)).toEqual(expected);
  });
});

describe('JSON patch', () => {
  const original = { a: { b: 1 }, l: [1, 2], 'x/y': 1 };
  it.each([
    ['add a member', [{ op: 'add' as const, path: '/a/c', value: 2 }], { ...original, a: { b: 1, c: 2 } }],
    ['add into a list', [{ op: 'add' as const, path: '/l/1', value: 9 }], { ...original, l: [1, 9, 2] }],
    ['append', [{ op: 'add' as const, path: '/l/-', value: 9 }], { ...original, l: [1, 2, 9] }],
    ['remove', [{ op: 'remove' as const, path: '/l/0' }], { ...original, l: [2] }],
    [
      'replace, with an escaped name',
      [{ op: 'replace' as const, path: '/x~1y', value: 2 }],
      { ...original, 'x/y': 2 },
    ],
    ['move', [{ op: 'move' as const, from: '/a/b', path: '/m' }], { a: {}, l: [1, 2], 'x/y': 1, m: 1 }],
    ['copy', [{ op: 'copy' as const, from: '/a', path: '/m' }], { ...original, m: { b: 1 } }],
    ['test that holds', [{ op: 'test' as const, path: '/a', value: { b: 1 } }], original],
  ])('%s', (_, patch, expected) => {
    expect(applyJsonPatch(original, patch)).toEqual(expected);
  });
  it.each([
    ['a test that fails', [{ op: 'test' as const, path: '/a/b', value: 2 }]],
    ['a missing path', [{ op: 'remove' as const, path: '/q' }]],
    ['an index beyond the end', [{ op: 'add' as const, path: '/l/5', value: 1 }]],
  ])('rejects %s and changes nothing', (_, patch) => {
    const before = structuredClone(original);
    expect(() => applyJsonPatch(original, patch)).toThrow();
    expect(original).toEqual(before);
  });
});

const pod = mergeSchemaOf({ kind: 'Pod' });
const node = mergeSchemaOf({ kind: 'Node' });
const condition = (type: string, status: string): object => ({ type, status });

describe('strategic merge patch', () => {
  it.each<[string, object, object, object, object]>([
    [
      'members of a keyed list are merged',
      pod,
      { status: { conditions: [{ type: 'A', status: 'x', reason: 'r' }, condition('B', 'x')] } },
      { status: { conditions: [{ type: 'A', status: 'y' }] } },
      { status: { conditions: [{ type: 'A', status: 'y', reason: 'r' }, condition('B', 'x')] } },
    ],
    [
      'a member is deleted, another added',
      pod,
      { status: { conditions: [condition('A', 'x'), condition('B', 'x')] } },
      { status: { conditions: [{ type: 'A', $patch: 'delete' }, condition('C', 'x')] } },
      { status: { conditions: [condition('B', 'x'), condition('C', 'x')] } },
    ],
    [
      'a list without a key is replaced',
      pod,
      { status: { containerStatuses: [{ name: 'a', ready: true }] } },
      { status: { containerStatuses: [{ name: 'b' }] } },
      { status: { containerStatuses: [{ name: 'b' }] } },
    ],
    [
      'a keyed list is replaced on demand',
      node,
      { status: { addresses: [{ type: 'InternalIP', address: '1' }] } },
      { status: { addresses: [{ type: 'Hostname', address: 'h' }, { $patch: 'replace' }] } },
      { status: { addresses: [{ type: 'Hostname', address: 'h' }] } },
    ],
    [
      'an order is kept',
      pod,
      { status: { conditions: [condition('A', 'x'), condition('B', 'x'), condition('Z', 'x')] } },
      {
        status: {
          conditions: [condition('C', 'x')],
          '$setElementOrder/conditions': [{ type: 'B' }, { type: 'A' }, { type: 'C' }],
        },
      },
      {
        status: {
          conditions: [condition('B', 'x'), condition('A', 'x'), condition('Z', 'x'), condition('C', 'x')],
        },
      },
    ],
    [
      'values of a set come and go',
      pod,
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { finalizers: ['c'], '$deleteFromPrimitiveList/finalizers': ['a'] } },
      { metadata: { finalizers: ['b', 'c'] } },
    ],
    [
      'null removes',
      pod,
      { status: { reason: 'r', phase: 'p' } },
      { status: { reason: null } },
      { status: { phase: 'p' } },
    ],
  ])('%s', (_, schema, original, patch, expected) => {
    expect(applyStrategicMergePatch(schema, original, patch)).toEqual(expected);
  });
});

describe('the difference of two objects', () => {
  it('is what the API expects', () => {
    const original = {
      status: {
        phase: 'Pending',
        reason: 'old',
        conditions: [{ type: 'A', status: 'x', reason: 'r' }, condition('B', 'x')],
      },
    };
    const modified = { status: { phase: 'Running', conditions: [condition('C', 'y'), condition('A', 'y')] } };
    expect(strategicMergeDiff(pod, original, modified)).toEqual({
      status: {
        phase: 'Running',
        reason: null,
        conditions: [
          condition('C', 'y'),
          { type: 'A', status: 'y', reason: null },
          { type: 'B', $patch: 'delete' },
        ],
        '$setElementOrder/conditions': [{ type: 'C' }, { type: 'A' }],
      },
    });
  });
  it('is empty for equal objects, undefined members and empty lists', () => {
    const original = { status: { phase: 'Running' } };
    expect(
      strategicMergeDiff(pod, original, { status: { phase: 'Running', reason: undefined, podIPs: [] } }),
    ).toEqual({});
  });
  it.each<[string, object, object]>([
    ['statuses', { status: { podIPs: [{ ip: '1' }] } }, { status: { podIPs: [{ ip: '2' }, { ip: '1' }] } }],
    ['finalizers', { metadata: { finalizers: ['a', 'b'] } }, { metadata: { finalizers: ['c', 'a'] } }],
    ['labels', { metadata: { labels: { a: '1', b: '2' } } }, { metadata: { labels: { b: '3' } } }],
    [
      'only the order',
      { status: { conditions: [condition('A', 'x'), condition('B', 'x')] } },
      { status: { conditions: [condition('B', 'x'), condition('A', 'x')] } },
    ],
    [
      'plain lists',
      { status: { containerStatuses: [{ name: 'a' }] } },
      { status: { containerStatuses: [{ name: 'a', ready: true }] } },
    ],
  ])('applied, turns one into the other: %s', (_, original, modified) => {
    const patch = strategicMergeDiff(pod, original, modified);
    expect(applyStrategicMergePatch(pod, original, patch)).toEqual(modified);
  });
});
