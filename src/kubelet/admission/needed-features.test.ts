import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from '../../kube/index.js';
import { declaredNodeFeatures, neededNodeFeatures } from './needed-features.js';

const container = (more: Partial<Container> = {}): Container => ({ name: 'app', image: 'app:1', ...more });
const restartsAll = container({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
});
const restartsItself = container({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
});
const mounts = (bindMountOptions?: string[]): Container =>
  container({
    volumeMounts: [
      { name: 'v', mountPath: '/v', ...(bindMountOptions === undefined ? {} : { bindMountOptions }) },
    ],
  });

describe('the features that a pod needs', () => {
  it.each<[string, Partial<PodSpec>, string[]]>([
    ['a plain pod', { containers: [container()] }, []],
    ['a rule that restarts all', { containers: [restartsAll] }, ['RestartAllContainersOnContainerExits']],
    [
      'such a rule of an init container',
      { initContainers: [restartsAll] },
      ['RestartAllContainersOnContainerExits'],
    ],
    ['a rule that restarts one', { containers: [restartsItself] }, []],
    ['a mount without options', { containers: [mounts()] }, []],
    ['a mount with an empty list of options', { containers: [mounts([])] }, []],
    ['a mount with options', { containers: [mounts(['noexec'])] }, ['VolumeBindMountOptions']],
    [
      'such a mount of an init container',
      { initContainers: [mounts(['nodev', 'nosuid'])] },
      ['VolumeBindMountOptions'],
    ],
    [
      "the machine's network with users of its own",
      { hostNetwork: true, hostUsers: false },
      ['UserNamespacesHostNetworkSupport'],
    ],
    ["the machine's network and users", { hostNetwork: true, hostUsers: true }, []],
    ['users of its own', { hostUsers: false }, []],
    [
      'all of it',
      { hostNetwork: true, hostUsers: false, containers: [restartsAll, mounts(['noexec'])] },
      ['RestartAllContainersOnContainerExits', 'UserNamespacesHostNetworkSupport', 'VolumeBindMountOptions'],
    ],
  ])('%s', (_, spec, expected) => {
    const metadata = { name: 'web', namespace: 'default', uid: 'u' };
    expect(neededNodeFeatures({ metadata, spec: { containers: [], ...spec } })).toEqual(expected);
  });
});

describe('a pod is admitted', () => {
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { hostNetwork: true, hostUsers: false, containers: [mounts(['noexec'])] },
  };
  const admit = (...declared: string[]) =>
    declaredNodeFeatures(() => declared).admit({ pod, others: [], operation: 'add' });

  it('where the node declares all that it needs', () => {
    expect(admit('VolumeBindMountOptions', 'UserNamespacesHostNetworkSupport', 'Other')).toEqual({
      admit: true,
    });
  });

  it('not where one is missing, and all missing ones are named', () => {
    expect(admit('VolumeBindMountOptions')).toEqual({
      admit: false,
      reason: 'PodFeatureUnsupported',
      message: 'Pod requires node features that are not available: UserNamespacesHostNetworkSupport',
    });
    expect(admit()).toMatchObject({
      message:
        'Pod requires node features that are not available: UserNamespacesHostNetworkSupport, VolumeBindMountOptions',
    });
  });
});
