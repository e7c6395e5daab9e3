import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import type { CgroupHierarchy, CgroupState } from './hierarchy.js';
import { CgroupNames } from './names.js';
import { cgroupRootProblem, NodeCgroups } from './node-cgroups.js';
import { PodCgroupManager } from './pod-cgroups.js';
import type { CgroupValues } from './values.js';

/** Cgroups in memory. Killed processes leave at the next look. */
class FakeHierarchy implements CgroupHierarchy {
  readonly values = new Map<string, CgroupValues>();
  readonly inside = new Map<string, number[]>();
  writes = 0;
  writeError: Error | undefined;
  busyTries = 0;
  usedBytes = 0;

  missing(name: string): string | undefined {
    return this.values.has(name) ? undefined : `missing paths: ${name}`;
  }
  create(name: string): void {
    if (!this.values.has(name)) this.values.set(name, { hugePages: new Map() });
  }
  write(name: string, values: CgroupValues): void {
    if (this.writeError !== undefined) throw this.writeError;
    if (!this.values.has(name)) throw new Error(`there is no ${name}`);
    this.writes++;
    this.values.set(name, { ...this.values.get(name), ...values });
  }
  read(name: string): CgroupState {
    const { cpuShares = 1024, cpuQuota, memoryLimitBytes = -1 } = this.values.get(name) ?? {};
    const quotaMicros = cpuQuota?.quotaMicros ?? -1;
    return { cpuShares, quotaMicros, memoryLimitBytes, memoryUsageBytes: this.usedBytes };
  }
  children(name: string): string[] {
    const below = [...this.values.keys()].filter((one) => one.startsWith(`${name}/`));
    return below.map((one) => one.slice(name.length + 1)).filter((one) => !one.includes('/'));
  }
  processes(name: string): number[] {
    return [...(this.inside.get(name) ?? [])];
  }
  remove(name: string): void {
    if (this.processes(name).length > 0 || (this.values.has(name) && this.busyTries-- > 0))
      throw Object.assign(new Error('busy'), { code: 'EBUSY' });
    this.values.delete(name);
  }
}

let clock: VirtualClock;
let hierarchy: FakeHierarchy;
let timeline: Timeline;
let told: TimelineEntry[];
let killed: number[];
let killError: string | undefined;
let cgroups: PodCgroupManager;
const names = new CgroupNames('/');
beforeEach(() => {
  clock = new VirtualClock();
  hierarchy = new FakeHierarchy();
  timeline = new Timeline({ clock });
  told = [];
  timeline.subscribe((entry) => told.push(entry));
  killed = [];
  killError = undefined;
  cgroups = new PodCgroupManager({
    clock,
    timeline,
    hierarchy,
    names,
    settings: { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1 },
    kill: (pid) => {
      killed.push(pid);
      if (killError !== undefined) throw Object.assign(new Error('no'), { code: killError });
      for (const pids of hierarchy.inside.values()) pids.splice(pids.indexOf(pid), 1);
    },
  });
  cgroups.keepParents();
});

const pod = (uid: string, cpu?: string): Pod => ({
  metadata: { uid, name: uid, namespace: 'default' },
  spec: { containers: [{ name: 'c', ...(cpu === undefined ? {} : { resources: { requests: { cpu } } }) }] },
});
const burstableShares = (): number | undefined => hierarchy.values.get('/kubepods/burstable')?.cpuShares;
const messages = (): string[] => told.map(({ message }) => message ?? '');

