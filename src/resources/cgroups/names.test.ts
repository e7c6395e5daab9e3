import { describe, expect, it } from 'vitest';
import type { Pod, ResourceRequirements } from '../../kube/index.js';
import { cgroupfsNaming, childOf, componentsOf, expandSlice, sliceOf, systemdNaming } from './names.js';
import { CgroupNames, podUidOf } from './pod-names.js';

const pod = (resources: ResourceRequirements, uid = '1234-abcd'): Pod => ({
  metadata: { uid, name: 'a', namespace: 'default' },
  spec: { containers: [{ name: 'c', resources }] },
});
const all = { cpu: '1', memory: '1Gi' };

describe('paths of names', () => {
  it.each<[name: string[], cgroupfs: string, systemd: string]>([
    [[], '/', '/'],
    [['kubepods'], '/kubepods', '/kubepods.slice'],
    [
      ['kubepods', 'burstable', 'pod1234-abcd'],
      '/kubepods/burstable/pod1234-abcd',
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_abcd.slice',
    ],
    [['kubelet'], '/kubelet', '/kubelet.slice'],
    [['x.service'], '/x.service', '/x.service.slice'],
  ])('%j', (name, cgroupfs, systemd) => {
    expect(cgroupfsNaming.pathOf(name)).toBe(cgroupfs);
    expect(systemdNaming.pathOf(name)).toBe(systemd);
    expect(cgroupfsNaming.nameOf(cgroupfs)).toEqual(name);
    expect(systemdNaming.nameOf(systemd)).toEqual(name);
  });

  it.each<[path: string, name: string[]]>([
    ['/a.slice/a-b_c.slice', ['a', 'b-c']],
    ['/a.slice/a-b.slice', ['a', 'b']],
    ['-.slice', []],
    ['/', []],
    ['', []],
  ])('systemd reads %s', (path, name) => expect(systemdNaming.nameOf(path)).toEqual(name));

  it.each([
    ['/kubelet', '/kubelet', '/kubelet.slice'],
    ['/a/b', '/a/b', '/a.slice/a-b.slice'],
  ])('a cgroup %s of the configuration', (path, cgroupfs, systemd) => {
    expect(cgroupfsNaming.pathOf(componentsOf(path))).toBe(cgroupfs);
    expect(systemdNaming.pathOf(componentsOf(path))).toBe(systemd);
  });
});

describe('slices', () => {
  it.each<[name: string[], unit: string, parent: string]>([
    [[], '-.slice', '-.slice'],
    [['kubepods'], 'kubepods.slice', '-.slice'],
    [
      ['kubepods', 'burstable', 'pod1234-abcd'],
      'kubepods-burstable-pod1234_abcd.slice',
      'kubepods-burstable.slice',
    ],
  ])('%j', (name, unit, parent) => expect(sliceOf(name)).toEqual({ unit, parent }));

  it.each(['a--b.slice', '-a.slice', 'x/y.slice', 'b.scope', '.slice', 'a'])('%s is refused', (slice) => {
    expect(() => expandSlice(slice)).toThrow(`invalid slice name: ${slice}`);
  });

  it.each([
    ['a-b-c.slice', '/a.slice/a-b.slice/a-b-c.slice'],
    ['-.slice', '/'],
  ])('%s', (slice, path) => expect(expandSlice(slice)).toBe(path));
});

describe('childOf', () => {
  it.each(['', 'a/b', 'a_b', '../x'])('refuses the component %j', (component) => {
    expect(() => childOf(['kubepods'], component)).toThrow('must be set and have neither / nor _');
  });
});

describe('CgroupNames', () => {
  it.each([
    ['Guaranteed', { requests: all, limits: all }, '/kubepods/pod1234-abcd'],
    ['Burstable', { requests: all }, '/kubepods/burstable/pod1234-abcd'],
    ['BestEffort', {}, '/kubepods/besteffort/pod1234-abcd'],
  ])('a pod of the class %s', (_, resources, path) => {
    const pathOf = (root: string): string =>
      cgroupfsNaming.pathOf(new CgroupNames(root).ofPod(pod(resources)));
    expect(pathOf('/')).toBe(path);
    expect(pathOf('/a/b')).toBe(`/a/b${path}`);
  });

  it('with systemd the whole path is the name of the last slice spelled out', () => {
    expect(systemdNaming.pathOf(new CgroupNames('/foo').ofPod(pod({})))).toBe(
      '/foo.slice/foo-kubepods.slice/foo-kubepods-besteffort.slice/foo-kubepods-besteffort-pod1234_abcd.slice',
    );
  });

  it.each(['', '/', '//'])('the root %j has no name', (root) => {
    expect(new CgroupNames(root).parents.map(cgroupfsNaming.pathOf)).toEqual([
      '/kubepods',
      '/kubepods/burstable',
      '/kubepods/besteffort',
    ]);
  });

  it('a UID that would leave the tree names no cgroup', () => {
    expect(() => new CgroupNames('/').ofPod(pod({}, '/../../x'))).toThrow('neither / nor _');
  });
});

describe('podUidOf', () => {
  it.each([
    ['pod1234-abcd', '1234-abcd'],
    ['podman', 'man'],
    ['podpod1', undefined],
    ['pod', undefined],
    ['burstable', undefined],
    ['1234-abcd', undefined],
    ['apod1', undefined],
    ['pod_1', undefined],
  ])('%s', (component, uid) => expect(podUidOf(component)).toBe(uid));
});
