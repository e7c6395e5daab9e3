import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import { ownCgroup } from './own-cgroup.js';
import { ProcessCgroups, type ProcessCgroupsOptions, type ProcessTable } from './process-cgroups.js';
import { kernelError, TestTree } from './test-tree.js';
import { CgroupsV2 } from './v2.js';

describe('ownCgroup', () => {
  it.each<[rule: string, text: string, version: 1 | 2, path: string]>([
    ['version 2', '0::/system.slice/a.service\n', 2, '/system.slice/a.service'],
    ['version 2 beside version 1', '1:cpu:/x\n0::/y\n', 2, '/y'],
    ['version 1', '2:memory:/a\n1:cpu,cpuacct:/a\n', 1, '/a'],
    ['the tree of systemd wins', '9:name=systemd:/s\n2:memory:/a\n1:cpu:/b\n', 1, '/s'],
  ])('%s', (_, text, version, path) => expect(ownCgroup(text, version)).toBe(path));

  it('trees that disagree', () => {
    expect(() => ownCgroup('2:memory:/a\n1:cpu:/b\n', 1)).toThrow(
      'cpu and memory cgroup hierarchy not unified.  cpu: /b, memory: /a',
    );
  });
});

describe('ProcessCgroups', () => {
  let clock: VirtualClock;
  let tree: TestTree;
  let told: TimelineEntry[];
  let own: string;
  let scores: number[];
  let isFirst: boolean;
  let scoreErrors: number;
  let stop: AbortController;
  let running: Promise<unknown>[];
  beforeEach(() => {
    clock = new VirtualClock();
    tree = TestTree.v2();
    told = [];
    own = '/user.slice';
    scores = [];
    isFirst = true;
    scoreErrors = 0;
    stop = new AbortController();
    running = [];
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
    tree.destroy();
  });
  const processes: ProcessTable = {
    ownPid: 77,
    ownCgroups: () => `0::${own}\n`,
    isInFirstPidNamespace: () => isFirst,
    isKernelThread: (pid) => pid < 10,
    setOwnOomScoreAdj: (adj) => {
      scores.push(adj);
      if (scoreErrors-- > 0) throw kernelError('EACCES');
    },
  };
  const open = (change: Partial<ProcessCgroupsOptions>): ProcessCgroups => {
    const timeline = new Timeline({ clock });
    timeline.subscribe((entry) => told.push(entry));
    const hierarchy = new CgroupsV2({ root: tree.root, files: tree, clock, hugePageSizes: [] });
    return new ProcessCgroups({
      clock,
      timeline,
      hierarchy: () => hierarchy,
      processes,
      oomScoreAdj: -999,
      kubeletCgroups: '',
      systemCgroups: '',
      ...change,
    });
  };
  const start = async (change: Partial<ProcessCgroupsOptions>): Promise<void> => {
    const cgroups = open(change);
    for (const run of [cgroups.runOwn(stop.signal), cgroups.runSystem(stop.signal)])
      running.push(run.catch(() => undefined));
    await settle();
  };
  const entered = (): string[] => tree.writes.filter((write) => write.includes('cgroup.procs'));

  it('moves the agent at once, and again only when it left', async () => {
    await start({ kubeletCgroups: '/kubelet' });
    expect(entered()).toEqual(['kubelet/cgroup.procs=77']);
    expect(told.map(({ what, data }) => [what, data])).toEqual([
      ['cgroup.process', { from: '/user.slice', to: '/kubelet', processes: 1 }],
    ]);
    own = '/kubelet';
    await clock.advance(60_000);
    expect(entered()).toHaveLength(1);
    own = '/elsewhere';
    await clock.advance(60_000);
    expect(entered()).toHaveLength(2);
    expect(scores).toEqual([-999, -999, -999]);
  });

  it('moves nothing by the process ids of another namespace', async () => {
    isFirst = false;
    await start({ kubeletCgroups: '/kubelet' });
    expect(entered()).toEqual([]);
  });

  it('without a cgroup of its own only the score is kept, every five minutes', async () => {
    await start({});
    await clock.advance(299_999);
    expect(scores).toHaveLength(1);
    await clock.advance(1);
    expect(scores).toHaveLength(2);
    expect(entered()).toEqual([]);
  });

  it('a refused score is tried twice, and told once', async () => {
    scoreErrors = 4;
    await start({});
    await clock.advance(100);
    expect(scores).toHaveLength(2);
    await clock.advance(300_100);
    expect(scores).toHaveLength(4);
    expect(told.map(({ message }) => message)).toEqual([
      'oomScoreAdj could not be applied to processes: EACCES: refused',
    ]);
  });

  it('moves the processes of the root cgroup, but neither the first nor those of the kernel', async () => {
    tree.put('cgroup.procs', '1\n2\n20\n30\n');
    await start({ systemCgroups: '/system' });
    expect(entered()).toEqual(['system/cgroup.procs=20', 'system/cgroup.procs=30']);
    tree.put('cgroup.procs', '1\n2\n40\n');
    await clock.advance(60_000);
    expect(entered().at(-1)).toBe('system/cgroup.procs=40');
  });

  it('tells a process that cannot be moved after all rounds', async () => {
    tree.put('cgroup.procs', '20\n');
    let tries = 0;
    tree.refuse = (action, path) => {
      if (action !== 'write' || !path.endsWith('cgroup.procs')) return;
      tries += 1;
      throw kernelError('EPERM');
    };
    await start({ systemCgroups: '/system' });
    expect(tries).toBe(11);
    expect(told.map(({ message }) => message)).toEqual([
      'systemCgroups could not be applied to processes: EPERM: refused',
    ]);
  });

  it('a process that ended is none', async () => {
    tree.put('cgroup.procs', '20\n');
    tree.refuse = (action, path) => {
      if (action === 'write' && path.endsWith('cgroup.procs')) throw kernelError('ESRCH');
    };
    await start({ systemCgroups: '/system' });
    expect(told).toEqual([]);
  });

  it('the root cannot be the cgroup of the system', () => {
    expect(() => open({ systemCgroups: '/' })).toThrow('system container cannot be root ("/")');
  });
});
