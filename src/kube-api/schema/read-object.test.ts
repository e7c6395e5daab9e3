import { describe, expect, it } from 'vitest';
import { kubeApiLimits } from '../limits.js';
import { readFields, WrongFieldValue } from './read-object.js';

const pod = (spec: object, container: object = {}) => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'a', image: 'i', ...container }], ...spec },
});

describe('fields that a kind does not have', () => {
  it('are left out and told with their place', () => {
    const { object, unknownFields } = readFields('Pod', pod({ foo: 1, zoo: { a: 1 } }, { bar: 2 }));
    expect(unknownFields).toEqual(['spec.containers[0].bar', 'spec.foo', 'spec.zoo']);
    expect(object).toEqual(pod({}));
  });

  it('are told up to a bound', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, 1]));
    const { object, unknownFields } = readFields('Pod', pod(many));
    expect(unknownFields).toHaveLength(kubeApiLimits.unknownFieldsTold);
    expect(object).toEqual(pod({}));
  });

  it('never reach the prototype', () => {
    const { object, unknownFields } = readFields(
      'ConfigMap',
      JSON.parse('{"metadata":{"labels":{"__proto__":"x"}},"__proto__":{"a":1},"constructor":1}'),
    );
    expect(unknownFields).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(object)).toBe('{"metadata":{"labels":{"__proto__":"x"}}}');
  });
});

describe('values', () => {
  it.each<[string, string, object, object]>([
    ['members that are null are absent', 'Pod', pod({ nodeName: null }), pod({})],
    [
      'a null in a mapping is the zero value',
      'ConfigMap',
      { data: { a: null, b: 'x' } },
      { data: { a: '', b: 'x' } },
    ],
    [
      'a quantity may be a number',
      'Pod',
      pod({}, { resources: { limits: { cpu: 2 } } }),
      pod({}, { resources: { limits: { cpu: '2' } } }),
    ],
    [
      'a port may be a number or a name',
      'Pod',
      pod({}, { livenessProbe: { tcpSocket: { port: 'http' } }, startupProbe: { tcpSocket: { port: 1 } } }),
      pod({}, { livenessProbe: { tcpSocket: { port: 'http' } }, startupProbe: { tcpSocket: { port: 1 } } }),
    ],
    ['bytes are base64', 'Secret', { data: { a: 'YWJj' } }, { data: { a: 'YWJj' } }],
    [
      'what has no schema is kept',
      'ControllerRevision',
      { revision: 1, data: { x: [1] } },
      { revision: 1, data: { x: [1] } },
    ],
  ])('%s', (_name, kind, given, expected) => {
    expect(readFields(kind, { metadata: {}, ...given }).object).toEqual({ metadata: {}, ...expected });
  });

  it.each<[string, string, object, string]>([
    [
      'a text as list',
      'Pod',
      { spec: { containers: 'x' } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      'a number as text',
      'Pod',
      pod({}, { env: [{ name: 'a', value: 5 }] }),
      'json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string',
    ],
    [
      'a text as number',
      'Deployment',
      { spec: { replicas: 'three' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a number that is not whole',
      'Deployment',
      { spec: { replicas: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a number that is too large',
      'Deployment',
      { spec: { replicas: 5_000_000_000 } },
      'json: cannot unmarshal number 5000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a list as object',
      'Pod',
      pod({ securityContext: [] }),
      'json: cannot unmarshal array into Go struct field PodSpec.spec.securityContext of type v1.PodSecurityContext',
    ],
    [
      'a label that is a number',
      'Pod',
      { metadata: { labels: { a: 1 } } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      'metadata that is a text',
      'Pod',
      { metadata: 'x' },
      'json: cannot unmarshal string into Go struct field Pod.metadata of type v1.ObjectMeta',
    ],
    ['a quantity that is none', 'Pod', pod({}, { resources: { limits: { cpu: 'x' } } }), 'quantities must'],
    ['a time that is none', 'Pod', { metadata: { creationTimestamp: 'x' } }, 'parsing time "x"'],
    ['bytes that are no base64', 'Secret', { data: { a: '%%' } }, 'illegal base64 data at input byte 0'],
  ])('%s is refused', (_name, kind, given, message) => {
    const read = (): unknown => readFields(kind, { metadata: {}, ...given });
    expect(read).toThrow(WrongFieldValue);
    expect(read).toThrow(message);
  });
});
