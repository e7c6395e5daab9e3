/** The cgroups that pods live in, on the machine that this runs on. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ResourceRequirements } from '../../src/kube/index.js';
import { linuxCgroups } from '../../src/resources/cgroups/index.js';
import { cgroupDirectories, processesInCgroup } from '../env/cgroups.js';
import { busybox, eventually, forever, manifest, TestNode } from './agent.js';

const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
const mebi = 1024 * 1024;
let perQos = true;
let enforced: string[] = ['pods'];
let node: TestNode;

beforeAll(async () => {
  node = await TestNode.create({
    config: ({ cgroupParent }) => ({
      cgroupRoot: cgroupParent,
      cgroupsPerQOS: perQos,
      enforceNodeAllocatable: perQos ? enforced : [],
      systemReserved: { cpu: '500m', memory: '512Mi' },
      systemReservedCgroup: `${cgroupParent}/system`,
      podPidsLimit: 500,
    }),
  });
});
afterAll(() => node.stop());

const pods = (): string => `${node.containerd.cgroupParent}/kubepods`;

/** The number in a file of a cgroup, which is named as each version names it. */
function value(
  cgroup: string,
  controller: string,
  file: { readonly v1: string; readonly v2: string },
): string {
  const path = version === 1 ? join(controller, cgroup, file.v1) : join(cgroup, file.v2);
  return readFileSync(join('/sys/fs/cgroup', path), 'utf8').trim();
}
const memoryLimit = (cgroup: string): number =>
  Number(value(cgroup, 'memory', { v1: 'memory.limit_in_bytes', v2: 'memory.max' }));
const weight = (cgroup: string): number =>
  Number(value(cgroup, 'cpu', { v1: 'cpu.shares', v2: 'cpu.weight' }));
const quota = (cgroup: string): string =>
  value(cgroup, 'cpu', { v1: 'cpu.cfs_quota_us', v2: 'cpu.max' }).split(' ')[0] ?? '';
const byVersion = <T>(v1: T, v2: T): T => (version === 1 ? v1 : v2);

async function run(name: string, resources: ResourceRequirements): Promise<void> {
  const containers = [{ name: 'app', image: busybox, command: forever, resources }];
  await node.apply(`${name}.yaml`, manifest(name, { uid: `uid-${name}`, spec: { containers } }));
  await node.untilReady(name);
}

it('a root that is not there is named at the start', async () => {
  await expect(node.start()).rejects.toThrow(
    /invalid configuration: cgroup \["nodelet-\w+"\] has some missing .*set cgroupRoot/s,
  );
});

