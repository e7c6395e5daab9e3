/** CPUs of real containers: exclusive ones, the pool that the others share, and both after the agent died. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CpuSet, type ResourceRequirements } from '../../src/kube/index.js';
import { busybox, eventually, forever, manifest, TestNode } from './agent.js';

let node: TestNode;
let policy = 'static';
beforeAll(async () => {
  node = await TestNode.create({
    config: () => ({
      cpuManagerPolicy: policy,
      cpuManagerReconcilePeriod: '1s',
      reservedSystemCPUs: '0',
    }),
  });
});
afterAll(() => node.stop());

const online = CpuSet.parse(readFileSync('/sys/devices/system/cpu/online', 'utf8').trim());
const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
const statePath = (): string => join(node.root, 'cpu_manager_state');
const state = () => JSON.parse(JSON.parse(readFileSync(statePath(), 'utf8')).data);

/** The agent waits for the file before it starts a container with CPUs of its own; otherwise the file follows soon. */
async function untilState(expected: object): Promise<void> {
  const isWritten = async (): Promise<boolean> =>
    existsSync(statePath()) && isDeepStrictEqual(state(), expected);
  await eventually('the state is written', isWritten, 10_000).catch(() => expect(state()).toEqual(expected));
}

async function run(name: string, resources: ResourceRequirements): Promise<void> {
  const containers = [{ name: 'app', image: busybox, command: forever, resources }];
  await node.apply(`${name}.yaml`, manifest(name, { uid: `uid-${name}`, spec: { containers } }));
  await node.untilReady(name);
}

async function read(name: string, path: string): Promise<string> {
  const [containerId = ''] = await node.running(name);
  const { stdout } = await node.cri.execSync({ containerId, cmd: ['cat', path], timeout: 10 });
  return Buffer.from(stdout).toString().trim();
}

/** The CPUs of the container's cgroup, as its kernel has them; its first process must agree, if not in the middle of an update. */
async function cpusOf(name: string): Promise<string> {
  const file = isV2 ? '/sys/fs/cgroup/cpuset.cpus' : '/sys/fs/cgroup/cpuset/cpuset.cpus';
  let bound = '';
  await eventually(`the first process of ${name} is bound as its cgroup`, async () => {
    bound = await read(name, file);
    const [, allowed] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(await read(name, '/proc/1/status')) ?? [];
    return allowed === bound;
  });
  return bound;
}

const one = { cpu: '1', memory: '64Mi' };

it('a container without CPUs of its own shares all', async () => {
  await node.start();
  await run('shared', {});
  expect(await cpusOf('shared')).toBe(String(online));
});

it('a Guaranteed container gets a CPU for itself without a quota, and the shared one leaves it', async () => {
  await run('pinned', { requests: one, limits: one });
  const own = await cpusOf('pinned');
  expect(CpuSet.parse(own).size).toBe(1);
  expect(own).not.toBe('0');
  const rest = String(online.difference(CpuSet.parse(own)));
  await eventually('the pool shrinks', async () => (await cpusOf('shared')) === rest);
  expect(state()).toEqual({
    policyName: 'static',
    defaultCpuSet: rest,
    entries: { 'uid-pinned': { app: own } },
  });
  const quota = isV2 ? '/sys/fs/cgroup/cpu.max' : '/sys/fs/cgroup/cpu/cpu.cfs_quota_us';
  expect((await read('pinned', quota)).split(' ')[0]).toBe(isV2 ? 'max' : '-1');
});

it('after a kill -9 of the agent the same containers have the same CPUs', async () => {
  const look = () => Promise.all([node.running('pinned'), cpusOf('pinned'), cpusOf('shared')]);
  const before = await look();
  await node.kill('SIGKILL');
  await node.start();
  await node.untilReady('pinned');
  await run('late', {});
  expect(await look()).toEqual(before);
  expect(await cpusOf('late')).toBe(before[2]);
});

