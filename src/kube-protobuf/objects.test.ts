/** Tests of the objects that the API takes in protobuf. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { WireError } from '../grpc/index.js';
import type { KubeMessage } from './message.js';
import { objectKinds, objectMessage } from './objects.js';
import { everyField } from './test-every-field.js';

function messageOf(apiVersion: string, kind: string): KubeMessage<object> {
  const message = objectMessage(apiVersion, kind);
  if (message === undefined) throw new Error(`no message ${kind}`);
  return message;
}

describe.each([...objectKinds])('%s %s', (apiVersion, kind) => {
  const message = messageOf(apiVersion, kind);
  it('has each number and each name once, in every message', () => {
    const seen = new Set<KubeMessage<object>>();
    const walk = (one: KubeMessage<object>): void => {
      if (seen.has(one)) return;
      seen.add(one);
      const { fields } = one;
      expect(new Set(fields.map(({ fieldNumber }) => fieldNumber)).size).toBe(fields.length);
      expect(new Set(fields.map(({ property }) => property)).size).toBe(fields.length);
      for (const field of fields) if (typeof field.kind !== 'string') walk(field.kind);
    };
    walk(message);
  });
  it('with every field is the same after it was written and read', () => {
    const object = everyField(message);
    expect(message.decode(message.encode(object))).toEqual(object);
  });
  it('that is cut off anywhere is refused or read, and nothing else', () => {
    const bytes = message.encode(everyField(message));
    const step = Math.max(1, Math.floor(bytes.length / 100));
    for (let length = 0; length < bytes.length; length += step) {
      try {
        message.decode(bytes.subarray(0, length));
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    }
  });
});

it('all with every field have the bytes that the types of Kubernetes v1.37.1 write for them', () => {
  // Written by the Go types of k8s.io/api v0.37.1 after they read the JSON of these objects.
  const hash = createHash('sha256');
  for (const [apiVersion, kind] of objectKinds) {
    const message = messageOf(apiVersion, kind);
    hash.update(message.encode(everyField(message)));
  }
  expect(hash.digest('hex')).toBe('9bc9ddf38e45e77728b4a9300824b409697435e4d1695e9b71c6eae7070f14af');
});

describe('values', () => {
  it.each<[string, string, string, object]>([
    ['bytes as base64', 'v1', 'Secret', { data: { empty: '', token: 'AP/+' } }],
    ['zero where it differs from unset', 'apps/v1', 'Deployment', { spec: { replicas: 0 } }],
    [
      'a share of the replicas',
      'apps/v1',
      'Deployment',
      { spec: { strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } } } },
    ],
    [
      'microseconds',
      'coordination.k8s.io/v1',
      'Lease',
      { spec: { renewTime: '2026-01-02T03:04:05.000678Z' } },
    ],
    [
      'lists by names',
      'authorization.k8s.io/v1',
      'SubjectAccessReview',
      { spec: { extra: { scopes: ['a', 'b'], none: [] } } },
    ],
    [
      'a message without fields',
      'batch/v1',
      'Job',
      { spec: { scheduling: { disruptionMode: { all: {} } } } },
    ],
  ])('keep %s', (_, apiVersion, kind, object) => {
    const message = messageOf(apiVersion, kind);
    expect(message.decode(message.encode(object))).toEqual(object);
  });
  it('leave out a port of a service that is not set', () => {
    const message = messageOf('v1', 'Service');
    const object = { spec: { ports: [{ port: 80, targetPort: 0 }] } };
    expect(message.decode(message.encode(object))).toEqual({ spec: { ports: [{ port: 80 }] } });
  });
  it('refuse a time with more nanoseconds than a second has', () => {
    // renewTime of a Lease: 1 s and 2^32 ns.
    const bytes = Buffer.from('120a220808011080808080' + '10', 'hex');
    expect(() => messageOf('coordination.k8s.io/v1', 'Lease').decode(bytes)).toThrow('no time');
  });
});

describe('kinds', () => {
  it.each([
    ['v1', 'Deployment'],
    ['apps/v1', 'ObjectMeta'],
    ['v1', 'constructor'],
    ['__proto__', 'Pod'],
    ['', ''],
  ])('%j %j is not known', (apiVersion, kind) => {
    expect(objectMessage(apiVersion, kind)).toBeUndefined();
  });
  it('the options of a deletion have the group of what is deleted', () => {
    expect(objectMessage('apps/v1', 'DeleteOptions')).toBe(objectMessage('v1', 'DeleteOptions'));
  });
});