it('all pods together are bounded by what is not reserved', async () => {
  linuxCgroups({ version, hugePageSizes: [] }).create(node.containerd.cgroupParent);
  await node.start();
  await eventually('there is a limit', async () => cgroupDirectories(`${pods()}/besteffort`).length > 0);
  const memTotal = Number(/MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
  await eventually('it is set', async () => memoryLimit(pods()) === memTotal - 512 * mebi);
  await eventually('a class has its share', async () => weight(`${pods()}/besteffort`) === byVersion(2, 1));
  await eventually('it is told', async () => node.log.includes('NodeAllocatableEnforced'));
});

it('each pod is in its class, with what its containers may have together', async () => {
  const both = { cpu: '100m', memory: '64Mi' };
  await Promise.all([
    run('guaranteed', { requests: both, limits: both }),
    run('burstable', { requests: { cpu: '250m' } }),
    run('best-effort', {}),
  ]);
  const guaranteed = `${pods()}/poduid-guaranteed`;
  const burstable = `${pods()}/burstable/poduid-burstable`;
  const bestEffort = `${pods()}/besteffort/poduid-best-effort`;
  expect([weight(guaranteed), quota(guaranteed), memoryLimit(guaranteed)]).toEqual([
    byVersion(102, 4),
    '10000',
    64 * mebi,
  ]);
  expect([weight(burstable), quota(burstable)]).toEqual([byVersion(256, 10), byVersion('-1', 'max')]);
  expect(weight(bestEffort)).toBe(byVersion(2, 1));
  expect(weight(`${pods()}/burstable`)).toBe(byVersion(256, 10));
  expect(value(bestEffort, 'pids', { v1: 'pids.max', v2: 'pids.max' })).toBe('500');
  // The sandbox and the container.
  for (const cgroup of [guaranteed, burstable, bestEffort])
    expect(processesInCgroup(cgroup).length).toBeGreaterThanOrEqual(2);
});

it('a pod that ends takes its cgroup along, and its share of the others', async () => {
  await node.remove('burstable.yaml');
  const name = `${pods()}/burstable/poduid-burstable`;
  await eventually('it is gone', async () => cgroupDirectories(name).length === 0);
  await eventually('its share is gone', async () => weight(`${pods()}/burstable`) === byVersion(2, 1));
});

it('what is left in the cgroup of a pod that nobody knows is killed, and the cgroup removed', async () => {
  const name = `${pods()}/besteffort/pod11111111-2222-3333-4444-555555555555`;
  linuxCgroups({ version, hugePageSizes: [] }).create(name);
  const left = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(left, 'spawn');
  const ended = once(left, 'exit');
  for (const directory of cgroupDirectories(name))
    writeFileSync(join(directory, 'cgroup.procs'), String(left.pid));
  expect((await ended)[1]).toBe('SIGKILL');
  await eventually('it is gone', async () => cgroupDirectories(name).length === 0);
});

it('a restart of the agent keeps pods and cgroups', async () => {
  const before = await node.running('guaranteed');
  await node.kill('SIGKILL');
  await node.start();
  await node.untilReady('guaranteed');
  expect(await node.running('guaranteed')).toEqual(before);
});

it('an agent killed while it makes the cgroup of a pod: the next one completes it', async () => {
  const both = { cpu: '100m', memory: '64Mi' };
  for (const round of [1, 2, 3]) {
    const name = `${pods()}/poduid-cut-${round}`;
    const resources = { requests: both, limits: both };
    const containers = [{ name: 'app', image: busybox, command: forever, resources }];
    await node.apply(
      `cut-${round}.yaml`,
      manifest(`cut-${round}`, { uid: `uid-cut-${round}`, spec: { containers } }),
    );
    // The first directory is there; the kill meets the agent wherever it is by then.
    while (cgroupDirectories(name).length === 0) await setImmediate();
    await node.kill('SIGKILL');
    await node.start();
    await node.untilReady(`cut-${round}`);
    expect([weight(name), quota(name), memoryLimit(name)]).toEqual([byVersion(102, 4), '10000', 64 * mebi]);
    expect(value(name, 'pids', { v1: 'pids.max', v2: 'pids.max' })).toBe('500');
    expect(await node.running(`cut-${round}`)).toHaveLength(1);
    await node.remove(`cut-${round}.yaml`);
    await eventually('it is gone', async () => cgroupDirectories(name).length === 0);
  }
});

it('a reserved cgroup must be there, and is held to its reservation', async () => {
  const system = `${node.containerd.cgroupParent}/system`;
  await node.kill('SIGTERM');
  enforced = ['pods', 'system-reserved'];
  await node.start().catch(() => undefined);
  await eventually('the agent tells why it ends', async () =>
    node.log.includes(`Failed to enforce System Reserved Cgroup Limits on "${system}": `),
  );
  await node.kill('SIGKILL');
  linuxCgroups({ version, hugePageSizes: [] }).create(system);
  await node.start();
  await eventually('it is told', async () =>
    node.log.includes(`Updated limits on system reserved cgroup ${system}`),
  );
  expect([weight(system), memoryLimit(system)]).toEqual([byVersion(512, 20), 512 * mebi]);
  await node.untilReady('guaranteed');
});

it('pods that ran without cgroups of their own are killed and get one', async () => {
  await node.kill('SIGTERM');
  perQos = false;
  await node.start();
  await run('moved', {});
  const [before] = await node.running('moved');
  const root = node.containerd.cgroupParent;
  expect(cgroupDirectories(`${root}/${before}`).length).toBeGreaterThan(0);
  await node.kill('SIGTERM');
  perQos = true;
  await node.start();
  await node.until('moved', 'was started again', ({ containerStatuses }) => {
    const id = containerStatuses?.[0]?.state?.running === undefined ? '' : containerStatuses[0].containerID;
    return id !== '' && id !== undefined && !id.endsWith(before ?? '');
  });
  expect(processesInCgroup(`${pods()}/besteffort/poduid-moved`).length).toBeGreaterThanOrEqual(2);
});
