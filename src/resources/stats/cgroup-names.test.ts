/** The cgroups behind the statistics. */
import { describe, expect, it } from 'vitest';
import { cgroupCandidates, type SystemCgroupSettings, systemCgroups } from './cgroup-names.js';

describe('cgroupCandidates', () => {
  it('begins with the cgroup of the pod, in the spelling of either driver', () => {
    expect(cgroupCandidates('/kubepods/podx/', 'c').slice(0, 2)).toEqual([
      '/kubepods/podx/c',
      '/kubepods/podx/cri-containerd-c.scope',
    ]);
  });
  it('ends with the places of containers without a parent', () => {
    expect(cgroupCandidates(undefined, 'c')).toContain('/k8s.io/c');
    expect(cgroupCandidates(undefined, 'c')).toContain('/c');
  });
});

describe('systemCgroups', () => {
  const bare: SystemCgroupSettings = {
    kubeletCgroups: '',
    runtimeCgroups: '',
    systemCgroups: '',
    ownCgroup: undefined,
    startedAtMs: 5,
    podsCgroup: undefined,
  };
  it.each<[string, Partial<SystemCgroupSettings>, object[]]>([
    ['nothing is configured or known', {}, []],
    ["the agent's own", { ownCgroup: '/own' }, [{ name: 'kubelet', cgroup: '/own', startedAtMs: 5 }]],
    [
      'a configured cgroup wins',
      { ownCgroup: '/own', kubeletCgroups: '/kubelet' },
      [{ name: 'kubelet', cgroup: '/kubelet', startedAtMs: 5 }],
    ],
    [
      'all',
      { kubeletCgroups: '/k', runtimeCgroups: '/r', systemCgroups: '/s', podsCgroup: '/kubepods' },
      [
        { name: 'kubelet', cgroup: '/k', startedAtMs: 5 },
        { name: 'runtime', cgroup: '/r' },
        { name: 'misc', cgroup: '/s' },
        { name: 'pods', cgroup: '/kubepods' },
      ],
    ],
  ])('%s', (_, settings, told) => expect(systemCgroups({ ...bare, ...settings })).toEqual(told));
});
