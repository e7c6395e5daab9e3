/** What every side of the cgroup hierarchy keeps to: the kernel's, and the directory trees that stand for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CgroupHierarchy } from '../../src/resources/cgroups/index.js';

export interface CgroupSide {
  readonly hierarchy: CgroupHierarchy;
  /** A cgroup that is the test's own. */
  readonly root: string;
  /** A process that can be moved. */
  readonly pid: number;
  /** Ends that process. */
  endProcess(): Promise<void>;
  close(): Promise<void>;
}

const mebi = 1024 * 1024;
const hugePages = new Map<string, number>();

export function cgroupContract(side: string, open: () => Promise<CgroupSide>): void {
  describe(side, () => {
    let one: CgroupSide;
    let hierarchy: CgroupHierarchy;
    let a: string;
    beforeAll(async () => {
      one = await open();
      hierarchy = one.hierarchy;
      a = `${one.root}/a`;
    });
    afterAll(() => one.close());

    it('a cgroup that is not there has a gap, no children and no processes', () => {
      expect(hierarchy.gap(a)).toBeDefined();
      expect(hierarchy.isThere(a)).toBe(false);
      expect([hierarchy.children(a), hierarchy.processes(a), hierarchy.ownProcesses(a)]).toEqual([
        [],
        [],
        [],
      ]);
      expect(() => hierarchy.read(a)).toThrow('ENOENT');
      expect(() => hierarchy.write(a, { cpuShares: 2, hugePages })).toThrow('ENOENT');
    });

    it('is made with its parents, and made again without harm', () => {
      hierarchy.create(`${a}/b`);
      hierarchy.create(`${a}/b`);
      expect(hierarchy.gap(a)).toBeUndefined();
      expect(hierarchy.gap(`${a}/b`)).toBeUndefined();
      expect([hierarchy.children(one.root), hierarchy.children(a)]).toEqual([['a'], ['b']]);
    });

    it('starts without limits', () => {
      const { quotaMicros, memoryLimitBytes } = hierarchy.read(a);
      expect([quotaMicros, memoryLimitBytes]).toEqual([-1, -1]);
    });

    it('keeps what is written, and leaves the rest', () => {
      const cpuQuota = { quotaMicros: 20_000, periodMicros: 100_000 };
      hierarchy.write(a, {
        cpuShares: 1024,
        cpuQuota,
        memoryLimitBytes: 64 * mebi,
        pidsLimit: 100,
        hugePages,
      });
      const cpuShares = hierarchy.version === 1 ? 1024 : 998;
      expect(hierarchy.read(a)).toMatchObject({
        cpuShares,
        quotaMicros: 20_000,
        memoryLimitBytes: 64 * mebi,
      });
      hierarchy.write(a, { cpuQuota: { quotaMicros: -1, periodMicros: 100_000 }, hugePages });
      expect(hierarchy.read(a)).toMatchObject({ cpuShares, quotaMicros: -1, memoryLimitBytes: 64 * mebi });
      hierarchy.write(a, { memoryLimitBytes: -1, hugePages });
      expect(hierarchy.read(a).memoryLimitBytes).toBe(-1);
    });

    it('a process is in the cgroup that it entered, and counts for those above', () => {
      hierarchy.enter(`${a}/b`, one.pid);
      expect(hierarchy.ownProcesses(`${a}/b`)).toEqual([one.pid]);
      expect(hierarchy.processes(a)).toEqual([one.pid]);
      expect(hierarchy.ownProcesses(a)).toEqual([]);
    });

    it('is not removed under a process, and is removed with all below it afterwards', async () => {
      await expect(hierarchy.remove(a)).rejects.toThrow('EBUSY');
      expect(hierarchy.isThere(`${a}/b`)).toBe(true);
      await one.endProcess();
      await hierarchy.remove(a);
      expect([hierarchy.isThere(a), hierarchy.children(one.root)]).toEqual([false, []]);
      await hierarchy.remove(a);
    });
  });
}
