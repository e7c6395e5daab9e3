/** A kubelet that dies at any call, and the next one: what runs goes on, what was begun is finished, nothing runs twice. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import { expectRunning, expectUntouched, Machine, type SeenContainer } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { apiPod } from './pods.js';
import type { Cut, RuntimeLine } from './runtime-line.js';

afterEach(endNodes);

const sidecar = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
const pods: readonly Pod[] = [
  apiPod('plain', { containers: ['app', 'other'] }),
  apiPod('prepared', { init: ['setup', sidecar], sim: { 'setup.run-time': '1s' } }),
  apiPod('job', { spec: { restartPolicy: 'Never' }, sim: { 'run-time': '1h' } }),
];

const allReady = (node: Node, wanted: readonly Pod[]): boolean =>
  wanted.every(({ metadata }) => node.isReady(metadata.name!));

async function untilAllReady(node: Node, wanted: readonly Pod[]): Promise<void> {
  await node.until('all pods are ready', () => allReady(node, wanted), minute);
}

/** The calls at which a kubelet is made to die: all that change something, before and after, and some that only look. */
function cuts({ calls, changes }: RuntimeLine): Cut[] {
  const changing = new Set(changes);
  return calls.flatMap((call, index): Cut[] => {
    const at = { call: index + 1, withEffect: index % 2 === 0 };
    if (changing.has(call)) return [at, { ...at, withEffect: !at.withEffect }];
    return index % 5 === 0 ? [at] : [];
  });
}

/** Runs a kubelet through a story in which it may die, and ends it. */
async function dieIn(
  story: (first: Node) => Promise<void>,
  machine: Machine,
  cut?: Cut,
): Promise<{ readonly line: RuntimeLine; readonly atDeath: SeenContainer[] }> {
  const first = await startNode({ machine, ...(cut === undefined ? {} : { cut }) });
  await story(first);
  const atDeath = machine.running();
  await first.crash();
  return { line: first.line, atDeath };
}

/** Says in a failure at which call the kubelet died. */
async function named(cut: Cut, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new Error(`it died at call ${cut.call}, ${cut.withEffect ? 'after' : 'before'} its effect`, {
      cause,
    });
  }
}

describe('a kubelet that dies while it starts pods', () => {
  const story = async (first: Node): Promise<void> => {
    first.set(pods);
    await first.clock.advance(3 * second);
  };

  it('at any call', async () => {
    const { line } = await dieIn(story, new Machine());
    await endNodes();
    const all = cuts(line);
    expect(all.length).toBeGreaterThan(30);
    for (const cut of all) {
      const machine = new Machine();
      const { atDeath } = await dieIn(story, machine, cut);
      const node = await startNode({ machine });
      node.set(pods);
      await named(cut, async () => {
        await untilAllReady(node, pods);
        expectRunning(machine, pods);
        const regular = atDeath.filter(({ name }) => name !== 'setup');
        expectUntouched(machine, regular);
        // A container that was created but not started is an attempt of its own.
        expect(machine.running().every(({ attempt }) => attempt <= 1)).toBe(true);
        expect(machine.ready().every(({ attempt }) => attempt === 0)).toBe(true);
        expect(machine.seenSandboxes()).toHaveLength(pods.length);
        await endNodes();
      });
    }
  }, 60_000);
});

describe('a kubelet that dies while it stops and replaces pods', () => {
  const edited = apiPod('plain', { containers: [{ name: 'app', image: 'app:2' }, 'other'] });
  const after: readonly Pod[] = [edited, apiPod('new')];

  async function prepared(machine: Machine): Promise<void> {
    const node = await startNode({ machine });
    node.set(pods);
    await untilAllReady(node, pods);
    await node.stop();
  }

  const story = async (first: Node): Promise<void> => {
    first.set(pods);
    await first.clock.advance(second);
    first.set(after);
    await first.clock.advance(5 * second);
  };

  it('at any call', async () => {
    const baseline = new Machine();
    await prepared(baseline);
    const { line } = await dieIn(story, baseline);
    await endNodes();
    const all = cuts(line);
    expect(all.length).toBeGreaterThan(30);
    for (const [round, cut] of all.entries()) {
      const machine = new Machine();
      await prepared(machine);
      const other = machine.running('plain').filter(({ name }) => name === 'other');
      await dieIn(story, machine, cut);
      const node = await startNode({ machine });
      node.set(after);
      await named(cut, async () => {
        await untilAllReady(node, after);
        await node.untilStopped('prepared', minute);
        await node.untilStopped('job', minute);
        const isEdited = (): boolean => machine.running('plain').some(({ image }) => image === 'app:2');
        await node.until('the edited one runs', isEdited);
        expectRunning(machine, after);
        expectUntouched(machine, other);
        expect(machine.ready().every(({ attempt }) => attempt === 0)).toBe(true);
        if (round % 8 === 0) {
          await node.advance(2 * minute);
          expect(machine.seenSandboxes()).toHaveLength(after.length);
        }
        await endNodes();
      });
    }
  }, 60_000);
});
