import { describe, expect, it } from 'vitest';
import type { Container, Pod, ResourceFieldSelector, ResourceRequirements } from '../../kube/index.js';
import { resourceFieldValue } from './resource-field.js';

const allocatable = { cpu: '3500m', memory: '8Gi', 'ephemeral-storage': '100Gi' };
const own: Container = {
  name: 'own',
  resources: { limits: { cpu: '250m', memory: '64Mi', 'hugepages-2Mi': '4Mi' }, requests: { cpu: '100m' } },
};
const bare: Container = { name: 'bare' };
const zero: Container = { name: 'zero', resources: { limits: { cpu: '0' } } };

function podWith(resources?: ResourceRequirements): Pod {
  return {
    metadata: { uid: 'u', name: 'p', namespace: 'default' },
    spec: { containers: [own, bare, zero], initContainers: [{ name: 'init' }], resources },
  };
}

describe('resourceFieldValue', () => {
  const rows: [
    rule: string,
    container: Container,
    selector: ResourceFieldSelector,
    expected: string,
    podResources?: ResourceRequirements,
  ][] = [
    ['cpu is rounded up to whole cores', own, { resource: 'limits.cpu' }, '1'],
    ['cpu by millicores', own, { resource: 'limits.cpu', divisor: '1m' }, '250'],
    ['a divisor of 0 is 1', own, { resource: 'limits.cpu', divisor: '0' }, '1'],
    ['memory by a divisor', own, { resource: 'limits.memory', divisor: '1Mi' }, '64'],
    ['memory in bytes', own, { resource: 'limits.memory' }, String(64 * 1024 * 1024)],
    ['division rounds up', own, { resource: 'limits.memory', divisor: '100M' }, '1'],
    ['huge pages', own, { resource: 'limits.hugepages-2Mi', divisor: '1Mi' }, '4'],
    ['a missing limit is all that the node has', bare, { resource: 'limits.memory' }, String(8 * 1024 ** 3)],
    ['the same for cpu', bare, { resource: 'limits.cpu', divisor: '1m' }, '3500'],
    ['the same for storage', bare, { resource: 'limits.ephemeral-storage', divisor: '1Gi' }, '100'],
    ['a limit of zero is a missing one', zero, { resource: 'limits.cpu', divisor: '1m' }, '3500'],
    [
      'a pod-level limit stands before the node',
      bare,
      { resource: 'limits.cpu' },
      '2',
      { limits: { cpu: '2' } },
    ],
    [
      'but not for storage',
      bare,
      { resource: 'limits.ephemeral-storage', divisor: '1Gi' },
      '100',
      { limits: { cpu: '2' } },
    ],
    ['requests have no default', bare, { resource: 'requests.cpu' }, '0'],
    ['huge pages have no default', bare, { resource: 'limits.hugepages-2Mi' }, '0'],
    [
      'another container by name',
      bare,
      { containerName: 'own', resource: 'requests.cpu', divisor: '1m' },
      '100',
    ],
    ['a named regular container is defaulted', own, { containerName: 'bare', resource: 'limits.cpu' }, '4'],
    ['a named init container is not', own, { containerName: 'init', resource: 'limits.cpu' }, '0'],
  ];
  it.each(rows)('%s', (_rule, container, selector, expected, podResources) => {
    expect(resourceFieldValue(selector, podWith(podResources), container, allocatable)).toBe(expected);
  });

  it('an init container sees its own defaults', () => {
    expect(resourceFieldValue({ resource: 'limits.cpu' }, podWith(), { name: 'init' }, allocatable)).toBe(
      '4',
    );
  });

  const failures: [rule: string, selector: ResourceFieldSelector, message: string][] = [
    ['unknown resources', { resource: 'limits.gpu' }, 'unsupported container resource : limits.gpu'],
    ['unknown containers', { containerName: 'x', resource: 'limits.cpu' }, 'container x not found'],
  ];
  it.each(failures)('%s', (_rule, selector, message) => {
    expect(() => resourceFieldValue(selector, podWith(), own, allocatable)).toThrow(message);
  });
});
