import { describe, expect, it } from 'vitest';
import {
  NamespaceMode,
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
} from '../../cri/index.js';
import type { PodSecurityContext, PodSpec, SecurityContext } from '../../kube/index.js';
import type { ImageUser } from '../contracts.js';
import { containerSecurityContext, verifyRunAsNonRoot } from './security.js';
import { type RuntimeSettings, runtimeSettings } from './settings.js';

const settings = runtimeSettings({ nodeName: 'n', rootDir: '/root-dir', isAppArmorEnabled: true });

interface Given {
  own?: SecurityContext;
  pod?: PodSecurityContext;
  spec?: Partial<PodSpec>;
  annotations?: Record<string, string>;
  imageUser?: ImageUser;
  settings?: Partial<RuntimeSettings>;
  targetContainerId?: string;
}

function build(given: Given) {
  const container = { name: 'c', securityContext: given.own };
  const pod = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', annotations: given.annotations },
    spec: { containers: [container], securityContext: given.pod, ...given.spec },
  };
  return {
    verify: () => verifyRunAsNonRoot(pod, container, given.imageUser ?? {}),
    context: () =>
      containerSecurityContext({
        pod,
        container,
        imageUser: given.imageUser ?? {},
        volumeGroups: [77],
        targetContainerId: given.targetContainerId,
        settings: { ...settings, ...given.settings },
      }),
  };
}

