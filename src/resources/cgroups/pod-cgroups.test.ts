import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import { type CgroupMetrics, createCgroupMetrics } from '../metrics.js';
import { CgroupfsControl } from './control.js';
import { PodCgroupManager } from './pod-cgroups.js';
import { CgroupNames } from './pod-names.js';
import { kernelError, TestTree } from './test-tree.js';
import { CgroupsV1 } from './v1.js';

let clock: VirtualClock;
let tree: TestTree;
let hierarchy: CgroupsV1;
let active: Pod[];
let timeline: Timeline;
let told: TimelineEntry[];
let killed: number[];
let killError: string | undefined;
let cgroups: PodCgroupManager;
let metrics: CgroupMetrics;
const names = new CgroupNames('/');
beforeEach(async () => {
  clock = new VirtualClock();
  tree = TestTree.v1(['cpu', 'cpuacct', 'cpuset', 'memory', 'pids']);
  hierarchy = new CgroupsV1({ mounts: tree.mounts, files: tree, clock, hugePageSizes: [] });
  active = [];
  timeline = new Timeline({ clock });
  told = [];
  timeline.subscribe((entry) => told.push(entry));
  killed = [];
  killError = undefined;
  metrics = createCgroupMetrics();
  cgroups = new PodCgroupManager({
    clock,
    timeline,
    control: new CgroupfsControl(hierarchy),
    names,
    settings: { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1 },
    metrics,
    kill: (pid) => {
      killed.push(pid);
      if (killError !== undefined) throw Object.assign(new Error('no'), { code: killError });
      for (const mount of ['memory', 'pids']) {
        const file = `${mount}/kubepods/besteffort/podu1/cgroup.procs`;
        tree.put(file, tree.text(file).replace(`${pid}\n`, ''));
      }
    },
  });
  cgroups.follow(() => active);
  hierarchy.create('/kubepods');
  await cgroups.tiers.start();
  await cgroups.tiers.update();
});
afterEach(() => tree.destroy());

/** Starts a pod as the kubelet does. */
const ensure = (one: Pod): Promise<void> => {
  active.push(one);
  return cgroups.ensure(one);
};
const destroy = (one: Pod): Promise<void> => {
  active = active.filter(({ metadata }) => metadata.uid !== one.metadata.uid);
  return cgroups.destroy(one);
};
const enter = (path: string, ...pids: number[]): void => {
  for (const mount of ['memory', 'pids'])
    tree.put(`${mount}${path}/cgroup.procs`, pids.map((pid) => `${pid}\n`).join(''));
};
/** Lets the kernel refuse the removal of a pod's memory cgroup so many times. */
const keepBusy = (tries: number): void => {
  let left = tries;
  tree.refuse = (action, path) => {
    if (action === 'remove' && path.startsWith('memory') && left-- > 0) throw kernelError('EBUSY');
  };
};

const pod = (uid: string, cpu?: string): Pod => ({
  metadata: { uid, name: uid, namespace: 'default' },
  spec: { containers: [{ name: 'c', ...(cpu === undefined ? {} : { resources: { requests: { cpu } } }) }] },
});
const shares = (path: string): number => hierarchy.read(path).cpuShares;
const burstableShares = (): number => shares('/kubepods/burstable');
const messages = (): string[] => told.map(({ message }) => message ?? '');

