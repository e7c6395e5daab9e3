/** An agent that dies at any point while it makes cgroups: the next start completes them. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { type CgroupControl, CgroupfsControl } from './control.js';
import { NodeCgroups } from './node-cgroups.js';
import { PodCgroupManager } from './pod-cgroups.js';
import { CgroupNames } from './pod-names.js';
import { SystemdControl } from './systemd-control.js';
import { TestSystemd } from './test-systemd.js';
import { TestTree } from './test-tree.js';
import { CgroupsV1 } from './v1.js';
import { CgroupsV2 } from './v2.js';

const amounts = { cpu: '500m', memory: '64Mi' };
const pod: Pod = {
  metadata: { uid: 'u1', name: 'a', namespace: 'default' },
  spec: { containers: [{ name: 'c', resources: { requests: amounts, limits: amounts } }] },
};
const limits = { milliCpu: 2000, memoryBytes: 1 << 30, pids: 1000, hugePages: new Map<string, number>() };
const clock = new VirtualClock();
const trees = {
  v1: () => TestTree.v1(['cpu', 'cpuset', 'memory']),
  v2: () => TestTree.v2(['cpu', 'cpuset', 'memory']),
};

interface Machine {
  readonly tree: TestTree;
  readonly control: CgroupControl;
}

function machine(version: 'v1' | 'v2', driver: 'cgroupfs' | 'systemd'): Machine {
  const tree = trees[version]();
  const shared = { files: tree, clock, hugePageSizes: ['2MB'] };
  const hierarchy =
    version === 'v2'
      ? new CgroupsV2({ root: tree.root, ...shared })
      : new CgroupsV1({ mounts: tree.mounts, ...shared });
  const control =
    driver === 'systemd'
      ? new SystemdControl(hierarchy, new TestSystemd(tree))
      : new CgroupfsControl(hierarchy);
  return { tree, control };
}

/** One life of an agent, up to a pod that may start its containers. */
async function live({ control }: Machine): Promise<void> {
  const names = new CgroupNames('/');
  const timeline = new Timeline({ clock });
  const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: 50 };
  const pods = new PodCgroupManager({ clock, timeline, control, names, settings, kill: () => {} });
  pods.follow(() => [pod]);
  const node = new NodeCgroups({
    clock,
    timeline,
    control,
    names,
    pods,
    limits,
    nodeName: 'n1',
    cpus: '0-1',
    hasMemoryQos: false,
  });
  await node.prepare();
  const stop = new AbortController();
  const running = node.run(stop.signal).catch(() => undefined);
  if (!(await pods.exists(pod))) await pods.ensure(pod);
  stop.abort();
  await running;
}

/** Every file of the tree with its content. */
const contentOf = ({ tree }: Machine): string => {
  const files: string[] = [];
  const walk = (path: string): void => {
    for (const name of tree.filesIn(path)) files.push(`${path}/${name}=${tree.text(`${path}/${name}`)}`);
    for (const name of [...tree.directoriesIn(`${tree.root}/${path}`)].sort()) walk(`${path}/${name}`);
  };
  walk('.');
  return files.join('\n');
};

/** Death, which no handler of errors survives: from the nth change on, nothing changes any more. */
const dieAt = ({ tree }: Machine, step: number): { readonly isDead: () => boolean } => {
  let steps = 0;
  tree.refuse = () => {
    if (++steps > step) throw new Error('the agent is dead');
  };
  return { isDead: () => steps > step };
};

it.each([
  ['v1', 'cgroupfs'],
  ['v2', 'cgroupfs'],
  ['v1', 'systemd'],
  ['v2', 'systemd'],
] as const)('%s with %s', async (version, driver) => {
  const whole = machine(version, driver);
  await live(whole);
  const expected = contentOf(whole);
  whole.tree.destroy();
  for (let step = 0; ; step++) {
    const one = machine(version, driver);
    const { isDead } = dieAt(one, step);
    await live(one).catch(() => undefined);
    const died = isDead();
    one.tree.refuse = () => {};
    await live(one);
    expect(contentOf(one), `after a death at change ${step}`).toBe(expected);
    one.tree.destroy();
    if (!died) break;
  }
});
