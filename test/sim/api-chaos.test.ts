/** Anything may happen to the calls of the API, in an order that a seed decides: in the end the API and the node agree, and nothing ran twice. */
import { afterEach, expect, it } from 'vitest';
import type { SimulatedKubeApi } from '../../src/kube-api/index.js';
import type { FaultRule } from '../../src/kube-api/sim/faults.js';
import { resources } from '../../src/kube-client/index.js';
import { ClusterMachine, isReady, type Member, startMember } from './cluster-machine.js';
import { endNodes, minute, second } from './node.js';
import { staticName, staticPod } from './pods.js';
import { seededRandom } from './seeded-random.js';

afterEach(endNodes);

const faults: readonly FaultRule['fault'][] = [
  { kind: 'unreachable' },
  { kind: 'lose-response' },
  { kind: 'lose-response' },
  { kind: 'delay', delayMs: 3000 },
];
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const;
const statics = [staticPod('still')];

class Story {
  readonly on = new ClusterMachine();
  readonly alive = new Set<string>();
  readonly #random: () => number;
  readonly #seed: number;
  /** Pods that ended may have been brought back. */
  isRestored = false;
  #backup:
    | { readonly stored: ReturnType<SimulatedKubeApi['snapshot']>; readonly alive: readonly string[] }
    | undefined;
  readonly #deleted = new Set<string>();
  #made = 0;
  #takeBack: (() => void)[] = [];
  #test: Member | undefined;
  readonly steps: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  get test(): Member {
    if (this.#test === undefined) throw new Error('no kubelet was started');
    return this.#test;
  }

  async start(): Promise<void> {
    this.#test = await startMember({ on: this.on, statics, seed: this.#seed });
  }

  async step(): Promise<void> {
    const { api } = this.on;
    const choice = this.#pick(14);
    switch (choice) {
      case 0:
      case 1:
      case 2: {
        const name = `p${this.#made++}`;
        this.steps.push(`create ${name}`);
        await this.#asUser(() => this.on.create(name, { graceSeconds: 2, sim: { 'stop-delay': '500ms' } }));
        this.alive.add(name);
        break;
      }
      case 3:
      case 4: {
        const name = [...this.alive][this.#pick(this.alive.size)];
        if (name === undefined) break;
        const grace = this.#pick(3) === 0 ? 0 : undefined;
        this.steps.push(`delete ${name} ${grace}`);
        await this.#asUser(() => this.on.delete(name, grace));
        this.alive.delete(name);
        this.#deleted.add(name);
        break;
      }
      case 5:
        this.steps.push('cut');
        api.cutWatches();
        break;
      case 6:
        this.steps.push('compact');
        api.compact();
        break;
      case 7:
        this.steps.push('away');
        api.setReachable(false);
        break;
      case 8:
        this.steps.push('back');
        api.setReachable(true);
        break;
      case 9: {
        this.steps.push('die');
        await this.test.crash();
        await this.start();
        break;
      }
      case 10:
        // A node that its cluster lost is registered by its next kubelet, not by this one.
        if (!this.test.node.entries.some(({ what, because }) => what === 'node.register' && because)) break;
        this.steps.push('backup');
        this.#backup = { stored: api.snapshot(), alive: [...this.alive] };
        break;
      case 11: {
        if (this.#backup === undefined) break;
        this.steps.push('restore');
        api.restore(this.#backup.stored);
        this.alive.clear();
        for (const name of this.#backup.alive) this.alive.add(name);
        this.isRestored = true;
        break;
      }
      default: {
        const fault = faults[this.#pick(faults.length)]!;
        const verb = verbs[this.#pick(verbs.length)]!;
        this.steps.push(`${verb} ${fault.kind}`);
        this.#takeBack.push(api.faults.add({ verb, fault, times: 1 + this.#pick(4) }));
      }
    }
    await this.test.node.advance(this.#pick(4) === 0 ? 0 : this.#pick(8) * 500);
  }

  /** One whose deletion was begun and then forgotten by the API has ended all the same, and says so. */
  mayHaveEnded(name: string): boolean {
    return this.isRestored && this.#deleted.has(name);
  }

  heal(): void {
    for (const takeBack of this.#takeBack.splice(0)) takeBack();
    this.on.api.setReachable(true);
  }

  #pick(count: number): number {
    return Math.floor(this.#random() * count);
  }

  /** Users are on the other side of what goes wrong. */
  async #asUser(work: () => Promise<unknown>): Promise<void> {
    const { faults: around } = this.on.api;
    const wasReachable = around.reachable;
    for (const takeBack of this.#takeBack.splice(0)) takeBack();
    around.setReachable(true);
    await work();
    around.setReachable(wasReachable);
  }
}

it.each(Array.from({ length: 8 }, (_, index) => index + 1))(
  'seed %d',
  async (seed) => {
    const story = new Story(seed);
    await story.start();
    for (let n = 0; n < 40; n++) await story.step();
    story.heal();
    const { on, alive, test } = story;
    await test.node.advance(3 * minute);
    const wanted = [...alive, staticName('still')].sort();
    const { items } = await on.api.list(resources.pods, { namespace: 'default' });
    const describeAll = (): string => `${story.steps.join(', ')}\n${test.node.describe()}`;
    expect(items.map(({ metadata }) => metadata.name).sort(), describeAll()).toEqual(wanted);
    const ready = items.filter(isReady).map(({ metadata }) => metadata.name);
    const ended = items.filter(({ metadata, status }) => {
      return status?.phase === 'Failed' && story.mayHaveEnded(metadata.name);
    });
    expect([...ready, ...ended.map(({ metadata }) => metadata.name)].sort(), describeAll()).toEqual(wanted);
    const running = on.machine.running();
    expect(running.map(({ podName }) => podName).sort(), describeAll()).toEqual(ready.sort());
    for (const { podName, podUid, attempt, id } of running) {
      if (!story.isRestored) expect(attempt, `${podName} was not restarted\n${describeAll()}`).toBe(0);
      const shown = items.find(({ metadata }) => metadata.name === podName);
      expect(shown?.status?.containerStatuses?.[0]?.containerID).toContain(id);
      if (podName !== staticName('still')) expect(shown?.metadata.uid).toBe(podUid);
    }
    const calls = on.api.calls.length;
    await test.node.advance(30 * second);
    // All is said: what is left are beats and the renewal of watches.
    const writes = on.api.calls
      .slice(calls)
      .filter(({ verb, resource }) => resource === 'pods' && verb !== 'watch');
    expect(writes).toEqual([]);
  },
  120_000,
);
