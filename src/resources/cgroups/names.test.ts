import { describe, expect, it } from 'vitest';
import type { Pod, ResourceRequirements } from '../../kube/index.js';
import { CgroupNames, podUidOf } from './names.js';

const pod = (resources: ResourceRequirements): Pod => ({
  metadata: { uid: '1234-abcd', name: 'a', namespace: 'default' },
  spec: { containers: [{ name: 'c', resources }] },
});
const all = { cpu: '1', memory: '1Gi' };

describe('CgroupNames', () => {
  it.each([
    ['Guaranteed', { requests: all, limits: all }, '/kubepods/pod1234-abcd'],
    ['Burstable', { requests: all }, '/kubepods/burstable/pod1234-abcd'],
    ['BestEffort', {}, '/kubepods/besteffort/pod1234-abcd'],
  ])('a pod of the class %s', (_, resources, name) => {
    expect(new CgroupNames('/').ofPod(pod(resources))).toBe(name);
    expect(new CgroupNames('/a/b').ofPod(pod(resources))).toBe(`/a/b${name}`);
  });

  it.each(['', '/', '//'])('the root %j has no name', (root) => {
    expect(new CgroupNames(root).parents).toEqual([
      '/kubepods',
      '/kubepods/burstable',
      '/kubepods/besteffort',
    ]);
  });
});

describe('podUidOf', () => {
  it.each([
    ['pod1234-abcd', '1234-abcd'],
    ['podpod1', undefined],
    ['pod', undefined],
    ['burstable', undefined],
    ['1234-abcd', undefined],
    ['apod1', undefined],
  ])('%s', (folder, uid) => expect(podUidOf(folder)).toBe(uid));
});
