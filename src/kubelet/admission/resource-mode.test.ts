import { expect, it } from 'vitest';
import type { Pod, ResourceRequirements } from '../../kube/index.js';
import { type ResourceMode, resourceMode } from './resource-mode.js';

const some: ResourceRequirements = { requests: { cpu: '1' } };
const podOf = (
  resources: ResourceRequirements | undefined,
  own?: ResourceRequirements,
  init?: ResourceRequirements,
): Pod => ({
  metadata: { uid: 'u', name: 'p', namespace: 'd' },
  spec: {
    containers: [{ name: 'c', ...(own && { resources: own }) }],
    initContainers: [{ name: 'i', ...(init && { resources: init }) }],
    ...(resources && { resources }),
  },
});

it.each<[rule: string, pod: Pod, expected: ResourceMode]>([
  ['nothing', podOf(undefined), ''],
  ['empty lists', podOf({ requests: {} }, { limits: {} }), ''],
  ['the pod alone', podOf(some), 'pod_level'],
  ['a container alone', podOf(undefined, some), 'container_level'],
  ['an init container alone', podOf(undefined, undefined, some), 'container_level'],
  ['both', podOf(some, some), 'pod_and_container_level'],
  ['huge pages of the pod', podOf({ limits: { 'hugepages-2Mi': '2Mi' } }), 'pod_level'],
  ['a name that no pod can have of its own', podOf({ requests: { 'example.com/gpu': '1' } }), ''],
])('%s', (_, pod, expected) => expect(resourceMode(pod)).toBe(expected));
