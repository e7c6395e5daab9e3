import { describe, expect, it } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../kube/index.js';
import { decideClaims } from './claims.js';

const owner: KubeObject = { metadata: { name: 'web', namespace: 'default', uid: 'me' } };
const leaving: KubeObject = { metadata: { ...owner.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
const mine = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'me', controller: true };
const selected = { labels: { app: 'web' } };

describe('decideClaims', () => {
  it.each<[rule: string, metadata: ObjectMeta, from: KubeObject, expected: string]>([
    ['keeps what it controls and selects', { ...selected, ownerReferences: [mine] }, owner, 'owned'],
    ['releases what it controls and does not select', { ownerReferences: [mine] }, owner, 'release'],
    ['adopts what it selects and nobody controls', selected, owner, 'adopt'],
    [
      'adopts what has an owner that does not control it',
      { ...selected, ownerReferences: [{ ...mine, uid: 'x', controller: false }] },
      owner,
      'adopt',
    ],
    ['leaves what another controls', { ...selected, ownerReferences: [{ ...mine, uid: 'x' }] }, owner, ''],
    ['leaves what it does not select', {}, owner, ''],
    [
      'does not adopt what is being deleted',
      { ...selected, deletionTimestamp: '2026-01-01T00:00:00Z' },
      owner,
      '',
    ],
    ['does not adopt when it is being deleted itself', selected, leaving, ''],
    ['does not release when it is being deleted itself', { ownerReferences: [mine] }, leaving, ''],
    [
      'keeps what it has when it is being deleted itself',
      { ...selected, ownerReferences: [mine] },
      leaving,
      'owned',
    ],
  ])('%s', (_, metadata, from, expected) => {
    const claims = decideClaims({
      owner: from,
      selector: { matchLabels: { app: 'web' } },
      objects: [{ metadata }],
    });
    const where = Object.entries(claims).filter(([, objects]) => objects.length > 0);
    expect(where.map(([name]) => name).join()).toBe(expected);
  });
  it.each([
    ['an empty selector', {}],
    [
      'an operator that does not exist',
      { matchExpressions: [{ key: 'app', operator: 'Like', values: ['web'] }] },
    ],
  ])('%s selects nothing', (_, selector) => {
    expect(decideClaims({ owner, selector, objects: [{ metadata: selected }] })).toEqual({
      owned: [],
      adopt: [],
      release: [],
    });
  });
});
