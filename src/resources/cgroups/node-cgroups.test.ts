import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import type { Pod, ResourceRequirements } from '../../kube/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import { createMemoryQosMetrics } from '../metrics.js';
import { type CgroupControl, CgroupfsControl } from './control.js';
import { cgroupRootProblem, NodeCgroups } from './node-cgroups.js';
import { PodCgroupManager } from './pod-cgroups.js';
import { CgroupNames } from './pod-names.js';
import { SystemdControl } from './systemd-control.js';
import { TestSystemd } from './test-systemd.js';
import { kernelError, TestTree } from './test-tree.js';
import { CgroupsV2 } from './v2.js';

let clock: VirtualClock;
let timeline: Timeline;
let told: TimelineEntry[];
let tree: TestTree;
let hierarchy: CgroupsV2;
const names = new CgroupNames('/');
const limits = {
  milliCpu: 3700,
  memoryBytes: 7_516_192_768,
  pids: 1000,
  hugePages: new Map([['2MB', 4_194_304]]),
};

beforeEach(() => {
  clock = new VirtualClock();
  timeline = new Timeline({ clock });
  told = [];
  timeline.subscribe((entry) => told.push(entry));
  tree = TestTree.v2();
  hierarchy = new CgroupsV2({ root: tree.root, files: tree, clock, hugePageSizes: ['2MB'] });
});
afterEach(() => tree.destroy());

const events = (): (string | undefined)[] =>
  told
    .filter(({ event }) => event !== undefined)
    .map(({ event, message }) => `${event?.type} ${event?.reason} ${message}`);
const node = (
  control: CgroupControl = new CgroupfsControl(hierarchy),
  more: { readonly hasMemoryQos?: boolean } = {},
): NodeCgroups => {
  const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1 };
  const pods = new PodCgroupManager({ clock, timeline, control, names, settings, kill: () => {} });
  return new NodeCgroups({
    clock,
    timeline,
    control,
    names,
    limits,
    pods,
    nodeName: 'n1',
    cpus: '0-3',
    hasMemoryQos: false,
    ...more,
  });
};
const pod = (uid: string, resources: ResourceRequirements): Pod => ({
  metadata: { uid, name: uid, namespace: 'default' },
  spec: { containers: [{ name: 'c', resources }] },
});
const enforced = 'Normal NodeAllocatableEnforced Updated Node Allocatable limit across pods';
const refused =
  'Warning FailedNodeAllocatableEnforcement Failed to update Node Allocatable Limits ["kubepods"]: EIO: refused';

describe('the cgroup of all pods', () => {
  it('is made with its limits, before anything is told', async () => {
    await node().prepare();
    const values = ['cpu.weight', 'memory.max', 'pids.max', 'cpuset.cpus', 'memory.min', 'memory.low'];
    expect(values.map((file) => tree.text(`kubepods/${file}`))).toEqual([
      '145',
      '7516192768',
      '1000',
      '0-3',
      '0',
      '0',
    ]);
    expect(tree.text('kubepods/cpu.max')).toBe('max 100000');
    // What the machine has, until the tiers take the limit away.
    const pages = 'kubepods/hugetlb.2MB.max=';
    expect(tree.writes.filter((write) => write.startsWith(pages))).toEqual([
      `${pages}4194304`,
      `${pages}${2n ** 62n}`,
    ]);
    expect(events()).toEqual([]);
  });

  it('is enforced until that succeeds once, with a minute between the tries', async () => {
    const one = node();
    await one.prepare();
    tree.refuse = (action, path) => {
      if (action === 'write' && path === 'kubepods/memory.max') throw kernelError('EIO');
    };
    const stop = new AbortController();
    const running = one.run(stop.signal).catch(() => undefined);
    await settle();
    await clock.advance(60_000);
    expect(events()).toEqual([refused, refused]);
    tree.refuse = () => {};
    await clock.advance(59_999);
    expect(events()).toHaveLength(2);
    await clock.advance(1);
    expect(events().at(-1)).toBe(enforced);
    tree.put('kubepods/memory.max', '5');
    await clock.advance(60_000);
    expect([tree.text('kubepods/memory.max'), events().length]).toEqual(['5', 3]);
    expect(tree.text('kubepods/hugetlb.2MB.max')).toBe(String(2n ** 62n));
    stop.abort();
    await running;
  });

  it('that exists keeps its limits until the enforcement', async () => {
    hierarchy.create('/kubepods');
    await node().prepare();
    expect(tree.text('kubepods/memory.max')).toBe('max');
  });

  it('has its tiers at their shares before any pod can start', async () => {
    await node().prepare();
    const tiers = ['kubepods/besteffort', 'kubepods/burstable'];
    expect(tiers.map((tier) => tree.text(`${tier}/cpu.weight`))).toEqual(['1', '1']);
  });

  it('gets tiers that come back when someone removed them', async () => {
    const one = node();
    await one.prepare();
    const stop = new AbortController();
    const running = one.run(stop.signal).catch(() => undefined);
    await settle();
    await hierarchy.remove('/kubepods/besteffort');
    await clock.advance(60_000);
    expect(tree.text('kubepods/besteffort/cpu.weight')).toBe('1');
    stop.abort();
    await running;
  });

  it('leaves protection to the tiers with MemoryQoS', async () => {
    tree.refuse = (action, path) => {
      if (action === 'write' && path === 'kubepods/memory.min') throw kernelError('EIO');
    };
    await node(undefined, { hasMemoryQos: true }).prepare();
    expect(told.map(({ message }) => message)).toEqual([
      'could not update the cgroups of the QoS classes: EIO: refused',
    ]);
  });
});

