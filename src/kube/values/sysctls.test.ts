import { describe, expect, it } from 'vitest';
import { normalizeSysctl, sysctlNamespace } from './sysctls.js';

describe('normalizeSysctl', () => {
  it.each([
    ['kernel.shm_rmid_forced', 'kernel.shm_rmid_forced'],
    ['net/ipv4/conf/eth0.1/forwarding', 'net.ipv4.conf.eth0/1.forwarding'],
    ['net.ipv4.conf.eth0/1.forwarding', 'net.ipv4.conf.eth0/1.forwarding'],
    ['plain', 'plain'],
  ])('%s → %s', (name, expected) => expect(normalizeSysctl(name)).toBe(expected));
});

describe('sysctlNamespace', () => {
  it.each([
    ['kernel.sem', 'ipc'],
    ['kernel.semx', undefined],
    ['kernel.shm_rmid_forced', 'ipc'],
    ['fs.mqueue.msg_max', 'ipc'],
    ['net.core.somaxconn', 'net'],
    ['user.max_user_namespaces', 'user'],
    ['kernel.domainname', 'uts'],
    ['vm.swappiness', undefined],
  ])('%s → %s', (name, expected) => expect(sysctlNamespace(name)).toBe(expected));
});
