import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { allowedSysctls } from './sysctls.js';

const pod = (name: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { uid: 'u', name: 'p', namespace: 'default' },
  spec: { containers: [], securityContext: { sysctls: [{ name, value: '1' }] }, ...spec },
});

describe('allowedSysctls', () => {
  it.each<[string, Pod, string[], string, string | undefined]>([
    ['a safe one', pod('kernel.shm_rmid_forced'), [], '6.1.0', undefined],
    ['a safe one written with slashes', pod('net/ipv4/tcp_syncookies'), [], '6.1.0', undefined],
    [
      'one that the kernel is too old for',
      pod('net.ipv4.tcp_rmem'),
      [],
      '4.14.0-x',
      'forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted',
    ],
    ['one that the kernel is new enough for', pod('net.ipv4.tcp_rmem'), [], '4.15.0-x', undefined],
    ['an unsafe one', pod('kernel.msgmax'), [], '6.1.0', 'forbidden sysctl: "kernel.msgmax" not allowlisted'],
    ['an unsafe one that the node allows', pod('kernel.msgmax'), ['kernel.msg*'], '6.1.0', undefined],
    ['one that is safe since 1.37', pod('net.ipv4.tcp_notsent_lowat'), [], '5.10.0', undefined],
    ['one that needs a newer kernel', pod('net.ipv4.tcp_slow_start_after_idle'), [], '4.15.0', undefined],
    [
      'of users in the host user namespace',
      pod('user.max_user_namespaces'),
      ['user.*'],
      '6.1.0',
      'forbidden sysctl: "user.max_user_namespaces" not allowed with host User enabled',
    ],
    [
      'of users in a namespace of their own',
      pod('user.max_user_namespaces', { hostUsers: false }),
      ['user.*'],
      '6.1.0',
      undefined,
    ],
    [
      'the domain name, if the node allows it',
      pod('kernel.domainname'),
      ['kernel.domainname'],
      '6.1.0',
      undefined,
    ],
    [
      'IPC with host IPC',
      pod('kernel.shm_rmid_forced', { hostIPC: true }),
      [],
      '6.1.0',
      'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled',
    ],
    [
      'net with host network',
      pod('net.ipv4.tcp_syncookies', { hostNetwork: true }),
      [],
      '6.1.0',
      'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
    ],
  ])('%s', (_rule, given, unsafe, kernel, message) => {
    const answer = allowedSysctls(unsafe, kernel).admit({ pod: given, others: [], operation: 'add' });
    expect(answer.admit ? undefined : answer.message).toBe(message);
  });
  it('refuses to allow what is not namespaced', () => {
    expect(() => allowedSysctls(['vm.swappiness'], '6.1.0')).toThrow(
      'the sysctls "vm.swappiness" are not known to be namespaced',
    );
  });
});