it('a tick with systemd tells it of every tier, and of no value that only a file has', async () => {
  const systemd = new TestSystemd(tree);
  const one = node(new SystemdControl(hierarchy, systemd));
  await one.prepare();
  const stop = new AbortController();
  const running = one.run(stop.signal).catch(() => undefined);
  await settle();
  systemd.calls.length = 0;
  await clock.advance(60_000);
  expect(systemd.calls).toEqual([
    'set kubepods.slice',
    'set kubepods-burstable.slice CPUWeight',
    'set kubepods-besteffort.slice CPUWeight',
  ]);
  expect(tree.text('kubepods.slice/hugetlb.2MB.max')).toBe(String(2n ** 62n));
  expect(events()).toEqual([enforced]);
  stop.abort();
  await running;
});

it('memory that is reserved by class is written with every tick, and shown', async () => {
  const metrics = createMemoryQosMetrics();
  const memoryQos = {
    policy: 'TieredReservation',
    throttlingFactor: undefined,
    pageSizeBytes: 4096,
  } as const;
  const control = new CgroupfsControl(hierarchy);
  const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1, memoryQos };
  const pods = new PodCgroupManager({
    clock,
    timeline,
    control,
    names,
    settings,
    tiers: { memoryQos },
    memoryQosMetrics: metrics,
    kill: () => {},
  });
  const both = { cpu: '1', memory: '1Gi' };
  pods.follow(() => [
    pod('g', { requests: both, limits: both }),
    pod('b', { requests: { memory: '512Mi' } }),
    pod('e', {}),
  ]);
  hierarchy.create('/kubepods');
  await pods.tiers.start();
  await pods.tiers.update();
  const protectedBytes = (): string[] =>
    ['memory.min', 'memory.low', 'burstable/memory.low'].map((file) => tree.text(`kubepods/${file}`));
  expect(protectedBytes()).toEqual(['1610612736', '536870912', '536870912']);
  expect([metrics.minBytes.value(), metrics.lowBytes.value()]).toEqual([1_073_741_824, 536_870_912]);
  pods.follow(() => []);
  await pods.tiers.update();
  expect(protectedBytes()).toEqual(['0', '0', '0']);
  expect([metrics.minBytes.value(), metrics.lowBytes.value()]).toEqual([0, 0]);
});

describe('cgroupRoot', () => {
  it.each([
    ['/', undefined],
    ['/kubepods', undefined],
    [
      '/none/b',
      /^invalid configuration: could not read controllers for cgroup \["none" "b"\]: .* set cgroupRoot/,
    ],
  ])('%s', (root, problem) => {
    hierarchy.create('/kubepods');
    const found = cgroupRootProblem(new CgroupfsControl(hierarchy), root);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  it('is a slice with systemd', () => {
    const control = new SystemdControl(hierarchy, new TestSystemd(tree));
    hierarchy.create('/foo');
    expect(cgroupRootProblem(control, '/foo')).toMatch(
      /^invalid configuration: could not read controllers for cgroup \["foo"\]: /,
    );
    hierarchy.create('/foo.slice');
    expect(cgroupRootProblem(control, '/foo')).toBeUndefined();
  });
});
