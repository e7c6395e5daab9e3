import { describe, expect, it } from 'vitest';
import { cgroupMount, ownCgroupPath } from './container-cgroup.js';

describe('the cgroup of this process', () => {
  it.each([
    ['0::/system.slice/nodelet.service\n', '/system.slice/nodelet.service'],
    ['12:pids:/a\n1:name=systemd:/b\n0::/\n', '/'],
    ['12:pids:/a\n', undefined],
  ])('is parsed from %j', (text, path) => expect(ownCgroupPath(text)).toBe(path));

  it.each([
    [
      '29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw',
      { target: '/sys/fs/cgroup', root: '/' },
    ],
    [
      '30 23 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n41 31 0:38 /a /unified rw - cgroup2 x rw',
      { target: '/unified', root: '/a' },
    ],
    ['30 23 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids', undefined],
  ])('is below the mount %j', (text, mount) => expect(cgroupMount(text)).toEqual(mount));
});
