import { expect, it } from 'vitest';
import type { Pod, PodSpec } from '../../kube/index.js';
import { podLevelResources } from './pod-level-admission.js';

const refused = {
  admit: false,
  reason: 'PodLevelResourcesNotSupported',
  message: 'PodLevelResources feature gate is disabled',
};
const admitted = { admit: true };

it.each<[string, boolean, PodSpec['resources'], object]>([
  ['resources of its own, with the gate', true, { limits: { cpu: '1' } }, admitted],
  ['resources of its own, without the gate', false, { limits: { cpu: '1' } }, refused],
  ['huge pages of its own, without the gate', false, { requests: { 'hugepages-2Mi': '2Mi' } }, refused],
  ['none of its own', false, undefined, admitted],
  ['an empty list', false, {}, admitted],
])('%s', (_, isEnabled, resources, expected) => {
  const pod: Pod = {
    metadata: { uid: 'u', name: 'a', namespace: 'default' },
    spec: { containers: [{ name: 'app', image: 'i' }], ...(resources === undefined ? {} : { resources }) },
  };
  expect(podLevelResources(isEnabled).admit({ pod, others: [], operation: 'add' })).toEqual(expected);
});
