/** Tests of Kubernetes objects in protobuf. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { WireError } from '../grpc/index.js';
import type { Pod } from '../kube/index.js';
import { readFields } from './field-text.js';
import { kubeMessage, kubeMessageNames, openEnvelope, putInEnvelope } from './index.js';
import { everyField } from './test-every-field.js';

const anyPod = kubeMessage<object>('Pod');
const podMessage = kubeMessage<Pod>('Pod');

describe('the tables', () => {
  it.each([...kubeMessageNames])('of %s have each number and each name once', (name) => {
    const { fields } = kubeMessage<object>(name);
    expect(new Set(fields.map(({ fieldNumber }) => fieldNumber)).size).toBe(fields.length);
    expect(new Set(fields.map(({ property }) => property)).size).toBe(fields.length);
  });
  it('refuse a field that nobody can read', () => {
    expect(() => readFields('name=1 port=x')).toThrow('no field of a message: port=x');
  });
});

describe('a pod with every field', () => {
  it('is the same after it was written and read', () => {
    const pod = everyField(anyPod);
    expect(anyPod.decode(anyPod.encode(pod))).toEqual(pod);
  });
  it('has the bytes that the types of Kubernetes v1.37.1 write for the same pod', () => {
    // Written by the Go types of k8s.io/api v0.37.1 after they read the JSON of this pod.
    expect(
      createHash('sha256')
        .update(anyPod.encode(everyField(anyPod)))
        .digest('hex'),
    ).toBe('1b2f7202c7967101c4c8639a521aea46d717f875c2bbc49a481be76399de297a');
  });
});

describe('values', () => {
  const pod = (container: object): Pod =>
    ({
      metadata: { name: 'p', namespace: 'd', uid: 'u' },
      spec: { containers: [{ name: 'c', ...container }] },
    }) as Pod;
  it.each<[string, object]>([
    ['a port by number', { livenessProbe: { httpGet: { port: 8080 } } }],
    ['a port by name', { livenessProbe: { tcpSocket: { port: 'http' } } }],
    ['a negative number', { restartPolicyRules: [{ exitCodes: { values: [-1, 0, 255] } }] }],
    ['a label named like a prototype', { resources: JSON.parse('{"limits":{"__proto__":"1"}}') }],
    ['a number beyond 32 bits', { securityContext: { runAsUser: 2 ** 40 } }],
    ['what is false where it differs from unset', { securityContext: { privileged: false } }],
    ['text that is not ASCII', { command: ['größer', '→', '\u{1f600}'] }],
  ])('keep %s', (_, container) => {
    expect(podMessage.decode(podMessage.encode(pod(container)))).toEqual(pod(container));
  });
  it('leaves out what JSON of the API leaves out: zeros, null, and fields that nobody knows', () => {
    const given = pod({ tty: false, workingDir: '', ports: [], stdin: null, unheardOf: 1 });
    expect(podMessage.decode(podMessage.encode(given))).toEqual(pod({}));
  });
  it.each<[string, object, string]>([
    ['a number for a text', { image: 1 }, 'Container.image: expected a string, got number'],
    [
      'a text for a number',
      { livenessProbe: { periodSeconds: '1' } },
      'Probe.periodSeconds: expected a whole',
    ],
    ['an object for a list', { env: {} }, 'Container.env: expected a list, got object'],
    ['a list for an object', { resources: [] }, 'Container.resources: expected an object, got a list'],
  ])('name the field with %s', (_, container, message) => {
    expect(() => podMessage.encode(pod(container))).toThrow(message);
  });
});

describe('bytes of others', () => {
  it.each<[string, string]>([
    ['cut off', '0a'],
    ['longer than they are', '0a05'],
    ['of a time that is none', '0a0a42080880808080808080ff7f'],
  ])('that are %s are refused', (_, hex) => {
    expect(() => podMessage.decode(Buffer.from(hex, 'hex'))).toThrow(WireError);
  });
  it('with fields of a later version are read without them', () => {
    expect(podMessage.decode(Buffer.from('0a030a0161fa07026869', 'hex'))).toEqual({
      metadata: { name: 'a' },
    });
  });
  it('may have packed numbers', () => {
    const packed = Buffer.from('1206720422020102', 'hex');
    expect(podMessage.decode(packed).spec.securityContext?.supplementalGroups).toEqual([1, 2]);
  });
});

describe('the envelope', () => {
  it('tells the kind, and has the bytes', () => {
    const object = { apiVersion: 'v1', kind: 'Pod', bytes: new Uint8Array([1, 2, 3]) };
    expect(openEnvelope(putInEnvelope(object))).toEqual(object);
  });
  it.each(['', 'k8s', 'json{}'])('is refused when it starts with %j', (text) => {
    expect(() => openEnvelope(Buffer.from(text))).toThrow(WireError);
  });
});