it('a container that is restarted has the CPUs of the one before', async () => {
  const [before] = await node.running('pinned');
  const own = await cpusOf('pinned');
  await node.cri.stopContainer({ containerId: before ?? '', timeout: 0 });
  await eventually('another runs', async () => {
    const [now] = await node.running('pinned');
    return now !== undefined && now !== before;
  });
  expect(await cpusOf('pinned')).toBe(own);
});

it('a state that cannot be read is set aside, and the containers keep their CPUs', async () => {
  const own = await cpusOf('pinned');
  const running = await node.running('pinned');
  await node.kill('SIGKILL');
  writeFileSync(statePath(), '{"policyName":"sta');
  node.log = '';
  await node.start();
  await node.untilReady('pinned');
  await eventually('it is told', async () => node.log.includes('CPUManagerStateRecovered'));
  expect(node.log).toContain('please drain this node and delete the CPU manager checkpoint file');
  expect([await cpusOf('pinned'), await node.running('pinned')]).toEqual([own, running]);
  await untilState({
    policyName: 'static',
    defaultCpuSet: String(online.difference(CpuSet.parse(own))),
    entries: { 'uid-pinned': { app: own } },
  });
});

it('CPUs of a pod that is gone are shared again', async () => {
  await node.remove('pinned.yaml');
  await node.untilGone('pinned');
  await eventually('the pool grows', async () => (await cpusOf('shared')) === String(online));
  await untilState({ policyName: 'static', defaultCpuSet: String(online) });
});

/** From before the admission to after the start, so that each falls between other effects: file, sandbox, create, start. */
it.each([0, 40, 90, 150, 250, 500])(
  'a kill -9 %i ms after an exclusive pod came gives nothing twice and loses nothing',
  async (delayMs) => {
    const name = `cut-${delayMs}`;
    const containers = [
      { name: 'app', image: busybox, command: forever, resources: { requests: one, limits: one } },
    ];
    await node.apply(`${name}.yaml`, manifest(name, { uid: `uid-${name}`, spec: { containers } }));
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await node.kill('SIGKILL');
    await node.start();
    await node.untilReady(name);
    expect(await node.running(name)).toHaveLength(1);
    const own = await cpusOf(name);
    expect(CpuSet.parse(own).size).toBe(1);
    const rest = String(online.difference(CpuSet.parse(own)));
    expect(state()).toEqual({
      policyName: 'static',
      defaultCpuSet: rest,
      entries: { [`uid-${name}`]: { app: own } },
    });
    await eventually('the others leave', async () => (await cpusOf('shared')) === rest);
    await node.remove(`${name}.yaml`);
    await node.untilGone(name);
    await eventually('the pool grows', async () => (await cpusOf('shared')) === String(online));
  },
  120_000,
);

it('a policy that changes needs no hand: the old file is set aside, and containers that run may use all CPUs', async () => {
  await run('bound', { requests: one, limits: one });
  expect(CpuSet.parse(await cpusOf('bound')).size).toBe(1);
  const running = await node.running('bound');
  await node.kill('SIGKILL');
  policy = 'none';
  node.log = '';
  await node.start();
  await node.untilReady('shared');
  expect(node.log).toContain(
    'configured policy \\"none\\" differs from state checkpoint policy \\"static\\"',
  );
  for (const name of ['bound', 'shared'])
    await eventually(`${name} is free`, async () => (await cpusOf(name)) === String(online));
  // The file says that nobody is bound, so it is written when that is true.
  await eventually('it is written', async () => existsSync(statePath()));
  expect(state()).toEqual({ policyName: 'none', defaultCpuSet: '' });
  expect(await node.running('bound')).toEqual(running);
});

it('a setting that is wrong ends the start, with the field named', async () => {
  await node.kill('SIGKILL');
  policy = 'static';
  const wrong = '--cpu-manager-policy-options=full-pcpus-only=yes';
  await expect(node.start(wrong)).rejects.toThrow(
    /cpuManagerPolicyOptions.*bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes"/s,
  );
});
