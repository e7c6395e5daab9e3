import { describe, expect, it } from 'vitest';
import { formatMap, type Pod } from '../../kube/index.js';
import { fieldRefValue, podAddresses } from './field-ref.js';

const pod: Pod = {
  metadata: {
    name: 'web',
    namespace: 'shop',
    uid: 'u1',
    labels: { b: '2', a: '1' },
    annotations: { 'Example.com/Note': 'say "hi"\n' },
  },
  spec: { containers: [], nodeName: 'node-a', serviceAccountName: 'sa' },
};
const addresses = { podIps: ['10.0.0.7', 'fd00::7'], hostIps: ['192.168.0.1', 'fd00::1'] };

describe('fieldRefValue', () => {
  const rows: [fieldPath: string, expected: string][] = [
    ['metadata.name', 'web'],
    ['metadata.namespace', 'shop'],
    ['metadata.uid', 'u1'],
    ['metadata.labels', 'a="1"\nb="2"'],
    ['metadata.annotations', 'Example.com/Note="say \\"hi\\"\\n"'],
    ["metadata.labels['a']", '1'],
    ["metadata.labels['none']", ''],
    ["metadata.labels['constructor']", ''],
    ["metadata.annotations['Example.com/Note']", 'say "hi"\n'],
    ['spec.nodeName', 'node-a'],
    ['spec.host', 'node-a'],
    ['spec.serviceAccountName', 'sa'],
    ['status.podIP', '10.0.0.7'],
    ['status.podIPs', '10.0.0.7,fd00::7'],
    ['status.hostIP', '192.168.0.1'],
    ['status.hostIPs', '192.168.0.1,fd00::1'],
  ];
  it.each(rows)('%s', (fieldPath, expected) => {
    expect(fieldRefValue({ apiVersion: 'v1', fieldPath }, pod, addresses)).toBe(expected);
  });

  const failures: [rule: string, selector: { apiVersion?: string; fieldPath: string }, message: string][] = [
    ['only v1', { apiVersion: 'v2', fieldPath: 'metadata.name' }, 'unsupported pod version: v2'],
    ['unknown fields', { fieldPath: 'spec.volumes' }, 'field label not supported: spec.volumes'],
    ['accepted but without a value', { fieldPath: 'status.phase' }, 'unsupported fieldPath: status.phase'],
    [
      'accepted but without a value',
      { fieldPath: 'spec.restartPolicy' },
      'unsupported fieldPath: spec.restartPolicy',
    ],
    [
      'no subscripts elsewhere',
      { fieldPath: "spec.nodeName['x']" },
      "field label does not support subscript: spec.nodeName['x']",
    ],
    [
      'keys must be names',
      { fieldPath: "metadata.labels['a b']" },
      "invalid key subscript in metadata.labels['a b']: ",
    ],
  ];
  it.each(failures)('%s', (_rule, selector, message) => {
    expect(() => fieldRefValue(selector, pod, addresses)).toThrow(message);
  });

  it('fails without a host address', () => {
    expect(() => fieldRefValue({ fieldPath: 'status.hostIP' }, pod, { podIps: [], hostIps: [] })).toThrow(
      'host IP unknown; known addresses: ',
    );
  });
});

describe('podAddresses', () => {
  const rows: [
    rule: string,
    hostNetwork: boolean,
    podIps: string[],
    nodeIps: string[],
    expected: string[],
  ][] = [
    ['IPv4 comes first by default', false, ['fd00::7', '10.0.0.7'], [], ['10.0.0.7', 'fd00::7']],
    ['the node family comes first', false, ['10.0.0.7', 'fd00::7'], ['fd00::1'], ['fd00::7', '10.0.0.7']],
    ['one of each family', false, ['10.0.0.7', '10.0.0.8'], [], ['10.0.0.7']],
    ['host-network pods have the addresses of the node', true, [], [], ['192.168.0.1', 'fd00::1']],
    ['a pod without addresses has none', false, [], [], []],
  ];
  it.each(rows)('%s', (_rule, hostNetwork, podIps, nodeIps, expected) => {
    const settings = { nodeIps, hostIps: addresses.hostIps };
    const subject = { ...pod, spec: { ...pod.spec, hostNetwork } };
    expect(podAddresses(subject, podIps, settings).podIps).toEqual(expected);
  });
});

describe('texts', () => {
  it('an empty map is an empty text', () => expect(formatMap(undefined)).toBe(''));
});
