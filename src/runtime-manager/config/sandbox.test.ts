import { describe, expect, it } from 'vitest';
import {
  NamespaceMode,
  PodSandboxConfig,
  SecurityProfile_ProfileType as ProfileType,
  Protocol,
} from '../../cri/index.js';
import type { Pod, PodSpec } from '../../kube/index.js';
import { type SandboxConfigRequest, sandboxConfig } from './sandbox.js';
import { runtimeSettings } from './settings.js';

const settings = runtimeSettings({
  nodeName: 'n',
  podLogsDir: '/logs',
  clusterDomain: 'cluster.local',
  singleProcessOomKill: true,
});

function build(spec: Partial<PodSpec>, change: Partial<SandboxConfigRequest> = {}) {
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', labels: { app: 'web' }, annotations: { a: 'b' } },
    spec: { containers: [{ name: 'c', ports: [{ containerPort: 80 }] }], ...spec },
  };
  return sandboxConfig({
    pod,
    attempt: 2,
    dns: { servers: ['1.1.1.1'], searches: ['x'], options: ['ndots:5'] },
    settings,
    cgroupParent: '/kubepods/podu1',
    volumeGroups: [77],
    hasExclusiveCpus: false,
    ...change,
  });
}

describe('sandboxConfig', () => {
  it('contains everything that a runtime needs', () => {
    expect(build({})).toEqual({
      metadata: { name: 'web', namespace: 'shop', uid: 'u1', attempt: 2 },
      hostname: 'web',
      logDirectory: '/logs/shop_web_u1',
      dnsConfig: { servers: ['1.1.1.1'], searches: ['x'], options: ['ndots:5'] },
      portMappings: [{ protocol: Protocol.TCP, containerPort: 80, hostPort: 0, hostIp: '' }],
      labels: {
        app: 'web',
        'io.kubernetes.pod.name': 'web',
        'io.kubernetes.pod.namespace': 'shop',
        'io.kubernetes.pod.uid': 'u1',
      },
      annotations: { a: 'b' },
      linux: {
        cgroupParent: '/kubepods/podu1',
        sysctls: {},
        resources: { cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000 },
        overhead: {},
        securityContext: {
          privileged: false,
          seccomp: { profileType: ProfileType.RuntimeDefault },
          supplementalGroups: [77],
          supplementalGroupsPolicy: 0,
          namespaceOptions: {
            network: NamespaceMode.POD,
            pid: NamespaceMode.CONTAINER,
            ipc: NamespaceMode.POD,
            usernsOptions: { mode: NamespaceMode.NODE },
          },
        },
      },
    });
  });

  it('is a valid CRI message', () => {
    const bytes = PodSandboxConfig.encode(build({}));
    expect(PodSandboxConfig.decode(bytes)).toMatchObject({ hostname: 'web' });
  });

  const rows: [rule: string, spec: Partial<PodSpec>, expected: object][] = [
    ['host-network pods send no host name', { hostNetwork: true }, { hostname: '' }],
    [
      'the FQDN when wanted',
      { subdomain: 's', setHostnameAsFQDN: true },
      { hostname: 'web.s.shop.svc.cluster.local' },
    ],
    [
      'one privileged container of any kind makes the sandbox privileged',
      { ephemeralContainers: [{ name: 'e', securityContext: { privileged: true } }] },
      { linux: { securityContext: { privileged: true } } },
    ],
    [
      'users, groups of volumes before supplemental ones, sysctls with dots',
      {
        securityContext: {
          runAsUser: 5,
          runAsGroup: 6,
          fsGroup: 1,
          supplementalGroups: [2],
          seLinuxOptions: { type: 't' },
          sysctls: [{ name: 'net/ipv4/ip_forward', value: '1' }],
        },
      },
      {
        linux: {
          sysctls: { 'net.ipv4.ip_forward': '1' },
          securityContext: {
            runAsUser: { value: 5 },
            runAsGroup: { value: 6 },
            supplementalGroups: [1, 77, 2],
            selinuxOptions: { user: '', role: '', type: 't', level: '' },
          },
        },
      },
    ],
  ];
  it.each(rows)('%s', (_rule, spec, expected) => {
    expect(build(spec)).toMatchObject(expected);
  });
});

describe('the default sysctls of the node', () => {
  const defaults = {
    'net.ipv4.ip_forward': '1',
    'kernel/shmall': '9',
    'user.max_user_namespaces': '5',
    'kernel.domainname': 'd',
    'vm.swappiness': '1',
  };
  const withDefaults = { settings: { ...settings, defaultPodSysctls: defaults } };
  it.each<[rule: string, spec: Partial<PodSpec>, expected: Record<string, string>]>([
    [
      'a pod with its own namespaces, but for users',
      {},
      { 'net.ipv4.ip_forward': '1', 'kernel.shmall': '9', 'kernel.domainname': 'd' },
    ],
    ['a pod on the host network', { hostNetwork: true }, { 'kernel.shmall': '9' }],
    [
      'a pod with the IPC of the host and its own users',
      { hostIPC: true, hostUsers: false },
      { 'net.ipv4.ip_forward': '1', 'user.max_user_namespaces': '5', 'kernel.domainname': 'd' },
    ],
    [
      'what the pod sets wins',
      { hostNetwork: true, securityContext: { sysctls: [{ name: 'kernel.shmall', value: '7' }] } },
      { 'kernel.shmall': '7' },
    ],
  ])('%s', (_rule, spec, expected) => {
    expect(build(spec, withDefaults).linux?.sysctls).toEqual(expected);
  });
});
