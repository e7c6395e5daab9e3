import { describe, expect, it } from 'vitest';
import type { PullSecretSource, ServiceAccountSource } from '../../contracts.js';
import {
  judgeAccess,
  judgeServiceAccount,
  needsVerification,
  type PulledRecord,
  type RecordedAccess,
  recordsServiceAccounts,
  type VerificationPolicy,
  withAccess,
} from './pulled-record.js';

const secret = (name: string, credentialHash = `hash-${name}`): PullSecretSource => ({
  uid: `uid-${name}`,
  namespace: 'shop',
  name,
  credentialHash,
});
const record = (access?: RecordedAccess): PulledRecord => ({
  lastUpdatedTime: '2026-01-01T00:00:00Z',
  imageRef: 'sha256:1',
  credentialMapping: access === undefined ? {} : { 'a.io/app': access },
});

describe('which images need to be verified', () => {
  it.each<[VerificationPolicy, boolean, string, boolean]>([
    ['NeverVerify', true, 'a.io/app:1', false],
    ['NeverVerifyPreloadedImages', true, 'a.io/app:1', true],
    ['NeverVerifyPreloadedImages', false, 'a.io/app:1', false],
    ['NeverVerifyAllowlistedImages', true, 'a.io/app:1', false],
    ['NeverVerifyAllowlistedImages', true, 'a.io/other:1', true],
    ['NeverVerifyAllowlistedImages', false, 'b.io/team/x@sha256:aa', false],
    ['NeverVerifyAllowlistedImages', false, 'b.io/teams/x', true],
    ['NeverVerifyAllowlistedImages', false, 'busybox', false],
    ['AlwaysVerify', false, 'a.io/app:1', true],
  ])('%s, pulled by the agent: %s, %s: %s', (policy, pulledByAgent, image, expected) => {
    const allowlist = ['a.io/app', 'b.io/team/*', 'docker.io/library/busybox'];
    const name = image.replace('@sha256:aa', `@sha256:${'a'.repeat(64)}`);
    expect(needsVerification(policy, name, { pulledByAgent, allowlist })).toBe(expected);
  });
});

describe('66: what a record lets a pod do', () => {
  const full = Array.from({ length: 100 }, (_, index) => secret(`s${index}`));
  it.each<[string, PulledRecord | undefined, PullSecretSource[], ReturnType<typeof judgeAccess>]>([
    ['no record', undefined, [secret('a')], { kind: 'pull' }],
    ['no entry for this name', record(), [secret('a')], { kind: 'pull' }],
    ['an empty entry', record({}), [secret('a')], { kind: 'pull' }],
    ['open to all pods', record({ nodePodsAccessible: true }), [], { kind: 'use' }],
    ['a pod without secrets', record({ kubernetesSecrets: [secret('a')] }), [], { kind: 'pull' }],
    ['another secret', record({ kubernetesSecrets: [secret('a')] }), [secret('b')], { kind: 'pull' }],
    ['the same secret', record({ kubernetesSecrets: [secret('a')] }), [secret('a')], { kind: 'use' }],
    [
      'the same credentials in another secret are learned',
      record({ kubernetesSecrets: [secret('a')] }),
      [secret('b', 'hash-a')],
      { kind: 'use', learned: secret('b', 'hash-a') },
    ],
    [
      'new credentials in the same secret are learned',
      record({ kubernetesSecrets: [secret('a')] }),
      [secret('a', 'new')],
      { kind: 'use', learned: secret('a', 'new') },
    ],
    [
      'an empty hash says nothing',
      record({ kubernetesSecrets: [secret('a', '')] }),
      [secret('b', '')],
      { kind: 'pull' },
    ],
    [
      'a full entry learns nothing more',
      record({ kubernetesSecrets: full }),
      [secret('b', 'hash-s5')],
      { kind: 'use' },
    ],
    [
      'a full entry does not trust new credentials',
      record({ kubernetesSecrets: full }),
      [secret('s5', 'new')],
      { kind: 'pull' },
    ],
  ])('%s', (_, given, secrets, expected) => {
    expect(judgeAccess(given, 'a.io/app:2', secrets)).toEqual(expected);
  });
});

const account = (name: string, uid = `uid-${name}`): ServiceAccountSource => ({
  uid,
  namespace: 'shop',
  name,
});

