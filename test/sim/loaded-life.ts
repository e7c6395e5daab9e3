/** Random load, fills and leaks on a node, and what must hold of every eviction meanwhile. */
import { expect } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import type { Timeline, TimelineEntry } from '../../src/timeline/index.js';
import type { Machine } from './machine.js';
import { second } from './node.js';
import { gi, type Look, mi, NodeLoad } from './node-load.js';
import { apiPod } from './pods.js';
import { seededRandom } from './seeded-random.js';

const podCount = 10;
const memoryThreshold = gi;
const diskThreshold = 10 * gi;

/** The configuration under which it lives. */
export const evictionConfig = {
  evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10Gi' },
  evictionPressureTransitionPeriod: 30 * second,
};

/** One pass, the eviction, and the wait until the pod is gone. */
const patienceMs = 45 * second;

interface Wish {
  readonly priority: number;
  readonly memory: number;
  readonly disk: number;
}

/** The node as it is now; another one after each death of the agent. */
export interface LoadedNode {
  /** As the agent knows them. */
  pods(): readonly Pod[];
  readonly timeline: Timeline;
  put(pod: Pod): Promise<void>;
  drop(name: string): Promise<void>;
  /** Those that users want, the failed included. */
  desired(): Promise<readonly Pod[]>;
  describe(): string;
}

export class LoadedLife {
  readonly random: () => number;
  readonly #machine: Machine;
  readonly load: NodeLoad;
  readonly #wishes = new Map<string, Wish>();
  #node: LoadedNode | undefined;
  #made = 0;
  #quietSinceMs: number | undefined;
  #lastEvictions = 0;
  evictions = 0;
  readonly #judgedLooks = new Set<Look>();

  constructor(seed: number, machine: Machine) {
    this.random = seededRandom(seed);
    this.#machine = machine;
    this.load = new NodeLoad(machine);
  }

  get node(): LoadedNode {
    if (this.#node === undefined) throw new Error('no agent has started yet');
    return this.#node;
  }

  /** The agent has started; what it has to do first takes it some time. */
  lives(node: LoadedNode, onEviction: () => void = () => {}): void {
    this.#node = node;
    this.#quietSinceMs = undefined;
    node.timeline.subscribe((entry) => {
      if (entry.what !== 'pod.evicted') return;
      this.#judge(entry);
      onEviction();
    });
  }

  /** Holds at the moment of an eviction that nobody should have gone before, and that the look is judged once. */
  #judge({ pod, data }: TimelineEntry): void {
    this.evictions++;
    const name = pod!.name;
    // Of an eviction the data is always there.
    const { signal } = data as { signal: string };
    const look = this.load.looks.at(-1)!;
    expect(this.#judgedLooks.has(look), 'two evictions for one look').toBe(false);
    this.#judgedLooks.add(look);
    const key = signal === 'memory.available' ? 'memory' : 'disk';
    const short =
      key === 'memory' ? look.memoryAvailable < memoryThreshold : look.diskAvailable < diskThreshold;
    expect(short, `${name} went for ${signal} without need`).toBe(true);
    const rank = (podName: string): readonly number[] => {
      const used = look.pods.get(podName)?.[key];
      const wish = this.#wishes.get(podName)!;
      const excess = (used ?? 0) - wish[key];
      return [used === undefined ? 0 : 1, excess > 0 ? 0 : 1, wish.priority, -excess];
    };
    const chosen = rank(name);
    for (const other of this.node.pods()) {
      const { name: otherName, uid } = other.metadata;
      const isEnding = this.node.timeline
        .ofPod(uid)
        .some(({ what }) => ['pod.evicted', 'pod.terminating', 'pod.finished'].includes(what));
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

  /** Whether the node lacks something that the end of a pod would give back. */
  get couldBeRelieved(): boolean {
    return this.isUnderPressure && this.#machine.running().length > 0;
  }

  async step(): Promise<void> {
    const { node } = this;
    for (const { metadata, status } of node.pods()) {
      if (status?.phase === 'Failed' && this.random() < 0.3) await node.drop(metadata.name);
    }
    let count = (await node.desired()).length;
    for (; count < podCount && this.random() < 0.5; count++) await node.put(this.#newPod());
    for (const [, load] of this.load.pods) {
      const draw = this.random();
      if (draw < 0.25) load.memory = (load.memory ?? 0) + Math.floor(this.random() * 300) * mi;
      else if (draw < 0.35) load.memory = Math.floor((load.memory ?? 0) / 2);
      else if (draw < 0.55) load.disk = (load.disk ?? 0) + Math.floor(this.random() * 4) * gi;
    }
    if (this.random() < 0.05) this.load.systemMemory = gi + Math.floor(this.random() * 2 * gi);
    if (this.random() < 0.05) this.load.systemDisk = (5 + Math.floor(this.random() * 30)) * gi;
  }

  #newPod(): Pod {
    const name = `pod-${this.#made++}`;
    const wish = {
      priority: Math.floor(this.random() * 3),
      memory: (1 + Math.floor(this.random() * 8)) * 128 * mi,
      disk: Math.floor(this.random() * 4) * gi,
    };
    this.#wishes.set(name, wish);
    this.load.pods.set(name, { memory: wish.memory / 2, disk: 0 });
    const requests = { memory: String(wish.memory), 'ephemeral-storage': String(wish.disk) };
    return apiPod(name, {
      containers: [{ name: 'app', image: 'app:1', resources: { requests } }],
      spec: { priority: wish.priority },
      graceSeconds: 5,
    });
  }

  /** A node is not left under pressure while something could be evicted. */
  check(): void {
    const nowMs = this.#machine.time.now();
    if (!this.couldBeRelieved) {
      this.#quietSinceMs = undefined;
      return;
    }
    this.#quietSinceMs ??= nowMs;
    if (this.#lastEvictions !== this.evictions) {
      this.#lastEvictions = this.evictions;
      this.#quietSinceMs = nowMs;
    }
    expect(nowMs - this.#quietSinceMs, this.node.describe()).toBeLessThanOrEqual(patienceMs);
  }
}
