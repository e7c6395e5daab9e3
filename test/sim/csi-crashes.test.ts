/** A kubelet with CSI volumes that dies at any step, or whose machine is started anew there: the next one finishes the work. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import { inlineHandle } from '../../src/volumes/csi/names.js';
import { type CsiDeath, type CsiNode, CsiWorld, claimPod, inlinePod } from './csi-world.js';
import { endNodes, second } from './node.js';

afterEach(endNodes);

type Catastrophe = 'kill -9' | 'reboot';

interface Story {
  readonly pods: (driver: string) => readonly Pod[];
  readonly volumeId: string;
  /** What happens before the kubelet that dies is started; by default nothing. */
  readonly before?: (kubelet: CsiNode, pods: readonly Pod[]) => Promise<void>;
  /** What the kubelet does that dies. */
  readonly during: (kubelet: CsiNode, pods: readonly Pod[]) => Promise<void>;
  /** What the next one is asked; it must come to rest. */
  readonly after: (kubelet: CsiNode, pods: readonly Pod[]) => Promise<void>;
}

async function worldOf({
  pods,
  volumeId,
  before,
}: Story): Promise<{ world: CsiWorld; wanted: readonly Pod[] }> {
  const world = new CsiWorld();
  world.volume('disk');
  await world.driver.volumes.write(volumeId, 'kept', 'kept');
  await world.driver.start();
  const wanted = pods(world.driver.name);
  if (before !== undefined) {
    const first = await world.start();
    await before(first, wanted);
    await first.crash();
  }
  return { world, wanted };
}

/** Lives until the death, if any; returns how many steps there were. */
async function live(
  story: Story,
  world: CsiWorld,
  wanted: readonly Pod[],
  death?: CsiDeath,
): Promise<{ changes: number; calls: number; died: boolean; running: readonly string[] }> {
  const kubelet = await world.start(death);
  const before = kubelet.on.host.calls.length;
  await story.during(kubelet, wanted).catch((error: unknown) => {
    if (!kubelet.hasDied) throw error;
  });
  const died = kubelet.hasDied;
  const running = world.machine.running().map(({ id }) => id);
  await kubelet.crash();
  return { changes: kubelet.on.host.calls.length - before, calls: kubelet.line.calls.length, died, running };
}

/** A kubelet that dies before a change has died after the one before it, or at a call in between. */
function deathsIn({ changes, calls }: { changes: number; calls: number }): CsiDeath[] {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
  return [
    ...numbers(changes).map((change): CsiDeath => ({ kind: 'host', change, when: 'after' })),
    ...numbers(calls).flatMap((call) =>
      [false, true].map((withEffect): CsiDeath => ({ kind: 'call', call, withEffect })),
    ),
  ];
}

/** Returns at how many steps the kubelet died. */
async function atEveryStep(story: Story, catastrophe: Catastrophe): Promise<number> {
  const whole = await worldOf(story);
  const steps = await live(story, whole.world, whole.wanted);
  await endNodes();
  let deaths = 0;
  for (const death of deathsIn(steps)) {
    const { world, wanted } = await worldOf(story);
    try {
      const { died, running } = await live(story, world, wanted, death);
      if (!died) continue;
      deaths++;
      if (catastrophe === 'reboot') await world.reboot();
      const next = await world.start();
      await story.after(next, wanted);
      if (catastrophe === 'kill -9' && next.node.desired().length > 0) {
        expect(
          world.machine.running().map(({ id }) => id),
          'what ran runs on',
        ).toEqual(
          expect.arrayContaining(
            running.filter((id) => world.machine.seenContainers().some((seen) => seen.id === id)),
          ),
        );
      }
      for (const { metadata } of next.node.desired()) await next.end(metadata.name ?? '');
      await next.untilNothingIsLeft();
      expect(await world.driver.volumes.read(story.volumeId, 'kept')).toBe('kept');
    } catch (cause) {
      throw new Error(`${catastrophe} at ${JSON.stringify(death)}`, { cause });
    }
    await endNodes();
  }
  return deaths;
}

const allRun = async (kubelet: CsiNode, pods: readonly Pod[]): Promise<void> => {
  kubelet.node.set(pods);
  for (const { metadata } of pods) await kubelet.untilRuns(metadata.name ?? '', 'kept');
};
const allStart = async (kubelet: CsiNode, pods: readonly Pod[]): Promise<void> => {
  kubelet.node.set(pods);
  await kubelet.node.clock.advance(3 * second);
};
const allEnd = async (kubelet: CsiNode, pods: readonly Pod[]): Promise<void> => {
  kubelet.node.set(pods);
  await kubelet.node.clock.advance(3 * second);
  kubelet.node.set([]);
  await kubelet.node.clock.advance(30 * second);
};
const noneWanted = async (kubelet: CsiNode): Promise<void> => {
  kubelet.node.set([]);
  await kubelet.node.advance(10 * second);
};

const staged = { pods: () => [claimPod('web', 'disk')], volumeId: 'vol-disk' };
const inline = {
  pods: (driver: string) => [inlinePod('web', driver)],
  volumeId: inlineHandle('uid-of-web', 'inline'),
};
const shared = { pods: () => [claimPod('a', 'disk'), claimPod('b', 'disk')], volumeId: 'vol-disk' };

const stories: readonly [string, Story][] = [
  ['the start of a pod with a staged volume', { ...staged, during: allStart, after: allRun }],
  [
    'the start of a pod with a staged volume, which is deleted meanwhile',
    { ...staged, during: allStart, after: noneWanted },
  ],
  ['the end of a pod with a staged volume', { ...staged, before: allRun, during: allEnd, after: noneWanted }],
  [
    'the end of a pod with a staged volume, which is wanted again',
    { ...staged, before: allRun, during: allEnd, after: allRun },
  ],
  ['the start of a pod with an inline volume', { ...inline, during: allStart, after: allRun }],
  [
    'the end of a pod with an inline volume',
    { ...inline, before: allRun, during: allEnd, after: noneWanted },
  ],
  ['the start of two pods with one staged volume', { ...shared, during: allStart, after: allRun }],
  [
    'the end of one of two pods with one staged volume',
    {
      ...shared,
      before: allRun,
      during: async (kubelet, pods) => {
        await allStart(kubelet, pods);
        kubelet.node.drop('a');
        await kubelet.node.clock.advance(30 * second);
      },
      after: (kubelet, pods) => allRun(kubelet, pods.slice(1)),
    },
  ],
  [
    'the end of two pods with one staged volume',
    { ...shared, before: allRun, during: allEnd, after: noneWanted },
  ],
];

describe.each<Catastrophe>(['kill -9', 'reboot'])('%s at any step of', (catastrophe) => {
  it.each(stories)('%s', { timeout: 300_000 }, async (_, story) => {
    expect(await atEveryStep(story, catastrophe)).toBeGreaterThan(10);
  });
});
