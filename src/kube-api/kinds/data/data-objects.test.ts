import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/types/index.js';
import { type Resource, resources } from '../../../kube-client/resources.js';
import type { ServedApi } from '../../server.js';
import { change, createIn, refusalOf, testApi } from '../kinds-test-api.js';

let api: ServedApi;
beforeEach(async () => {
  ({ api } = await testApi());
});
const { configMaps, secrets } = resources;
const create = (resource: Resource, rest: object): Promise<KubeObject> =>
  createIn(api, resource, { metadata: { name: 'x' }, ...rest });

it('plain texts of a Secret are stored with the others', async () => {
  const secret = await create(secrets, { data: { a: 'MQ==', b: 'Mg==' }, stringData: { b: '3', c: '4' } });
  expect(secret).toMatchObject({ type: 'Opaque', data: { a: 'MQ==', b: 'Mw==', c: 'NA==' } });
  expect(secret).not.toHaveProperty('stringData');
});

describe('refused', () => {
  it.each<[string, Resource, object, string]>([
    ['a key with a slash', configMaps, { data: { 'a/b': '1' } }, 'Invalid value: "a/b"'],
    [
      'a key twice',
      configMaps,
      { data: { a: '1' }, binaryData: { a: 'MQ==' } },
      'duplicate of key present in binaryData',
    ],
    ['a number', configMaps, { data: { a: 1 } }, 'data.a: Invalid value: "<number>": must be a text'],
    [
      'no base64',
      configMaps,
      { binaryData: { a: '?' } },
      'binaryData.a: Invalid value: "<value redacted>": must be base64',
    ],
    [
      'too much',
      configMaps,
      { data: { a: 'x'.repeat(1024 * 1024 + 1) } },
      'Too long: may not be more than 1048576 bytes',
    ],
    [
      'no base64 in a Secret',
      secrets,
      { data: { a: '?' } },
      'data.a: Invalid value: "<value redacted>": must be base64',
    ],
    [
      'a number in a Secret',
      secrets,
      { stringData: { a: 1 } },
      '400 Secret in version "v1" cannot be handled as a Secret',
    ],
    [
      'a certificate without its key',
      secrets,
      { type: 'kubernetes.io/tls', stringData: { 'tls.crt': 'x' } },
      'tls.key',
    ],
    [
      'credentials that are no JSON',
      secrets,
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': '{' } },
      '<secret contents redacted>',
    ],
    ['a token of nobody', secrets, { type: 'kubernetes.io/service-account-token' }, 'Required value'],
  ])('%s', async (_rule, resource, rest, why) => {
    expect(await refusalOf(create(resource, rest))).toContain(why);
  });
});

it.each<[string, Resource, object, object, string]>([
  [
    'data of an immutable ConfigMap',
    configMaps,
    { immutable: true, data: { a: '1' } },
    { data: { a: '2' } },
    'data: Forbidden: field is immutable when `immutable` is set',
  ],
  [
    'its being immutable',
    configMaps,
    { immutable: true },
    { immutable: false },
    'immutable: Forbidden: field is immutable when `immutable` is set',
  ],
  ['its labels', configMaps, { immutable: true }, { metadata: { labels: { a: 'b' } } }, 'accepted'],
  [
    'data of an immutable Secret',
    secrets,
    { immutable: true },
    { data: { a: 'MQ==' } },
    'data: Forbidden: field is immutable when `immutable` is set',
  ],
  [
    'the type of a Secret',
    secrets,
    {},
    { type: 'other' },
    'type: Invalid value: "other": field is immutable',
  ],
])('a change of %s', async (_rule, resource, rest, patch, why) => {
  await create(resource, rest);
  expect(await refusalOf(change(api, resource, 'x', patch))).toContain(why);
});
