/** Tests of request bodies in protobuf. */
import { describe, expect, it } from 'vitest';
import { apiVersionOf, resources } from '../../kube-client/resources.js';
import { putInEnvelope } from '../../kube-protobuf/index.js';
import { objectMessage } from '../../kube-protobuf/objects.js';
import { servedKinds } from '../kinds/kinds.js';
import { readDocument, readObject } from './body.js';
import type { ApiRequest } from './contracts.js';
import { WrittenFields } from './written-fields.js';

function posted(bytes: Uint8Array, type = 'application/vnd.kubernetes.protobuf'): ApiRequest {
  return {
    method: 'POST',
    path: '/',
    query: new URLSearchParams(),
    headers: { 'content-type': type },
    user: { name: 'owner', groups: [] },
    readBody: () => Promise.resolve(Buffer.from(bytes)),
  };
}

function inProtobuf(apiVersion: string, kind: string, object: object): Buffer {
  const bytes = objectMessage(apiVersion, kind)?.encode(object) ?? new Uint8Array([1, 2, 3]);
  return putInEnvelope({ apiVersion, kind, bytes });
}

describe('a body in protobuf', () => {
  it('is read as JSON of the same object', async () => {
    const deployment = { metadata: { name: 'shop' }, spec: { replicas: 0, paused: true } };
    const request = posted(inProtobuf('apps/v1', 'Deployment', deployment));
    expect(await readDocument(request)).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', ...deployment });
  });
  it('is an object of the resource that it is posted to', async () => {
    const secret = { metadata: { name: 's' }, data: { a: 'Yg==' } };
    const request = () => posted(inProtobuf('v1', 'Secret', secret));
    const fields = new WrittenFields(new URLSearchParams());
    expect(await readObject(request(), resources.secrets, fields)).toMatchObject(secret);
    await expect(readObject(request(), resources.configMaps, fields)).rejects.toMatchObject({ code: 400 });
  });
  it('keeps a label named like a prototype', async () => {
    const labels = JSON.parse('{"__proto__":"x"}');
    const read = await readDocument(posted(inProtobuf('v1', 'ConfigMap', { metadata: { labels } })));
    expect(JSON.stringify(read)).toContain('"labels":{"__proto__":"x"}');
  });
  it.each<[string, number, RegExp, Uint8Array, string?]>([
    [
      'a kind that is not known',
      415,
      /^objects of type "example.com\/v1, Kind=Thing" are not read in protobuf here; send JSON/,
      inProtobuf('example.com/v1', 'Thing', {}),
    ],
    ['a kind with a long name', 415, /^.{0,400}$/, inProtobuf('v1', 'x'.repeat(10_000), {})],
    ['no envelope', 400, /first four bytes/, Buffer.from('{}')],
    ['an envelope that is cut off', 400, /cannot be read/, Buffer.from('6b3873000a05', 'hex')],
    [
      'a message that is none',
      400,
      /ConfigMap: /,
      putInEnvelope({ apiVersion: 'v1', kind: 'ConfigMap', bytes: Buffer.from('0aff', 'hex') }),
    ],
    [
      'JSON in it that is too deep',
      400,
      /nested more than 100 levels/,
      inProtobuf('apps/v1', 'ControllerRevision', { data: nested(1000) }),
    ],
    ['JSON in it that no stack can hold', 400, /cannot be read/, deepRevision(1_000_000)],
  ])('is refused with %s: %d', async (_, code, message, bytes) => {
    await expect(readDocument(posted(bytes))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
  it.each(servedKinds.map(({ resource }) => [apiVersionOf(resource), resource.kind]))(
    'may be of any kind that is served: %s %s',
    (apiVersion, kind) => {
      expect(objectMessage(apiVersion, kind)).toBeDefined();
    },
  );
  it('is no patch', async () => {
    const request = posted(inProtobuf('v1', 'ConfigMap', {}));
    await expect(readDocument(request, ['application/merge-patch+json'])).rejects.toMatchObject({
      code: 415,
    });
  });
});

function nested(depth: number): unknown {
  return JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
}

/** Written by hand: the writer would need the stack that the test takes from the reader. */
function deepRevision(depth: number): Buffer {
  const text = Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`);
  const raw = Buffer.concat([Buffer.from([0x0a]), varint(text.length), text]);
  const bytes = Buffer.concat([Buffer.from([0x12]), varint(raw.length), raw]);
  return putInEnvelope({ apiVersion: 'apps/v1', kind: 'ControllerRevision', bytes });
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}
