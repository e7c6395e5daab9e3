import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { SystemdControl } from './systemd-control.js';
import { TestSystemd } from './test-systemd.js';
import { TestTree } from './test-tree.js';
import { CgroupsV1 } from './v1.js';
import { CgroupsV2 } from './v2.js';

const name = ['kubepods', 'burstable', 'pod1-2'];
const unit = 'kubepods-burstable-pod1_2.slice';
const path = `kubepods.slice/kubepods-burstable.slice/${unit}`;
const hugePages = new Map<string, number>();
const quota = { cpuQuota: { quotaMicros: 1_500, periodMicros: 100_000 } };

let tree: TestTree;
let systemd: TestSystemd;
let control: SystemdControl;
const there = (file: string): boolean => existsSync(join(tree.root, file));
const open = (version: 1 | 2): void => {
  tree =
    version === 2 ? TestTree.v2() : TestTree.v1(['cpu', 'cpuset', 'memory', 'pids', 'devices', 'hugetlb']);
  systemd = new TestSystemd(tree);
  const shared = { files: tree, clock: new VirtualClock(), hugePageSizes: ['2MB'] };
  control = new SystemdControl(
    version === 2
      ? new CgroupsV2({ root: tree.root, ...shared })
      : new CgroupsV1({ mounts: tree.mounts, withDevices: true, ...shared }),
    systemd,
  );
};
beforeEach(() => open(2));
afterEach(() => tree.destroy());

describe('a cgroup made by systemd', () => {
  it('is a slice whose missing controllers are enabled', async () => {
    await control.create(name, { hugePages });
    expect(systemd.calls).toEqual([
      `start ${unit} Description Wants MemoryAccounting CPUAccounting IOAccounting TasksAccounting DefaultDependencies`,
    ]);
    expect(systemd.units.get(unit)?.get('Wants')).toEqual(['kubepods-burstable.slice']);
    expect(control.gap(name)).toBeUndefined();
    expect(tree.text(`${path}/cgroup.controllers`)).toContain('hugetlb');
    expect(control.children(['kubepods', 'burstable'])).toEqual(['pod1-2']);
  });

  it('of version 1 is in every tree', async () => {
    open(1);
    await control.create(name, { hugePages });
    expect(systemd.calls[0]).toContain('BlockIOAccounting');
    for (const mount of ['cpu', 'devices', 'hugetlb']) expect(there(`${mount}/${path}`)).toBe(true);
  });

  it('is changed by systemd first, then in its files, with the same quota', async () => {
    await control.create(name, { hugePages });
    tree.writes.length = 0;
    systemd.refuse = () => tree.writes.push('systemd');
    await control.update(name, { cpuShares: 1024, ...quota, hugePages });
    expect(systemd.calls.at(-1)).toBe(`set ${unit} CPUWeight CPUQuotaPeriodUSec CPUQuotaPerSecUSec`);
    expect(tree.writes).toEqual([
      'systemd',
      `${path}/cpu.weight=39`,
      `${path}/cpu.max=2000 100000`,
      `${path}/hugetlb.2MB.max=0`,
      `${path}/hugetlb.2MB.rsvd.max=0`,
    ]);
  });

  it('is told to systemd even if systemd knows none of the values', async () => {
    await control.create(['kubepods'], { hugePages });
    await control.update(['kubepods'], { hugePages: 'unlimited' });
    expect(systemd.calls.at(-1)).toBe('set kubepods.slice');
    expect(tree.text('kubepods.slice/hugetlb.2MB.max')).toBe(String(2n ** 62n));
  });

  it('is stopped, then removed', async () => {
    await control.create(name, { hugePages });
    await control.remove(name);
    expect([systemd.units.has(unit), there(path)]).toEqual([false, false]);
  });

  it('of an unknown unit is removed', async () => {
    await control.create(name, { hugePages });
    systemd.units.delete(unit);
    await control.remove(name);
    expect(there(path)).toBe(false);
  });

  it.each([
    [2, true],
    [1, false],
  ] as const)('of version %d that does not stop in time', async (version, stays) => {
    open(version);
    await control.create(name, { hugePages });
    const late = new Error(`Timed out while waiting for systemd to remove ${unit}`);
    systemd.refuse = (call) => {
      if (call.startsWith('stop')) throw late;
    };
    await expect(control.remove(name)).rejects.toThrow(late);
    expect(control.isThere(name)).toBe(stays);
  });
});

describe('failures', () => {
  it('of a start name the unit', async () => {
    systemd.refuse = () => {
      throw new Error('error creating systemd unit `X`: got `failed`');
    };
    await expect(control.create(name, { hugePages })).rejects.toThrow(
      `unable to start unit "${unit}" (properties [Description Wants MemoryAccounting CPUAccounting IOAccounting TasksAccounting DefaultDependencies]): error creating systemd unit \`X\`: got \`failed\``,
    );
  });

  it('of a change write no file', async () => {
    await control.create(name, { hugePages });
    tree.writes.length = 0;
    systemd.refuse = () => {
      throw new Error('no');
    };
    await expect(control.update(name, { cpuShares: 2, hugePages })).rejects.toThrow(
      'unable to set unit properties: no',
    );
    expect(tree.writes).toEqual([]);
  });

  it.each([
    [243, ''],
    [244, ' AllowedCPUs'],
    [-1, ''],
  ])('systemd %d is told what it knows', async (version, told) => {
    systemd.versionNumber = version;
    await control.create(name, { hugePages });
    await control.update(name, { cpus: '0', hugePages });
    expect(systemd.calls.at(-1)).toBe(`set ${unit}${told}`);
    expect(tree.text(`${path}/cpuset.cpus`)).toBe('0');
  });
});
