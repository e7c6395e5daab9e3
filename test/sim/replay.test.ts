/** Records lives of simulated nodes and replays them: the same kubelet takes the same steps, another is told apart. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError, type CriMethodName } from '../../src/cri/index.js';
import {
  type ClusterOptions,
  createClusterKubelet,
} from '../../src/kubelet/cluster/create-cluster-kubelet.js';
import { createKubelet, type KubeletOptions } from '../../src/kubelet/index.js';
import { comparable } from '../../src/replay/differences.js';
import { givenPorts } from '../../src/replay/outside-options.js';
import type { Player } from '../../src/replay/player.js';
import { recordedKubelet, replayedKubelet } from '../../src/replay/recorded-kubelet.js';
import { Recorder } from '../../src/replay/recorder.js';
import { turnsOf } from '../../src/replay/turn-reader.js';
import { filelessPodConfigs } from '../../src/runtime-manager/config/index.js';
import type { TimelineEntry } from '../../src/timeline/index.js';
import { ChurningNode } from './churn.js';
import { Machine } from './machine.js';
import { endNodes, hostFacts, type Node, startNode } from './node.js';
import { apiPod } from './pods.js';
import { seededRandom } from './seeded-random.js';

afterEach(endNodes);

interface Recorded {
  readonly lines: readonly string[];
  readonly node: Node;
  readonly given: KubeletOptions;
}

async function recorded(seed: number, live: (node: Node) => Promise<void>): Promise<Recorded> {
  const lines: string[] = [];
  let given: KubeletOptions | undefined;
  const machine = new Machine({ seed: String(seed) });
  const recorder = new Recorder({ clock: machine.time, write: (line) => lines.push(line) });
  const node = await startNode({
    machine,
    seed,
    events: seed % 2 === 0,
    create: (options) => {
      given = options;
      return recordedKubelet(
        recorder,
        { ...options, timeline: options.timeline!, seed: String(seed) },
        createKubelet,
      );
    },
  });
  await live(node);
  recorder.end();
  return { lines, node, given: given! };
}

async function replayed(
  { lines, given }: Recorded,
  seed: number,
  changed: Partial<KubeletOptions> = {},
): Promise<{ readonly player: Player; readonly entries: readonly TimelineEntry[] }> {
  const { nodeName: name, rootDir, config, startsAtOnce, sources } = given;
  const player = replayedKubelet(
    {
      nodeName: name,
      rootDir,
      ...(config && { config }),
      ...(startsAtOnce && { startsAtOnce }),
      ...(sources && { sources }),
      seed: String(seed),
      ports: givenPorts(given),
      host: hostFacts,
      podConfigs: filelessPodConfigs,
      podDirectories: false,
      node: () => undefined,
      ...changed,
    },
    createKubelet,
  );
  return { player, entries: await playAll(player, lines) };
}

async function playAll(player: Player, lines: readonly string[]): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for await (const turn of turnsOf(lines)) entries.push(...(await player.play(turn)));
  return entries;
}

const faultyCalls = [
  'runPodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'listPodSandbox',
  'containerStatus',
  'pullImage',
] as const satisfies readonly CriMethodName[];

/** Pods come and go while calls fail and containers die. */
async function churn(node: Node, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  for (let step = 0; step < 40; step++) {
    const name = `pod-${below(8)}`;
    switch (below(6)) {
      case 0:
      case 1:
        node.put(apiPod(name, { containers: below(2) === 0 ? ['app'] : ['app', 'other'], graceSeconds: 1 }));
        break;
      case 2:
        node.drop(name);
        break;
      case 3:
        for (const { id } of node.machine.running(name)) node.machine.exitContainer(id, below(3));
        break;
      case 4:
        node.machine.breakEventStreams();
        break;
      default:
        node.machine.faults.add({
          rpc: faultyCalls[below(faultyCalls.length)]!,
          nth: 1 + below(3),
          times: 1 + below(3),
          ...(below(2) === 0
            ? { error: new CriError('Unavailable', 'by chance') }
            : { delayMs: below(5_000) }),
        });
        break;
    }
    await node.advance(below(4_000));
  }
}

describe('a record of a simulated node', () => {
  it.each([1, 2, 3, 4])('is replayed to the same decisions and calls, seed %d', async (seed) => {
    const record = await recorded(seed, (node) => churn(node, seed));
    const { player, entries } = await replayed(record, seed);
    expect(player.differences.kept.slice(0, 5)).toEqual([]);
    expect(entries.map(comparable)).toEqual(record.node.entries.map(comparable));
    expect(entries.length).toBeGreaterThan(100);
  });

  it('shows the first decision that another kubelet takes otherwise', async () => {
    const record = await recorded(1, (node) => churn(node, 1));
    const { player } = await replayed(record, 1, {
      admission: [
        {
          name: 'odd',
          admit: ({ pod }) =>
            pod.metadata.name === 'pod-3'
              ? { admit: false, reason: 'Odd', message: 'no pods with odd numbers' }
              : { admit: true },
        },
      ],
    });
    expect(player.differences.count).toBeGreaterThan(0);
    expect(player.differences.kept[0]).toMatchObject({
      what: 'entry',
      recorded: 'decision pod.admit: pod is admitted',
      now: 'event event.Odd: no pods with odd numbers',
      recordedEntry: { pod: { name: 'pod-3' } },
    });
  });
});

describe('a record of a node of a simulated cluster', () => {
  it('is replayed to the same decisions and calls', async () => {
    const lines: string[] = [];
    let made: readonly [KubeletOptions, ClusterOptions] | undefined;
    const said: TimelineEntry[] = [];
    const life = new ChurningNode((given, cluster) => {
      made = [given, cluster];
      given.timeline?.subscribe((entry) => said.push(entry));
      const recorder = new Recorder({ clock: life.clock, write: (line) => lines.push(line) });
      return recordedKubelet(recorder, { ...given, timeline: given.timeline!, seed: 's' }, (options) =>
        createClusterKubelet(options, cluster),
      );
    });
    await life.start();
    await life.churn(10);
    const whole = [...lines];
    const count = said.length;
    await life.stop();
    const [given, cluster] = made!;
    const { runtime: _, clock: __, timeline: ___, random: ____, ...rest } = given;
    const player = replayedKubelet({ ...rest, seed: 's', ports: givenPorts(given) }, (options) =>
      createClusterKubelet(options, cluster),
    );
    const entries = await playAll(player, whole);
    expect(player.differences.kept.slice(0, 5)).toEqual([]);
    expect(entries.map(comparable)).toEqual(said.slice(0, count).map(comparable));
  });
});
