import { describe, expect, it } from 'vitest';
import type { Node } from '../../kube/index.js';
import {
  attachDetachAnnotation,
  initialNode,
  type RegistrationSettings,
  uninitializedTaint,
} from './initial-node.js';
import { reconcileNode } from './reconcile.js';

const settings: RegistrationSettings = {
  nodeName: 'n1',
  architecture: 'amd64',
  nodeLabels: {},
  taints: [],
  externalCloud: false,
  controllerAttachDetach: true,
  providerId: '',
};

describe('initialNode', () => {
  it('labels, the annotation and nothing else', () => {
    expect(initialNode(settings)).toEqual({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: 'n1',
        labels: {
          'kubernetes.io/hostname': 'n1',
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': 'amd64',
          'beta.kubernetes.io/os': 'linux',
          'beta.kubernetes.io/arch': 'amd64',
        },
        annotations: { [attachDetachAnnotation]: 'true' },
      },
      spec: {},
    });
  });
  it('given labels win; taints and the provider are applied', () => {
    const taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
    const node = initialNode({
      ...settings,
      nodeLabels: { 'kubernetes.io/hostname': 'other', a: 'b' },
      taints: [taint],
      externalCloud: true,
      controllerAttachDetach: false,
      providerId: 'cloud://1',
    });
    expect(node.metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'other', a: 'b' });
    expect(node.metadata.annotations).toBeUndefined();
    expect(node.spec).toEqual({ taints: [taint, uninitializedTaint], providerID: 'cloud://1' });
  });
});

describe('reconcileNode', () => {
  const built: Node = {
    ...initialNode({ ...settings, nodeLabels: { a: 'b' }, taints: [{ key: 'k', effect: 'NoSchedule' }] }),
    status: {
      capacity: { cpu: '4', 'hugepages-2Mi': '1Gi' },
      allocatable: { cpu: '3', 'hugepages-2Mi': '1Gi' },
    },
  };
  const right: Node = { ...initialNode(settings), status: built.status! };
  const without = (key: string): Node => {
    const node = structuredClone(right);
    delete node.metadata.labels?.[key];
    return node;
  };
  it.each([
    ['a correct node stays; labels of the command line and taints are not applied', right, built, right, []],
    [
      'a missing annotation is added',
      { ...right, metadata: { ...right.metadata, annotations: { x: 'y' } } },
      built,
      {
        ...right,
        metadata: { ...right.metadata, annotations: { x: 'y', [attachDetachAnnotation]: 'true' } },
      },
      ['the attach-detach annotation'],
    ],
    [
      'an unwanted annotation is removed',
      right,
      { ...built, metadata: { ...built.metadata, annotations: {} } },
      { ...right, metadata: { ...right.metadata, annotations: {} } },
      ['the attach-detach annotation'],
    ],
    ['default labels are restored', without('kubernetes.io/arch'), built, right, ['default labels']],
    [
      'an empty default label is removed',
      right,
      { ...built, metadata: { ...built.metadata, labels: { 'beta.kubernetes.io/os': '' } } },
      without('beta.kubernetes.io/os'),
      ['default labels'],
    ],
    ['missing resources are copied', { ...right, status: {} }, built, right, ['missing resources']],
    [
      'huge pages follow the machine',
      {
        ...right,
        status: {
          capacity: { cpu: '4', 'hugepages-1Gi': '1Gi' },
          allocatable: { cpu: '3', 'hugepages-1Gi': '1Gi' },
        },
      },
      built,
      right,
      ['huge pages'],
    ],
  ] satisfies readonly (readonly [string, Node, Node, Node, readonly string[]])[])(
    '%s',
    (_rule, existing, wanted, node, changes) => {
      const result = reconcileNode({ existing, built: wanted, resetExtendedResources: false });
      expect(result).toEqual({ node, changes });
    },
  );
  it.each([
    [true, '0'],
    [false, '2'],
  ])('extended resources when devices are unknown: %s', (resetExtendedResources, expected) => {
    const existing = structuredClone(right);
    existing.status!.capacity!['a.com/gpu'] = '2';
    existing.status!.allocatable!['a.com/gpu'] = '2';
    const { node } = reconcileNode({ existing, built, resetExtendedResources });
    expect([node.status?.capacity?.['a.com/gpu'], node.status?.allocatable?.['a.com/gpu']]).toEqual([
      expected,
      expected,
    ]);
  });
});
