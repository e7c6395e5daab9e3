import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import { CgroupfsControl } from './control.js';
import { enforceReserved, reservedPlans, reservedValues } from './reserved-cgroups.js';
import { SystemdControl } from './systemd-control.js';
import { TestSystemd } from './test-systemd.js';
import { TestTree } from './test-tree.js';
import { CgroupsV2 } from './v2.js';

const settings = {
  systemReserved: { cpu: '500m', memory: '1Gi', pid: '100' },
  systemReservedCgroup: '/sys',
  kubeReserved: { cpu: '250m' },
  kubeReservedCgroup: '/kubelet',
};
const plansOf = (...enforced: string[]) => reservedPlans({ ...settings, enforced });

describe('reservedPlans', () => {
  it('has a fixed order', () => {
    const plans = plansOf('kube-reserved-compressible', 'kube-reserved', 'pods', 'system-reserved');
    expect(plans.map(({ scope, compressible }) => [scope, compressible])).toEqual([
      ['System', false],
      ['Kube', false],
      ['Kube', true],
    ]);
    expect(plansOf('pods', 'none')).toEqual([]);
  });
});

describe('reservedValues', () => {
  const plan = (level: string) => plansOf(level)[0] ?? expect.fail('no plan');
  const hugePages = new Map();
  it.each<[level: string, context: { cpus?: string; protectsMemory: boolean }, values: object]>([
    [
      'system-reserved',
      { protectsMemory: false },
      { cpuShares: 512, memoryLimitBytes: 1_073_741_824, pidsLimit: 100, hugePages },
    ],
    [
      'system-reserved',
      { cpus: '0-1', protectsMemory: true },
      {
        cpuShares: 512,
        memoryLimitBytes: 1_073_741_824,
        pidsLimit: 100,
        cpus: '0-1',
        hugePages,
        unified: { 'memory.min': '1073741824' },
      },
    ],
    [
      'system-reserved-compressible',
      { cpus: '0-1', protectsMemory: true },
      { cpuShares: 512, cpus: '0-1', hugePages },
    ],
    ['kube-reserved', { protectsMemory: true }, { cpuShares: 256, hugePages }],
  ])('%s', (level, context, values) => expect(reservedValues(plan(level), context)).toEqual(values));
});

describe('enforceReserved', () => {
  let tree: TestTree;
  let told: TimelineEntry[];
  let timeline: Timeline;
  let hierarchy: CgroupsV2;
  beforeEach(() => {
    const clock = new VirtualClock();
    tree = TestTree.v2();
    timeline = new Timeline({ clock });
    told = [];
    timeline.subscribe((entry) => told.push(entry));
    hierarchy = new CgroupsV2({ root: tree.root, files: tree, clock, hugePageSizes: ['2MB'] });
  });
  afterEach(() => tree.destroy());
  const events = (): string[] =>
    told.map(({ event, message }) => `${event?.type} ${event?.reason} ${message}`);
  const enforce = (
    enforced: string[],
    change: Partial<typeof settings> = {},
    control: CgroupfsControl | SystemdControl = new CgroupfsControl(hierarchy),
  ): Promise<void> =>
    enforceReserved(reservedPlans({ ...settings, ...change, enforced }), {
      timeline,
      nodeName: 'n1',
      control,
      protectsMemory: false,
      update: (name, values) => control.update(name, values),
    });

  it('limits the cgroups and tells each', async () => {
    hierarchy.create('/sys');
    hierarchy.create('/kubelet');
    await enforce(['pods', 'system-reserved-compressible', 'kube-reserved']);
    expect([tree.text('sys/cpu.weight'), tree.text('sys/memory.max')]).toEqual(['20', 'max']);
    expect([tree.text('kubelet/cpu.weight'), tree.text('kubelet/hugetlb.2MB.max')]).toEqual(['10', '0']);
    expect(events()).toEqual([
      'Normal NodeAllocatableEnforced Updated limits on kube reserved cgroup /kubelet',
      'Normal NodeAllocatableEnforced Updated limits on system reserved cgroup /sys',
    ]);
  });

  it('names a slice as the configuration does', async () => {
    const systemd = new TestSystemd(tree);
    const control = new SystemdControl(hierarchy, systemd);
    await control.create(['kubelet'], { hugePages: new Map() });
    await enforce(['kube-reserved'], {}, control);
    expect(systemd.calls.at(-1)).toBe('set kubelet.slice CPUWeight');
  });

  it.each<[rule: string, enforced: string, change: Partial<typeof settings>, message: string]>([
    [
      'a cgroup that is missing',
      'system-reserved',
      {},
      'Failed to enforce System Reserved Cgroup Limits on "/sys": could not read controllers for cgroup ["sys"]: ',
    ],
    [
      'a compressible one that is missing',
      'kube-reserved-compressible',
      {},
      'Failed to enforce Kube Reserved Compressible Cgroup Limits on "/kubelet": could not read controllers for cgroup ["kubelet"]: ',
    ],
    [
      'nothing reserved',
      'kube-reserved',
      { kubeReserved: {} as { cpu: string } },
      'Failed to enforce Kube Reserved Cgroup Limits on "/kubelet": ["kubelet"] cgroup is not configured properly',
    ],
  ])('%s ends the start', async (_, enforced, change, message) => {
    await expect(enforce([enforced], change)).rejects.toThrow(message);
    expect(events()).toEqual([
      expect.stringContaining(`Warning FailedNodeAllocatableEnforcement ${message}`),
    ]);
  });
});