describe('what a record lets a service account do', () => {
  const known: RecordedAccess = { kubernetesServiceAccounts: [account('a'), account('b')] };
  it.each<[string, RecordedAccess | undefined, ServiceAccountSource | undefined, 'use' | 'pull']>([
    ['no entry', undefined, account('a'), 'pull'],
    ['no accounts', { kubernetesSecrets: [secret('a')] }, account('a'), 'pull'],
    ['no account', known, undefined, 'pull'],
    ['one that is known', known, account('b'), 'use'],
    ['one that is not', known, account('c'), 'pull'],
    ['one of the same name that was made anew', known, account('a', 'uid-new'), 'pull'],
    ['one of another namespace', known, { ...account('a'), namespace: 'else' }, 'pull'],
  ])('%s', (_, access, asked, kind) => {
    expect(judgeServiceAccount(record(access), 'a.io/app:2', asked)).toEqual({ kind });
  });

  it.each<[string, RecordedAccess | undefined, boolean]>([
    ['no entry', undefined, false],
    ['secrets alone', { kubernetesSecrets: [secret('a')] }, false],
    ['accounts', known, true],
    ['open to all', { nodePodsAccessible: true }, false],
  ])('plugins are asked for an image with %s: %s', (_, access, expected) => {
    expect(recordsServiceAccounts(record(access), 'a.io/app:2')).toBe(expected);
  });
});

describe('what a pull adds to a record', () => {
  const add = (before: PulledRecord | undefined, access: Parameters<typeof withAccess>[1]['access']) =>
    withAccess(before, { image: 'a.io/app:1', imageRef: 'sha256:1', access, now: 'later' });
  it.each<[string, RecordedAccess | undefined, Parameters<typeof add>[1], RecordedAccess]>([
    ['the node opens it to all', undefined, { kind: 'node' }, { nodePodsAccessible: true }],
    [
      'the node clears secrets',
      { kubernetesSecrets: [secret('a')] },
      { kind: 'node' },
      { nodePodsAccessible: true },
    ],
    ['a secret', undefined, { kind: 'secret', secret: secret('a') }, { kubernetesSecrets: [secret('a')] }],
    [
      'secrets are sorted',
      { kubernetesSecrets: [secret('b')] },
      { kind: 'secret', secret: secret('a') },
      { kubernetesSecrets: [secret('a'), secret('b')] },
    ],
    [
      'a secret takes its own place',
      { kubernetesSecrets: [secret('a')] },
      { kind: 'secret', secret: secret('a', 'new') },
      { kubernetesSecrets: [secret('a', 'new')] },
    ],
    [
      'what is open stays open',
      { nodePodsAccessible: true },
      { kind: 'secret', secret: secret('a') },
      { nodePodsAccessible: true },
    ],
    ['a pull with unknown credentials', undefined, undefined, {}],
    [
      'an account',
      undefined,
      { kind: 'serviceAccount', account: account('a') },
      { kubernetesServiceAccounts: [account('a')] },
    ],
    [
      'accounts are sorted, and stand beside secrets',
      { kubernetesSecrets: [secret('s')], kubernetesServiceAccounts: [account('b')] },
      { kind: 'serviceAccount', account: account('a') },
      { kubernetesSecrets: [secret('s')], kubernetesServiceAccounts: [account('a'), account('b')] },
    ],
    [
      'an account that was made anew stands beside its old self',
      { kubernetesServiceAccounts: [account('a', 'u1')] },
      { kind: 'serviceAccount', account: account('a', 'u2') },
      { kubernetesServiceAccounts: [account('a', 'u1'), account('a', 'u2')] },
    ],
    [
      'the node clears accounts',
      { kubernetesServiceAccounts: [account('a')] },
      { kind: 'node' },
      { nodePodsAccessible: true },
    ],
    [
      'what is open stays open for accounts',
      { nodePodsAccessible: true },
      { kind: 'serviceAccount', account: account('a') },
      { nodePodsAccessible: true },
    ],
  ])('%s', (_, before, access, expected) => {
    expect(add(record(before), access).credentialMapping['a.io/app']).toEqual(expected);
  });

  it('adding nothing new returns the same record', () => {
    const before = record({ kubernetesSecrets: [secret('a')] });
    expect(add(before, { kind: 'secret', secret: secret('a') })).toBe(before);
    const known = record({ kubernetesServiceAccounts: [account('a')] });
    expect(add(known, { kind: 'serviceAccount', account: account('a') })).toBe(known);
  });

  it('a thousand accounts are all that one image has', () => {
    const full = record({
      kubernetesServiceAccounts: Array.from({ length: 1000 }, (_, index) => account(`a${index}`)),
    });
    expect(add(full, { kind: 'serviceAccount', account: account('more') })).toBe(full);
  });
});
