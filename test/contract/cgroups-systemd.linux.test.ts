/** The cgroups of pods by the driver `systemd`, on a real bus. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSlices } from '../../src/agent/systemd-slices.js';
import { systemClock } from '../../src/async/index.js';
import type { Pod } from '../../src/kube/index.js';
import {
  CgroupNames,
  NodeCgroups,
  PodCgroupManager,
  SystemdControl,
} from '../../src/resources/cgroups/index.js';
import { expandSlice } from '../../src/resources/cgroups/names.js';
import { TestTree } from '../../src/resources/cgroups/test-tree.js';
import { CgroupsV2 } from '../../src/resources/cgroups/v2.js';
import { Timeline } from '../../src/timeline/index.js';
import { startDbusDaemon, type TestDbusDaemon } from '../env/dbus.js';
import { startTestSystemd, type TestSystemd } from '../env/systemd-service.js';
import { CleanupStack } from '../env/tempdir.js';

const cleanups = new CleanupStack();
const tree = TestTree.v2();
const names = new CgroupNames('/');
const timeline = new Timeline({ clock: systemClock });
const amounts = { cpu: '333m', memory: '64Mi' };
const pod: Pod = {
  metadata: { uid: '1234-abcd', name: 'a', namespace: 'default' },
  spec: { containers: [{ name: 'c', resources: { requests: amounts, limits: amounts } }] },
};
const burstable: Pod = {
  metadata: { uid: 'b', name: 'b', namespace: 'default' },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] },
};
const slice = 'kubepods-pod1234_abcd.slice';
let daemon: TestDbusDaemon;
let systemd: TestSystemd;
let pods: PodCgroupManager;
let node: NodeCgroups;

const startSystemd = async (): Promise<void> => {
  systemd = await startTestSystemd({
    environment: daemon.environment,
    cleanups,
    onJob: (member, unit) => {
      if (member !== 'StartTransientUnit') return;
      const parts = expandSlice(unit).split('/').slice(1);
      for (const index of parts.keys()) tree.makeDirectory(join(tree.root, ...parts.slice(0, index + 1)));
    },
  });
};
const property = (unit: string, name: string): unknown => systemd.units.get(unit)?.get(name)?.value;

beforeAll(async () => {
  daemon = await startDbusDaemon({ cleanups });
  await startSystemd();
  const slices = await openSlices(daemon.environment, timeline, '/');
  cleanups.defer('the bus', () => slices.close());
  const hierarchy = new CgroupsV2({
    root: tree.root,
    files: tree,
    clock: systemClock,
    hugePageSizes: ['2MB'],
  });
  const control = new SystemdControl(hierarchy, slices.units);
  const shared = { clock: systemClock, timeline, control, names };
  const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: 50 };
  pods = new PodCgroupManager({ ...shared, settings, kill: () => {} });
  pods.follow(() => [pod, burstable]);
  const limits = { milliCpu: 2000, memoryBytes: 2 ** 30, pids: 1000, hugePages: new Map<string, number>() };
  node = new NodeCgroups({ ...shared, nodeName: 'n', pods, limits, cpus: '0-9', hasMemoryQos: false });
});
afterAll(async () => {
  await cleanups.run();
  tree.destroy();
});

it('makes slices for all pods and for the QoS classes', async () => {
  await node.prepare();
  await pods.tiers.update();
  expect([...systemd.units.keys()]).toEqual([
    'kubepods.slice',
    'kubepods-burstable.slice',
    'kubepods-besteffort.slice',
  ]);
  expect(Object.fromEntries(systemd.units.get('kubepods.slice')!)).toEqual({
    Description: { signature: 's', value: 'libcontainer container kubepods.slice' },
    Wants: { signature: 'as', value: ['-.slice'] },
    MemoryAccounting: { signature: 'b', value: true },
    CPUAccounting: { signature: 'b', value: true },
    IOAccounting: { signature: 'b', value: true },
    TasksAccounting: { signature: 'b', value: true },
    DefaultDependencies: { signature: 'b', value: false },
    MemoryMax: { signature: 't', value: 2n ** 30n },
    CPUWeight: { signature: 't', value: 79n },
    TasksMax: { signature: 't', value: 1000n },
    AllowedCPUs: { signature: 'ay', value: Buffer.from([0xff, 0x03]) },
    MemoryMin: { signature: 't', value: 0n },
    MemoryLow: { signature: 't', value: 0n },
  });
  expect(property('kubepods-burstable.slice', 'CPUWeight')).toBe(39n);
  expect(tree.text('kubepods.slice/kubepods-burstable.slice/cpu.weight')).toBe('39');
});

it('makes the slice of a pod with what systemd can say of its quota', async () => {
  expect(await pods.exists(pod)).toBe(false);
  await pods.ensure(pod);
  expect(await pods.exists(pod)).toBe(true);
  expect(pods.parentOf(pod)).toBe(`/kubepods.slice/${slice}`);
  expect([property(slice, 'CPUQuotaPerSecUSec'), property(slice, 'TasksMax')]).toEqual([340_000n, 50n]);
  expect(tree.text(`kubepods.slice/${slice}/cpu.max`)).toBe('34000 100000');
  expect(await pods.list()).toEqual(['1234-abcd']);
});

it('a bus and a systemd that come back find the agent at work', async () => {
  await daemon.kill();
  await daemon.start();
  await startSystemd();
  await pods.tiers.restore().catch(() => undefined);
  expect(systemd.calls).toContain('SetUnitProperties kubepods.slice');
});

it('stops the slice of a pod that ended, known or not, and removes its directory', async () => {
  await pods.destroy(pod);
  expect(systemd.calls).toContain(`StopUnit ${slice}`);
  expect(existsSync(join(tree.root, 'kubepods.slice', slice))).toBe(false);
  expect(await pods.list()).toEqual([]);
});
