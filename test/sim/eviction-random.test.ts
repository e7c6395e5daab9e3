/** Random load, fills and leaks: the node evicts in order, no more than it must, and always recovers. */
import { afterEach, describe, expect, it } from 'vitest';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { gi, type Look, mi, NodeLoad } from './node-load.js';
import { apiPod } from './pods.js';
import { seededRandom } from './seeded-random.js';

afterEach(endNodes);

const hours = 1;
const podCount = 10;
const memoryThreshold = gi;
const diskThreshold = 10 * gi;
/** One pass, the eviction, and the wait until the pod is gone. */
const patienceMs = 45 * second;

interface Wish {
  readonly priority: number;
  readonly memory: number;
  readonly disk: number;
}

class LoadedLife {
  readonly #random: () => number;
  readonly #machine: Machine;
  readonly load: NodeLoad;
  readonly wishes = new Map<string, Wish>();
  node: Node | undefined;
  #made = 0;
  #underPressureSinceMs: number | undefined;
  evictions = 0;
  #judgedLooks = new Set<Look>();

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#machine = new Machine({ seed: String(seed) });
    this.load = new NodeLoad(this.#machine);
  }

  async start(seed: number): Promise<void> {
    this.node = await startNode({
      machine: this.#machine,
      seed,
      kubelet: {
        config: {
          evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10Gi' },
          evictionPressureTransitionPeriod: 30 * second,
        },
        eviction: { stats: this.load.stats },
      },
    });
    this.node.kubelet.timeline.subscribe(({ what, pod, data }) => {
      if (what !== 'pod.evicted' || pod === undefined) return;
      // Of an eviction the data is always there.
      this.#judge(pod.name, (data as { signal: string }).signal);
    });
  }

  /** Holds at the moment of an eviction that nobody should have gone before, and that the look is judged once. */
  #judge(name: string, signal: string): void {
    this.evictions++;
    const look = this.load.looks.at(-1)!;
    expect(this.#judgedLooks.has(look), 'two evictions for one look').toBe(false);
    this.#judgedLooks.add(look);
    const isMemory = signal === 'memory.available';
    const key = isMemory ? 'memory' : 'disk';
    const rank = (podName: string): readonly number[] => {
      const used = look.pods.get(podName)?.[key];
      const wish = this.wishes.get(podName)!;
      const excess = (used ?? 0) - wish[key];
      return [used === undefined ? 0 : 1, excess > 0 ? 0 : 1, wish.priority, -excess];
    };
    const chosen = rank(name);
    for (const other of this.node!.kubelet.pods()) {
      const { name: otherName, uid } = other.metadata;
      const isEnding = this.node!.kubelet.timeline.ofPod(uid).some(({ what }) =>
        ['pod.evicted', 'pod.terminating', 'pod.finished'].includes(what),
      );
      if (otherName === name || isEnding || other.status?.phase === 'Failed') continue;
      const theirs = rank(otherName);
      const index = chosen.findIndex((value, at) => value !== theirs[at]);
      const isInOrder = index < 0 || chosen[index]! < theirs[index]!;
      expect(isInOrder, `${name} ${chosen} went before ${otherName} ${theirs} for ${signal}`).toBe(true);
    }
  }

  get isUnderPressure(): boolean {
    return this.load.memoryAvailable < memoryThreshold || this.load.diskAvailable < diskThreshold;
  }

  step(): void {
    const node = this.node!;
    for (const { metadata, status } of node.kubelet.pods()) {
      if (status?.phase === 'Failed' && this.#random() < 0.3) node.drop(metadata.name);
    }
    while (node.desired().length < podCount && this.#random() < 0.5) this.#addPod(node);
    for (const [, load] of this.load.pods) {
      const draw = this.#random();
      if (draw < 0.25) load.memory = (load.memory ?? 0) + Math.floor(this.#random() * 300) * mi;
      else if (draw < 0.35) load.memory = Math.floor((load.memory ?? 0) / 2);
      else if (draw < 0.55) load.disk = (load.disk ?? 0) + Math.floor(this.#random() * 4) * gi;
    }
    if (this.#random() < 0.05) this.load.systemMemory = gi + Math.floor(this.#random() * 2 * gi);
    if (this.#random() < 0.05) this.load.systemDisk = (5 + Math.floor(this.#random() * 30)) * gi;
  }

  #addPod(node: Node): void {
    const name = `pod-${this.#made++}`;
    const wish = {
      priority: Math.floor(this.#random() * 3),
      memory: (1 + Math.floor(this.#random() * 8)) * 128 * mi,
      disk: Math.floor(this.#random() * 4) * gi,
    };
    this.wishes.set(name, wish);
    this.load.pods.set(name, { memory: wish.memory / 2, disk: 0 });
    const requests = { memory: String(wish.memory), 'ephemeral-storage': String(wish.disk) };
    node.put(
      apiPod(name, {
        containers: [{ name: 'app', image: 'app:1', resources: { requests } }],
        spec: { priority: wish.priority },
        graceSeconds: 5,
      }),
    );
  }

  /** A node is not left under pressure while something could be evicted. */
  check(): void {
    const nowMs = this.#machine.time.now();
    const before = this.evictions;
    if (!this.isUnderPressure || this.#machine.running().length === 0) {
      this.#underPressureSinceMs = undefined;
      return;
    }
    this.#underPressureSinceMs ??= nowMs;
    if (this.#lastEvictions !== before) {
      this.#lastEvictions = before;
      this.#underPressureSinceMs = nowMs;
    }
    expect(nowMs - this.#underPressureSinceMs, this.node!.describe()).toBeLessThanOrEqual(patienceMs);
  }
  #lastEvictions = 0;
}

describe('random load', () => {
  it.each([1, 2, 3, 4])(
    'seed %d',
    async (seed) => {
      const life = new LoadedLife(seed);
      await life.start(seed);
      const steps = (hours * 60 * minute) / (10 * second);
      for (let at = 0; at < steps; at++) {
        life.step();
        await life.node!.advance(10 * second);
        life.check();
      }
      expect(life.evictions).toBeGreaterThan(5);
      // Nothing grows any more: it comes to rest, and stays there.
      await life.node!.advance(10 * minute);
      expect(life.isUnderPressure && life.node!.machine.running().length > 0).toBe(false);
      const rested = life.evictions;
      await life.node!.advance(10 * minute);
      expect(life.evictions).toBe(rested);
    },
    120_000,
  );
});
