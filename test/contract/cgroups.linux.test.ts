/** The cgroups of this machine's kernel, and directory trees of both versions, by the same cases. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { systemClock } from '../../src/async/index.js';
import { linuxCgroups } from '../../src/resources/cgroups/index.js';
import { TestTree } from '../../src/resources/cgroups/test-tree.js';
import { CgroupsV1 } from '../../src/resources/cgroups/v1.js';
import { CgroupsV2 } from '../../src/resources/cgroups/v2.js';
import { removeCgroup } from '../env/cgroups.js';
import { type CgroupSide, cgroupContract } from './cgroups-contract.js';

const treeSide = (tree: TestTree, version: 1 | 2): CgroupSide => {
  const shared = { files: tree, clock: systemClock, hugePageSizes: ['2MB'] };
  const hierarchy =
    version === 1
      ? new CgroupsV1({ mounts: tree.mounts, ...shared })
      : new CgroupsV2({ root: tree.root, ...shared });
  hierarchy.create('/own');
  return {
    hierarchy,
    root: '/own',
    pid: 77,
    async endProcess() {
      const mounts = version === 1 ? tree.mounts.map(({ path }) => path.slice(tree.root.length + 1)) : ['.'];
      for (const mount of mounts) tree.put(`${mount}/own/a/b/cgroup.procs`, '');
    },
    close: async () => tree.destroy(),
  };
};

cgroupContract('a directory tree of version 1', async () =>
  treeSide(TestTree.v1(['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'hugetlb']), 1),
);
cgroupContract('a directory tree of version 2', async () => treeSide(TestTree.v2(), 2));

cgroupContract("this machine's kernel", async () => {
  const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
  const hierarchy = linuxCgroups({ version, hugePageSizes: [] });
  const root = `/nodelet-contract-${process.pid}`;
  hierarchy.create(root);
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const ended = once(child, 'exit');
  return {
    hierarchy,
    root,
    pid: child.pid!,
    async endProcess() {
      child.kill('SIGKILL');
      await ended;
    },
    async close() {
      child.kill('SIGKILL');
      await ended;
      await removeCgroup(root);
    },
  };
});