describe('verifyRunAsNonRoot', () => {
  const where = '(pod: "web_shop(u1)", container: c)';
  const nonRoot = { runAsNonRoot: true };
  const rows: [rule: string, given: Given, message: string | undefined][] = [
    ['not asked for', { imageUser: { uid: 0 } }, undefined],
    ['switched off by the container', { pod: nonRoot, own: { runAsNonRoot: false } }, undefined],
    [
      'runAsUser 0',
      { own: { ...nonRoot, runAsUser: 0 } },
      `container's runAsUser breaks non-root policy ${where}`,
    ],
    [
      'runAsUser 0 of the pod',
      { pod: { ...nonRoot, runAsUser: 0 } },
      `container's runAsUser breaks non-root policy ${where}`,
    ],
    [
      'another runAsUser, whatever the image says',
      { own: { ...nonRoot, runAsUser: 5 }, imageUser: { uid: 0 } },
      undefined,
    ],
    [
      'an image of root',
      { pod: nonRoot, imageUser: { uid: 0 } },
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    [
      'an image without a user',
      { pod: nonRoot },
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    ['an image of another user', { pod: nonRoot, imageUser: { uid: 1000 } }, undefined],
    [
      'an image with a name',
      { pod: nonRoot, imageUser: { username: 'nobody' } },
      `container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root ${where}`,
    ],
    [
      'a user id out of range',
      { pod: nonRoot, imageUser: { uid: 2 ** 31 } },
      'container has runAsNonRoot and image has an invalid user id (2147483648)',
    ],
  ];
  it.each(rows)('%s', (_rule, given, message) => {
    const { verify } = build(given);
    if (message === undefined) expect(verify).not.toThrow();
    else expect(verify).toThrow(message);
  });
});

describe('containerSecurityContext', () => {
  const rows: [rule: string, given: Given, expected: object][] = [
    ['root when nobody is named', {}, { runAsUser: { value: 0 } }],
    ['the user of the image', { imageUser: { uid: 7 } }, { runAsUser: { value: 7 } }],
    ['the name in the image', { imageUser: { username: 'nobody' } }, { runAsUsername: 'nobody' }],
    ['the user of the pod', { pod: { runAsUser: 5 }, imageUser: { uid: 7 } }, { runAsUser: { value: 5 } }],
    [
      'the user of the container',
      { own: { runAsUser: 6, runAsGroup: 8 }, pod: { runAsUser: 5 } },
      { runAsUser: { value: 6 }, runAsGroup: { value: 8 } },
    ],
    [
      'rights',
      { own: { privileged: true, readOnlyRootFilesystem: true, capabilities: { add: ['A'], drop: ['B'] } } },
      {
        privileged: true,
        readonlyRootfs: true,
        capabilities: { addCapabilities: ['A'], dropCapabilities: ['B'] },
      },
    ],
    ['new privileges are allowed by default', {}, { noNewPrivs: false }],
    ['new privileges may be forbidden', { own: { allowPrivilegeEscalation: false } }, { noNewPrivs: true }],
    [
      'SELinux options of the pod',
      { pod: { seLinuxOptions: { level: 's0' } } },
      { selinuxOptions: { user: '', role: '', type: '', level: 's0' } },
    ],
    [
      'groups, those of volumes last',
      { pod: { fsGroup: 1, supplementalGroups: [2, 3] } },
      { supplementalGroups: [1, 2, 3, 77] },
    ],
    [
      'the strict policy of groups',
      { pod: { supplementalGroupsPolicy: 'Strict' } },
      { supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict },
    ],
    ['seccomp is off by default', {}, { seccomp: { profileType: ProfileType.Unconfined } }],
    [
      'seccomp by default of the node',
      { settings: { seccompDefault: true } },
      { seccomp: { profileType: ProfileType.RuntimeDefault } },
    ],
    [
      'seccomp of the pod',
      { pod: { seccompProfile: { type: 'RuntimeDefault' } } },
      { seccomp: { profileType: ProfileType.RuntimeDefault } },
    ],
    [
      'seccomp of the container',
      {
        own: { seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' } },
        pod: { seccompProfile: { type: 'RuntimeDefault' } },
      },
      { seccomp: { profileType: ProfileType.Localhost, localhostRef: '/root-dir/seccomp/a/b.json' } },
    ],
    [
      'AppArmor of the container',
      { own: { appArmorProfile: { type: 'Localhost', localhostProfile: 'p' } } },
      { apparmor: { profileType: ProfileType.Localhost, localhostRef: 'p' }, apparmorProfile: 'localhost/p' },
    ],
    [
      'AppArmor by annotation stands before the pod',
      {
        annotations: { 'container.apparmor.security.beta.kubernetes.io/c': 'unconfined' },
        pod: { appArmorProfile: { type: 'RuntimeDefault' } },
      },
      { apparmor: { profileType: ProfileType.Unconfined }, apparmorProfile: 'unconfined' },
    ],
    [
      'AppArmor of the pod',
      { pod: { appArmorProfile: { type: 'RuntimeDefault' } } },
      { apparmor: { profileType: ProfileType.RuntimeDefault }, apparmorProfile: 'runtime/default' },
    ],
    ['everything shown', { own: { procMount: 'Unmasked' } }, { maskedPaths: [], readonlyPaths: [] }],
    [
      'namespaces of its own',
      {},
      {
        namespaceOptions: {
          network: NamespaceMode.POD,
          pid: NamespaceMode.CONTAINER,
          ipc: NamespaceMode.POD,
          usernsOptions: { mode: NamespaceMode.NODE },
        },
      },
    ],
    [
      'namespaces of the node',
      { spec: { hostNetwork: true, hostPID: true, hostIPC: true } },
      { namespaceOptions: { network: NamespaceMode.NODE, pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE } },
    ],
    [
      'processes of a target',
      { targetContainerId: 'id' },
      { namespaceOptions: { pid: NamespaceMode.TARGET, targetId: 'id' } },
    ],
    [
      'a shared process namespace shows the target anyway',
      { targetContainerId: 'id', spec: { shareProcessNamespace: true } },
      { namespaceOptions: { pid: NamespaceMode.POD } },
    ],
  ];
  it.each(rows)('%s', (_rule, given, expected) => {
    expect(build(given).context()).toMatchObject(expected);
  });

  it('masks paths that reveal the node', () => {
    const thermal = '/sys/devices/system/cpu/cpu0/thermal_throttle';
    const context = build({ settings: { thermalThrottlePaths: [thermal] } }).context();
    expect(context.maskedPaths).toEqual([
      '/proc/asound',
      '/proc/acpi',
      '/proc/interrupts',
      '/proc/kcore',
      '/proc/keys',
      '/proc/latency_stats',
      '/proc/timer_list',
      '/proc/timer_stats',
      '/proc/sched_debug',
      '/proc/scsi',
      '/sys/firmware',
      '/sys/devices/virtual/powercap',
      thermal,
    ]);
    expect(context.readonlyPaths).toEqual([
      '/proc/bus',
      '/proc/fs',
      '/proc/irq',
      '/proc/sys',
      '/proc/sysrq-trigger',
    ]);
  });

  it('leaves AppArmor to the runtime when unset', () => {
    expect(build({}).context()).not.toHaveProperty('apparmor');
  });

  const failures: [rule: string, given: Given, message: string][] = [
    [
      'seccomp without a file',
      { pod: { seccompProfile: { type: 'Localhost' } } },
      'localhostProfile must be set if seccompProfile type is Localhost.',
    ],
    [
      'seccomp outside of its directory',
      { pod: { seccompProfile: { type: 'Localhost', localhostProfile: '../x' } } },
      'must be a path below /root-dir/seccomp',
    ],
    [
      'unknown seccomp',
      { pod: { seccompProfile: { type: 'Odd' } } },
      'seccompProfile.type "Odd" of container c in pod "web_shop(u1)" is not known',
    ],
    [
      'AppArmor without a name',
      { pod: { appArmorProfile: { type: 'Localhost' } } },
      'missing localhost apparmor profile name',
    ],
    [
      'AppArmor on a node without it',
      {
        pod: { appArmorProfile: { type: 'Localhost', localhostProfile: 'p' } },
        settings: { isAppArmorEnabled: false },
      },
      'AppArmor is not enabled on this node',
    ],
    [
      'unknown AppArmor',
      { pod: { appArmorProfile: { type: 'Odd' } } },
      'unknown apparmor profile type: "Odd"',
    ],
    [
      'unknown policy of groups',
      { pod: { supplementalGroupsPolicy: 'Odd' } },
      'unsupported supplementalGroupsPolicy: Odd',
    ],
  ];
  it.each(failures)('%s', (_rule, given, message) => {
    expect(build(given).context).toThrow(message);
  });
});
