/** What a scrape of `/metrics/cadvisor` costs a pod, whether that grows with their number, and what statistics cost when nobody asks. */
import { VirtualClock } from '../src/async/index.js';
import {
  Container,
  ContainerState,
  ListContainersResponse,
  ListPodSandboxResponse,
  PodSandbox,
  PodSandboxState,
} from '../src/cri/index.js';
import { cadvisorScrape } from '../src/resources/stats/cadvisor-scrape.js';
import { CgroupSampler, readMachineShape } from '../src/resources/stats/index.js';
import { TestCgroups } from '../src/resources/stats/test-cgroup-tree.js';
import { atMost, type Bench, type Measure, medianOf, roundsOf } from './measure.js';

const few = 50;
const many = 250;
const ratedRounds = 7;
/** Each sample reads so many pods, in as many scrapes as that takes. */
const podsPerSample = 500;
const minuteMs = 60_000;

export const stats: Bench = {
  name: 'stats',
  summary: `a scrape of ${many} pods against ${few}, and a minute without one`,
  async run({ options }) {
    const nodes = [openNode(few), openNode(many)] as const;
    try {
      return await measure(nodes, roundsOf(options, ratedRounds));
    } finally {
      for (const { tree } of nodes) tree.destroy();
    }
  },
};

interface ScrapedNode {
  readonly count: number;
  readonly tree: TestCgroups;
  readonly clock: VirtualClock;
  readonly scrape: () => Promise<{ readonly parts: Iterable<string>; readonly error?: unknown }>;
}

const idOf = (kind: string, at: number): string => `${kind}${String(at).padStart(8, '0')}`.padEnd(64, '0');

/** A tree of pods with a sandbox and a container each, which have a process each. */
function openNode(count: number): ScrapedNode {
  const tree = new TestCgroups();
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const sandboxes: PodSandbox[] = [];
  const containers: Container[] = [];
  for (let at = 0; at < count; at++) {
    const [sandbox, container, uid] = [idOf('a', at), idOf('b', at), `uid-${at}`];
    const pod = `kubepods/burstable/pod${uid}`;
    tree.add(pod);
    tree.add(`${pod}/${sandbox}`, { 'cgroup.procs': `${2 * at + 1000}\n` });
    tree.add(`${pod}/${container}`, { 'cgroup.procs': `${2 * at + 1001}\n` });
    tree.addProcess(2 * at + 1000);
    tree.addProcess(2 * at + 1001);
    sandboxes.push(
      PodSandbox.create({
        id: sandbox,
        metadata: { name: `pod-${at}`, namespace: 'default', uid },
        state: PodSandboxState.SANDBOX_READY,
      }),
    );
    containers.push(
      Container.create({
        id: container,
        podSandboxId: sandbox,
        metadata: { name: 'app' },
        image: { image: 'registry/app:1' },
        state: ContainerState.CONTAINER_RUNNING,
      }),
    );
  }
  tree.add('kubepods');
  tree.add('kubepods/burstable');
  const { files, procRoot, cgroupRoot } = tree;
  const machine = readMachineShape(files);
  tree.reads.length = 0;
  return {
    count,
    tree,
    clock,
    scrape: cadvisorScrape({
      cri: {
        listPodSandbox: async () => ListPodSandboxResponse.create({ items: sandboxes }),
        listContainers: async () => ListContainersResponse.create({ containers }),
      },
      clock,
      cgroups: new CgroupSampler({ clock, files, procRoot, cgroupRoot }),
      systemCgroups: async () => [{ name: 'pods', cgroup: '/kubepods' }],
      podCgroups: () => (uid) => `/kubepods/burstable/pod${uid}`,
      fileSystems: async () => [],
      disks: () => new Map(),
      machine: () => machine,
      version: 'bench',
      oomKills: { of: () => 0, keep: () => {} },
      measured: () => Promise.reject(new Error('every container has a cgroup')),
    }),
  };
}

async function measure(
  [small, large]: readonly [ScrapedNode, ScrapedNode],
  rounds: number,
): Promise<Measure[]> {
  // Before the first scrape, and after one: nobody asks.
  const before = await readsOfMinute(large);
  await scrapeOnce(large);
  const idleReads = before + (await readsOfMinute(large));
  await scrapeOnce(small);
  const us = { small: [] as number[], large: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    us.small.push(await costOf(small));
    us.large.push(await costOf(large));
  }
  const text = await scrapeOnce(large);
  return [
    {
      name: `CPU of a scrape per pod: ${many} pods / ${few} pods`,
      unit: 'ratio',
      // The least of each: what disturbs a sample makes it dearer, and never cheaper.
      value: Math.min(...us.large) / Math.min(...us.small),
      samples: us.large.map((cost, round) => cost / (us.small[round] ?? Number.NaN)),
      target: atMost(1.3),
    },
    { name: 'files read in a minute without a scrape', unit: 'count', value: idleReads, target: atMost(0) },
    medianOf(`CPU of a scrape per pod, ${few} pods`, 'µs', us.small),
    medianOf(`CPU of a scrape per pod, ${many} pods`, 'µs', us.large),
    { name: 'files read by a scrape per pod', unit: 'count', value: (await readsOfScrape(large)) / many },
    { name: 'text of a scrape per pod', unit: 'kB', value: text / many / 1000 },
  ];
}

async function scrapeOnce({ scrape, clock, tree }: ScrapedNode): Promise<number> {
  // What was read a moment ago would be shared.
  await clock.advance(2_000);
  const { parts, error } = await scrape();
  // As they are sent: one after another.
  let length = 0;
  for (const part of parts) length += Buffer.from(part).length;
  tree.reads.length = 0;
  if (error !== undefined) throw error;
  return length;
}

/** Microseconds of CPU per pod. */
async function costOf(node: ScrapedNode): Promise<number> {
  const before = process.cpuUsage();
  for (let read = 0; read < podsPerSample; read += node.count) await scrapeOnce(node);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / podsPerSample;
}

async function readsOfMinute({ clock, tree }: ScrapedNode): Promise<number> {
  tree.reads.length = 0;
  await clock.advance(minuteMs);
  return tree.reads.length;
}

async function readsOfScrape({ clock, tree, scrape }: ScrapedNode): Promise<number> {
  await clock.advance(2_000);
  tree.reads.length = 0;
  await scrape();
  return tree.reads.length;
}