describe('the cgroup of a pod', () => {
  it('is created with its values, listed, and removed', async () => {
    const one = pod('u1', '250m');
    expect(await cgroups.exists(one)).toBe(false);
    await ensure(one);
    expect(await cgroups.exists(one)).toBe(true);
    expect(shares('/kubepods/burstable/podu1')).toBe(256);
    expect(cgroups.parentOf(one)).toBe('/kubepods/burstable/podu1');
    expect(await cgroups.list()).toEqual(['u1']);
    await destroy(one);
    expect(await cgroups.list()).toEqual([]);
    const times = (operation: string): number =>
      metrics.operationDuration.count({ operation_type: operation });
    expect([times('create'), times('destroy')]).toEqual([1, 1]);
    await destroy(one);
  });

  it("is listed at once after this agent's changes, and within ten seconds after others'", async () => {
    expect(await cgroups.list()).toEqual([]);
    hierarchy.create('/kubepods/podother');
    await clock.advance(9_999);
    expect(await cgroups.list()).toEqual([]);
    await clock.advance(1);
    expect(await cgroups.list()).toEqual(['other']);
    await ensure(pod('u1'));
    expect(await cgroups.list()).toEqual(['other', 'u1']);
  });

  it('exists even if its values could not be written', async () => {
    tree.refuse = (action, path) => {
      if (action === 'write' && path.includes('podu1/cpu.')) throw new Error('not this one');
    };
    await ensure(pod('u1'));
    expect(await cgroups.list()).toEqual(['u1']);
    expect(messages().join()).toMatch(/could not set the pod's limits.*not this one/);
  });

  it('is refused if only part of it can be created', async () => {
    hierarchy.gap = (path) =>
      path.includes('podu1') ? { kind: 'controllers', missing: ['pids'] } : undefined;
    await expect(ensure(pod('u1'))).rejects.toThrow(
      'failed to create container for [kubepods besteffort podu1] : cgroup ["kubepods" "besteffort" "podu1"] has some missing controllers: pids',
    );
  });

  it('is not removed before its processes are killed', async () => {
    await ensure(pod('u1'));
    enter('/kubepods/besteffort/podu1', 7, 8);
    await destroy(pod('u1'));
    expect(new Set(killed)).toEqual(new Set([7, 8]));
    expect(await cgroups.list()).toEqual([]);
  });

  it('is removed without a look at its processes if nothing uses it', async () => {
    await ensure(pod('u1'));
    let looks = 0;
    hierarchy.processes = () => {
      looks++;
      return [];
    };
    await destroy(pod('u1'));
    expect([looks, await cgroups.list()]).toEqual([0, []]);
  });

  it.each([
    ['is retried while the kernel still counts a process in it', 3, true],
    ['is given up if that does not end', 100, false],
  ])('%s', async (_, busyTries, isGone) => {
    await ensure(pod('u1'));
    keepBusy(busyTries);
    const ended = destroy(pod('u1')).then(
      () => true,
      () => false,
    );
    await clock.advance(60_000);
    expect(await ended).toBe(isGone);
    expect(await cgroups.list()).toEqual(isGone ? [] : ['u1']);
  });

  it.each([
    ['a process that is already gone is not a failure', 'ESRCH', 1],
    ['a process that cannot be killed is tried five times', 'EPERM', 5],
  ])('%s', async (_, code, rounds) => {
    await ensure(pod('u1'));
    enter('/kubepods/besteffort/podu1', 7);
    killError = code;
    const ended = destroy(pod('u1')).catch(String);
    await clock.advance(60_000);
    expect(await ended).toContain(
      code === 'EPERM'
        ? 'failed to kill all the processes attached to the [kubepods besteffort podu1] cgroups : no'
        : 'failed to delete cgroup paths for [kubepods besteffort podu1] : unable to destroy cgroup paths for cgroup [kubepods besteffort podu1] : Failed to remove paths: map[',
    );
    expect(killed).toHaveLength(rounds);
  });

  it('with a process that this PID namespace does not see is left, and nobody is sent a signal', async () => {
    await ensure(pod('u1'));
    enter('/kubepods/besteffort/podu1', 0);
    expect(await destroy(pod('u1')).catch(String)).toBe(
      'Error: failed to kill all the processes attached to the [kubepods besteffort podu1] cgroups : a process of another PID namespace is in it',
    );
    expect(killed).toEqual([]);
    expect(await cgroups.list()).toEqual(['u1']);
  });

  it('of a pod that is gone is removed in the background, one attempt at a time', async () => {
    await ensure(pod('u1', '1'));
    keepBusy(1);
    active = [];
    cgroups.destroyLater('u1');
    cgroups.destroyLater('u1');
    await clock.advance(1_000);
    await cgroups.stop();
    expect(await cgroups.list()).toEqual([]);
    expect(burstableShares()).toBe(2);
  });

  it('reports a failed removal in the background, and retries on request', async () => {
    await ensure(pod('u1'));
    keepBusy(100);
    cgroups.destroyLater('u1');
    await clock.advance(60_000);
    await cgroups.stop();
    expect(messages().join()).toMatch(/could not remove.*; the next pass retries: .*EBUSY/);
    keepBusy(0);
    cgroups.destroyLater('u1');
    await cgroups.stop();
    expect(await cgroups.list()).toEqual([]);
  });

  it('keeps almost no CPU while its volumes exist', async () => {
    await ensure(pod('u1', '1'));
    await cgroups.minimizeCpu('u1');
    expect(shares('/kubepods/burstable/podu1')).toBe(2);
    await cgroups.minimizeCpu('none');
  });
});

describe('a resize', () => {
  const sized = (cpu: string, memory: string): Pod => {
    const amounts = { cpu, memory };
    const containers = [{ name: 'c', resources: { requests: { cpu }, limits: amounts } }];
    return { metadata: { uid: 'u1', name: 'u1', namespace: 'default' }, spec: { containers } };
  };
  const name = '/kubepods/burstable/podu1';
  const mebi = 1024 * 1024;
  const bounds = (): unknown[] => {
    const { cpuShares, quotaMicros, memoryLimitBytes } = hierarchy.read(name);
    return [cpuShares, quotaMicros, memoryLimitBytes / mebi];
  };
  beforeEach(() => ensure(sized('500m', '100Mi')));

  const all = ['memoryLimitBytes', 'quotaMicros', 'cpuShares'] as const;

  it.each<[cpu: string, memory: string, expected: unknown[]]>([
    ['1', '200Mi', [1024, 100_000, 200]],
    ['250m', '50Mi', [256, 25_000, 50]],
    ['1', '50Mi', [1024, 100_000, 50]],
  ])('to %s and %s: every bound moves, and the class with it', async (cpu, memory, expected) => {
    const pod = sized(cpu, memory);
    active = [pod];
    for (const bound of all) await cgroups.bounds.write(pod, bound);
    await cgroups.bounds.moved();
    expect(bounds()).toEqual(expected);
    expect(burstableShares()).toBe(expected[0]);
  });

  it('changes one bound at a time', async () => {
    const pod = sized('1', '200Mi');
    await cgroups.bounds.write(pod, 'memoryLimitBytes');
    expect(bounds()).toEqual([512, 50_000, 200]);
    await cgroups.bounds.write(pod, 'quotaMicros');
    expect(bounds()).toEqual([512, 100_000, 200]);
    await cgroups.bounds.write(pod, 'cpuShares');
    expect(bounds()).toEqual([1024, 100_000, 200]);
  });

  it('tells what is and what should be', () => {
    tree.put(`memory${name}/memory.usage_in_bytes`, String(60 * mebi));
    const pod = sized('1', '200Mi');
    expect(cgroups.bounds.read(pod)).toEqual({
      cpuShares: 512,
      quotaMicros: 50_000,
      periodMicros: 100_000,
      memoryLimitBytes: 100 * mebi,
      memoryUsageBytes: 60 * mebi,
    });
    const wanted = { cpuShares: 1024, periodMicros: 100_000, memoryLimitBytes: 200 * mebi };
    expect(cgroups.bounds.wanted(pod)).toEqual({ ...wanted, quotaMicros: 100_000 });
    cgroups.followExclusiveCpus(({ metadata }) => metadata.uid === 'u1');
    expect(cgroups.bounds.wanted(pod)).toEqual({ ...wanted, quotaMicros: -1 });
  });

  it('takes the quota from a pod whose container has CPUs for itself', async () => {
    cgroups.followExclusiveCpus(() => true);
    await cgroups.bounds.write(sized('1', '100Mi'), 'quotaMicros');
    expect(bounds()).toEqual([512, -1, 100]);
  });
});

describe('the CPU share of Burstable pods', () => {
  it('is the sum of their requests', async () => {
    expect(burstableShares()).toBe(2);
    await ensure(pod('u1', '250m'));
    await ensure(pod('u2', '750m'));
    await ensure(pod('u3'));
    expect(burstableShares()).toBe(1024);
    await destroy(pod('u1', '250m'));
    expect(burstableShares()).toBe(768);
  });

  it('counts pods from before a restart', async () => {
    hierarchy.create('/kubepods/burstable/podold');
    active = [pod('old', '500m')];
    await cgroups.exists(pod('old', '500m'));
    expect(burstableShares()).toBe(512);
  });

  it('counts active pods only', async () => {
    await ensure(pod('u1', '250m'));
    await ensure(pod('u2', '750m'));
    active = [pod('u2', '750m')];
    await cgroups.tiers.update();
    expect(burstableShares()).toBe(768);
  });

  it('is written only when it changes, and with each periodic update', async () => {
    await ensure(pod('u1', '500m'));
    tree.writes.length = 0;
    await cgroups.exists(pod('u1', '500m'));
    await cgroups.tiers.update();
    expect(tree.writes).toEqual([]);
    tree.put('cpu/kubepods/burstable/cpu.shares', '7');
    await cgroups.tiers.restore();
    expect(burstableShares()).toBe(512);
  });

  it('is updated once for all that ask at the same time', async () => {
    tree.writes.length = 0;
    active = [pod('u1', '500m')];
    await Promise.all([cgroups.tiers.update(), cgroups.tiers.update(), cgroups.tiers.update()]);
    expect(tree.writes).toEqual(['cpu/kubepods/burstable/cpu.shares=512']);
  });

  it('that cannot be written does not hold up a pod', async () => {
    tree.refuse = (action, path) => {
      if (action === 'write' && path === 'cpu/kubepods/burstable/cpu.shares') throw kernelError('EIO');
    };
    await ensure(pod('u1', '500m'));
    expect(await cgroups.list()).toEqual(['u1']);
    expect(messages().join()).toContain('could not update the cgroups of the QoS classes: EIO');
    tree.refuse = () => {};
    await cgroups.tiers.update();
    expect(burstableShares()).toBe(512);
  });
});

describe('a cgroup from before a restart', () => {
  const name = '/kubepods/burstable/podu1';
  beforeEach(() => hierarchy.create(name));

  it('without processes gets its values: the run that made it may not have come to that', async () => {
    expect(await cgroups.exists(pod('u1', '500m'))).toBe(true);
    expect(shares(name)).toBe(512);
  });

  it('with processes is left as it is', async () => {
    enter(name, 7);
    tree.put(`cpu${name}/cpu.shares`, '99');
    expect(await cgroups.exists(pod('u1', '500m'))).toBe(true);
    expect(shares(name)).toBe(99);
  });

  it('is looked at once', async () => {
    await cgroups.exists(pod('u1', '500m'));
    tree.put(`cpu${name}/cpu.shares`, '99');
    await cgroups.exists(pod('u1', '500m'));
    expect(shares(name)).toBe(99);
  });
});

describe('the tiers', () => {
  const other = (): PodCgroupManager =>
    new PodCgroupManager({
      clock,
      timeline,
      control: new CgroupfsControl(hierarchy),
      names,
      settings: { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1 },
      kill: () => {},
      tiers: { withheldMemory: { percent: 100, allocatableBytes: 1000 } },
    });

  it('that exist are updated at the start', async () => {
    tree.put('cpu/kubepods/besteffort/cpu.shares', '500');
    tree.put('cpu/kubepods/burstable/cpu.shares', '500');
    const { tiers } = other();
    await tiers.start();
    expect(shares('/kubepods/besteffort')).toBe(2);
    await tiers.update();
    expect(burstableShares()).toBe(2);
  });

  it('need the cgroup of all pods', async () => {
    await hierarchy.remove('/kubepods');
    await expect(other().tiers.start()).rejects.toThrow(
      /^error validating root container \[kubepods\] : cgroup \["kubepods"\] has some missing paths: /,
    );
  });

  it.each([
    ['create', 'Burstable', true],
    ['update', 'BestEffort', false],
  ])('that cannot be made or changed (%s) end the start', async (action, tier, isNew) => {
    if (isNew) await hierarchy.remove('/kubepods/burstable');
    tree.refuse = (_, path) => {
      if (path.includes(isNew ? 'burstable' : 'besteffort')) throw kernelError('EIO');
    };
    await expect(other().tiers.start()).rejects.toThrow(
      `failed to initialize top level QOS containers: failed to ${action} top level ${tier} QOS cgroup : EIO: refused`,
    );
  });

  it('with reserved memory are limited, to no less than what they use', async () => {
    tree.put('memory/kubepods/burstable/memory.usage_in_bytes', '1500');
    let refusals = 1;
    tree.refuse = (action, path, text) => {
      if (action !== 'write' || !path.endsWith('burstable/memory.limit_in_bytes')) return;
      if (Number(text) < 1500 && refusals-- > 0) throw kernelError('EBUSY');
    };
    tree.put('memory/kubepods/burstable/memory.max_usage_in_bytes', '1600');
    await other().tiers.update();
    expect(tree.text('memory/kubepods/burstable/memory.limit_in_bytes')).toBe('1500');
    expect(tree.text('memory/kubepods/besteffort/memory.limit_in_bytes')).toBe('1000');
  });
});
