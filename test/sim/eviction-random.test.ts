/** Random load, fills and leaks: the node evicts in order, no more than it must, and always recovers. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import { evictionConfig, LoadedLife } from './loaded-life.js';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';

afterEach(endNodes);

const hours = 1;
const stepMs = 10 * second;
const steps = (hours * 60 * minute) / stepMs;

describe('random load', () => {
  it.each([1, 2, 3, 4])(
    'seed %d',
    async (seed) => {
      const machine = new Machine({ seed: String(seed) });
      const life = new LoadedLife(seed, machine);
      const node = await startNode({
        machine,
        seed,
        kubelet: { config: evictionConfig, eviction: { stats: life.load.stats } },
      });
      life.lives({
        pods: () => node.kubelet.pods(),
        timeline: node.kubelet.timeline,
        put: async (pod) => node.put(pod),
        drop: async (name) => node.drop(name),
        desired: async () => node.desired(),
        describe: () => node.describe(),
      });
      for (let at = 0; at < steps; at++) {
        await life.step();
        await node.advance(stepMs);
        life.check();
      }
      expect(life.evictions).toBeGreaterThan(5);
      // Nothing grows any more: it comes to rest, and stays there.
      await node.advance(10 * minute);
      expect(life.couldBeRelieved).toBe(false);
      const rested = life.evictions;
      await node.advance(10 * minute);
      expect(life.evictions).toBe(rested);
    },
    120_000,
  );
});

/** An agent under random load that is killed at random, and often at the moment of an eviction. */
class KilledAgent {
  readonly machine: Machine;
  readonly life: LoadedLife;
  node: Node | undefined;
  kills = 0;
  /** What the API knows: it outlives the agent, and hears of a pod's end only from an agent that lives. */
  readonly known = new Map<string, Pod>();
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.machine = new Machine({ seed: String(seed) });
    this.life = new LoadedLife(seed, this.machine);
  }

  async start(): Promise<void> {
    const { machine, life, known } = this;
    const node = await startNode({
      machine,
      seed: this.#seed++,
      kubelet: { config: evictionConfig, eviction: { stats: life.load.stats } },
    });
    this.node = node;
    node.set([...known.values()]);
    life.lives(
      {
        pods: () => node.kubelet.pods(),
        timeline: node.kubelet.timeline,
        put: async (pod) => {
          known.set(pod.metadata.name, pod);
          node.put(pod);
        },
        drop: async (name) => {
          known.delete(name);
          node.drop(name);
        },
        desired: async () => [...known.values()],
        describe: () => node.describe(),
      },
      // It has decided, and does nothing of it.
      () => life.random() < 0.2 && node.line.cut(),
    );
  }

  /** Runs for a while; an agent that is dead by then, or that has bad luck, is followed by another. */
  async advance(durationMs: number): Promise<void> {
    const node = this.node!;
    for (let leftMs = durationMs; leftMs > 0; leftMs -= second) {
      await node.advance(second);
      if (node.line.isCut) break;
      for (const { metadata, status } of node.kubelet.pods()) {
        const pod = this.known.get(metadata.name);
        if (pod !== undefined && status?.phase === 'Failed')
          this.known.set(metadata.name, { ...pod, status });
      }
    }
    if (!node.line.isCut && this.life.random() >= 0.02) return;
    this.kills++;
    await node.crash();
    await this.start();
  }
}

describe('random load on an agent that is killed', () => {
  it.each([11, 12, 13])(
    'seed %d',
    async (seed) => {
      const agent = new KilledAgent(seed);
      const { life, machine } = agent;
      await agent.start();
      for (let at = 0; at < steps; at++) {
        await life.step();
        await agent.advance(stepMs);
        life.check();
      }
      expect(life.evictions).toBeGreaterThan(5);
      expect(agent.kills).toBeGreaterThan(5);
      const node = agent.node!;
      await node.advance(10 * minute);
      expect(life.couldBeRelieved).toBe(false);
      const rested = life.evictions;
      await node.advance(10 * minute);
      expect(life.evictions).toBe(rested);
      // Nothing runs of a pod that has failed, and every other pod runs once.
      for (const { metadata, status } of node.kubelet.pods()) {
        const isOver = status?.phase === 'Failed';
        if (isOver) expect(status.reason, metadata.name).toBe('Evicted');
        expect(machine.running(metadata.name), metadata.name).toHaveLength(isOver ? 0 : 1);
      }
    },
    240_000,
  );
});