describe('the cgroup of a pod', () => {
  it('is created with its values, listed, and removed', async () => {
    const one = pod('u1', '250m');
    expect(await cgroups.exists(one)).toBe(false);
    await cgroups.ensure(one);
    expect(await cgroups.exists(one)).toBe(true);
    expect(hierarchy.values.get('/kubepods/burstable/podu1')).toMatchObject({ cpuShares: 256 });
    expect(cgroups.parentOf(one)).toBe('/kubepods/burstable/podu1');
    expect(await cgroups.list()).toEqual(['u1']);
    await cgroups.destroy(one);
    expect(await cgroups.list()).toEqual([]);
    await cgroups.destroy(one);
  });

  it("is listed at once after this agent's changes, and within ten seconds after others'", async () => {
    expect(await cgroups.list()).toEqual([]);
    hierarchy.create('/kubepods/podother');
    await clock.advance(9_999);
    expect(await cgroups.list()).toEqual([]);
    await clock.advance(1);
    expect(await cgroups.list()).toEqual(['other']);
    await cgroups.ensure(pod('u1'));
    expect(await cgroups.list()).toEqual(['other', 'u1']);
  });

  it('exists even if its values could not be written', async () => {
    hierarchy.writeError = new Error('not this one');
    await cgroups.ensure(pod('u1'));
    expect(await cgroups.list()).toEqual(['u1']);
    expect(messages().join()).toMatch(/could not set the pod's limits.*not this one/);
  });

  it('is refused if only part of it can be created', async () => {
    hierarchy.missing = (name) => (name.includes('podu1') ? 'missing controllers: pids' : undefined);
    await expect(cgroups.ensure(pod('u1'))).rejects.toThrow(
      'the cgroup /kubepods/besteffort/podu1 has some missing controllers: pids',
    );
  });

  it('is not removed before its processes are killed', async () => {
    await cgroups.ensure(pod('u1'));
    hierarchy.inside.set('/kubepods/besteffort/podu1', [7, 8]);
    await cgroups.destroy(pod('u1'));
    expect(new Set(killed)).toEqual(new Set([7, 8]));
    expect(await cgroups.list()).toEqual([]);
  });

  it.each([
    ['is retried while the kernel still counts a process in it', 3, true],
    ['is given up if that does not end', 100, false],
  ])('%s', async (_, busyTries, isGone) => {
    await cgroups.ensure(pod('u1'));
    hierarchy.busyTries = busyTries;
    const ended = cgroups.destroy(pod('u1')).then(
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
    await cgroups.ensure(pod('u1'));
    hierarchy.inside.set('/kubepods/besteffort/podu1', [7]);
    killError = code;
    const ended = cgroups.destroy(pod('u1')).catch(String);
    await clock.advance(60_000);
    expect(await ended).toMatch(code === 'EPERM' ? /failed to kill all the processes/ : /stays busy/);
    expect(killed).toHaveLength(rounds);
  });

  it('of a pod that is gone is removed in the background, one attempt at a time', async () => {
    await cgroups.ensure(pod('u1', '1'));
    hierarchy.busyTries = 1;
    cgroups.destroyLater('u1');
    cgroups.destroyLater('u1');
    await clock.advance(1_000);
    await cgroups.stop();
    expect(await cgroups.list()).toEqual([]);
    expect(burstableShares()).toBe(2);
  });

  it('reports a failed removal in the background, and retries on request', async () => {
    await cgroups.ensure(pod('u1'));
    hierarchy.busyTries = 100;
    cgroups.destroyLater('u1');
    await clock.advance(60_000);
    await cgroups.stop();
    expect(messages().join()).toMatch(/could not remove.*; the next pass retries: .*stays busy/);
    hierarchy.busyTries = 0;
    cgroups.destroyLater('u1');
    await cgroups.stop();
    expect(await cgroups.list()).toEqual([]);
  });

  it('keeps almost no CPU while its volumes exist', async () => {
    await cgroups.ensure(pod('u1', '1'));
    await cgroups.minimizeCpu('u1');
    expect(hierarchy.values.get('/kubepods/burstable/podu1')).toMatchObject({ cpuShares: 2 });
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
  beforeEach(() => cgroups.ensure(sized('500m', '100Mi')));

  it.each<[cpu: string, memory: string, up: unknown[], down: unknown[]]>([
    ['1', '200Mi', [1024, 100_000, 200], [1024, 100_000, 200]],
    ['250m', '50Mi', [512, 50_000, 100], [256, 25_000, 50]],
    ['1', '50Mi', [1024, 100_000, 100], [1024, 100_000, 50]],
  ])('to %s and %s: growing limits first, shrinking limits last', (cpu, memory, up, down) => {
    const pod = sized(cpu, memory);
    for (const resource of ['memory', 'cpu'] as const) cgroups.resize(pod, resource, 'up');
    expect(bounds()).toEqual(up);
    for (const resource of ['memory', 'cpu'] as const) cgroups.resize(pod, resource, 'down');
    expect(bounds()).toEqual(down);
    expect(burstableShares()).toBe(down[0]);
  });

  it('changes one resource at a time', () => {
    cgroups.resize(sized('1', '200Mi'), 'memory', 'up');
    expect(bounds()).toEqual([512, 50_000, 200]);
  });

  it('of memory below its usage is a problem', () => {
    hierarchy.usedBytes = 60 * mebi;
    expect(cgroups.memoryProblem(sized('1', '61Mi'))).toBeUndefined();
    expect(cgroups.memoryProblem(sized('1', '60Mi'))).toBe(
      `attempting to set pod memory limit (${60 * mebi}) below current usage (${60 * mebi})`,
    );
    hierarchy.usedBytes = 300 * mebi;
    expect(cgroups.memoryProblem(sized('1', '200Mi'))).toBeUndefined();
  });
});

describe('the CPU share of Burstable pods', () => {
  it('is the sum of their requests', async () => {
    expect(burstableShares()).toBe(2);
    await cgroups.ensure(pod('u1', '250m'));
    await cgroups.ensure(pod('u2', '750m'));
    await cgroups.ensure(pod('u3'));
    expect(burstableShares()).toBe(1024);
    await cgroups.destroy(pod('u1', '250m'));
    expect(burstableShares()).toBe(768);
  });

  it('counts pods from before a restart', async () => {
    hierarchy.create('/kubepods/burstable/podold');
    await cgroups.exists(pod('old', '500m'));
    expect(burstableShares()).toBe(512);
  });

  it('is written only when it changes, and with each periodic update', async () => {
    await cgroups.ensure(pod('u1', '500m'));
    const before = hierarchy.writes;
    await cgroups.exists(pod('u1', '500m'));
    expect(hierarchy.writes).toBe(before);
    hierarchy.values.delete('/kubepods/burstable');
    cgroups.keepParents();
    expect(burstableShares()).toBe(512);
  });
});

describe('NodeCgroups', () => {
  const limits = { milliCpu: 3700, memoryBytes: 7_516_192_768, pids: 1000 };
  const node = (enforces: boolean): NodeCgroups =>
    new NodeCgroups({ clock, timeline, hierarchy, names, limits, enforces, nodeName: 'n1', pods: cgroups });
  const events = (): (string | undefined)[] => told.map(({ event }) => event?.reason);

  it('limits all pods together, and reports it if asked to', () => {
    node(false).prepare();
    expect(hierarchy.values.get('/kubepods')).toEqual({
      cpuShares: 3788,
      memoryLimitBytes: 7_516_192_768,
      pidsLimit: 1000,
      hugePages: 'unlimited',
    });
    expect(events()).not.toContain('NodeAllocatableEnforced');
    node(true).prepare();
    expect(events()).toContain('NodeAllocatableEnforced');
  });

  it('retries every minute until it succeeds, and maintains the cgroups', async () => {
    const one = node(true);
    const stop = new AbortController();
    hierarchy.create('/kubepods');
    const write = hierarchy.write.bind(hierarchy);
    hierarchy.write = (name, values) => {
      if (name === '/kubepods') throw new Error('not now');
      write(name, values);
    };
    one.prepare();
    expect(events()).toContain('FailedNodeAllocatableEnforcement');
    hierarchy.write = write;
    const running = one.run(stop.signal).catch(() => undefined);
    hierarchy.values.delete('/kubepods/besteffort');
    await clock.advance(60_000);
    expect(events()).toContain('NodeAllocatableEnforced');
    expect(hierarchy.values.has('/kubepods/besteffort')).toBe(true);
    hierarchy.values.delete('/kubepods');
    await clock.advance(60_000);
    expect(hierarchy.values.get('/kubepods')).toMatchObject({ memoryLimitBytes: 7_516_192_768 });
    expect(events().filter((reason) => reason === 'NodeAllocatableEnforced')).toHaveLength(1);
    stop.abort();
    await running;
  });

  it.each([
    ['/', undefined],
    ['/kubepods', undefined],
    ['/none/b', /^invalid configuration: cgroup \["none","b"\] has some missing paths: .* set cgroupRoot/],
  ])('the root %s', (root, problem) => {
    const found = cgroupRootProblem(hierarchy, root);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });
});
