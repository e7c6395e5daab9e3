/** Random lives of a node: pods that come, change and go under faults; in the end exactly what is configured runs. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError, type CriMethodName } from '../../src/cri/index.js';
import type { Pod } from '../../src/kube/index.js';
import { isRunning, Machine } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { apiPod, type PodShape, staticPod } from './pods.js';
import { seededRandom } from './seeded-random.js';

afterEach(endNodes);

const podCount = 20;
const staticCount = 4;
const steps = 120;
const faultyCalls: readonly CriMethodName[] = [
  'runPodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'stopPodSandbox',
  'removeContainer',
  'listPodSandbox',
  'listContainers',
  'containerStatus',
  'podSandboxStatus',
  'pullImage',
  'imageStatus',
  'status',
];

interface Draw {
  below(limit: number): number;
  of<T>(items: readonly T[]): T | undefined;
  chance(probability: number): boolean;
}

function drawing(seed: number): Draw {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  return {
    below,
    of: (items) => items[below(items.length)],
    chance: (probability) => random() < probability,
  };
}

/** A life that is lived step by step; `log` tells what was done. */
class Life {
  readonly machine: Machine;
  readonly log: string[] = [];
  readonly #draw: Draw;
  readonly #seed: number;
  readonly #api = new Map<string, Pod>();
  readonly #files = new Map<string, Pod>();
  #node: Node | undefined;
  #made = 0;
  #kubelets = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#draw = drawing(seed);
    this.machine = new Machine({ seed: String(seed) });
  }

  get node(): Node {
    return this.#node!;
  }

  get desired(): Pod[] {
    return [...this.#api.values(), ...this.#files.values()];
  }

  async startKubelet(): Promise<void> {
    this.#kubelets++;
    this.#node = await startNode({
      machine: this.machine,
      sources: ['api', 'file'],
      seed: this.#seed * 1000 + this.#kubelets,
      events: this.#draw.chance(0.7),
    });
    this.#deliver();
  }

  async step(): Promise<void> {
    const kinds: readonly (readonly [weight: number, string, () => Promise<void> | void])[] = [
      [18, 'add', () => this.#add()],
      [12, 'remove', () => this.#remove()],
      [9, 'delete', () => this.#deleteSlowly()],
      [9, 'edit', () => this.#edit()],
      [6, 'again', () => this.#again()],
      [9, 'manifest', () => this.#manifest()],
      [12, 'exit', () => this.#exitContainer()],
      [3, 'sandbox', () => this.#killSandbox()],
      [15, 'fault', () => this.#fault()],
      [3, 'streams', () => this.machine.breakEventStreams()],
      [3, 'away', () => this.#away()],
      [3, 'crash', () => this.#crash()],
      [1, 'reboot', () => this.machine.reboot()],
    ];
    const tickets = kinds.flatMap((kind) => Array.from({ length: kind[0] }, () => kind));
    const [, name, act] = this.#draw.of(tickets)!;
    this.log.push(`+${this.machine.time.monotonic()}ms ${name}`);
    await act();
    await this.node.advance(this.#draw.chance(0.3) ? 0 : this.#draw.below(4_000));
  }

  /** Everything works again, and deleted pods are gone. */
  settle(): void {
    this.machine.faults.clear();
    this.machine.comeBack();
    for (const [name, pod] of this.#api) {
      if (pod.metadata.deletionTimestamp !== undefined) this.#api.delete(name);
    }
    this.#deliver();
  }

  #deliver(): void {
    this.node.set([...this.#api.values()], 'api');
    this.node.set([...this.#files.values()], 'file');
  }

  #note(text: string): void {
    this.log.push(`    ${text}`);
  }

  #shape(): PodShape {
    const sim: Record<string, string> = {};
    if (this.#draw.chance(0.3)) sim['stop-delay'] = `${this.#draw.below(4_000)}ms`;
    if (this.#draw.chance(0.1)) sim['ignores-term'] = 'true';
    if (this.#draw.chance(0.2)) sim['start-delay'] = `${this.#draw.below(900)}ms`;
    const sidecar = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
    const withInit = this.#draw.chance(0.25);
    if (withInit) sim['setup.run-time'] = `${this.#draw.below(2_000)}ms`;
    return {
      containers: this.#draw.chance(0.3) ? ['app', 'other'] : ['app'],
      ...(withInit ? { init: this.#draw.chance(0.5) ? ['setup'] : ['setup', sidecar] } : {}),
      graceSeconds: 1 + this.#draw.below(6),
      sim,
    };
  }

  #add(): void {
    if (this.#api.size >= podCount) return;
    const name = `pod-${this.#made++}`;
    this.#api.set(name, apiPod(name, this.#shape()));
    this.#note(name);
    this.#deliver();
  }

  #remove(): void {
    const name = this.#draw.of([...this.#api.keys()]);
    if (name === undefined) return;
    this.#note(name);
    this.#api.delete(name);
    this.#deliver();
  }

  #deleteSlowly(): void {
    const pod = this.#draw.of([...this.#api.values()]);
    if (pod === undefined) return;
    this.#note(pod.metadata.name!);
    const deletionGracePeriodSeconds = 1 + this.#draw.below(5);
    const deletionTimestamp = new Date(this.machine.time.now()).toISOString();
    this.#api.set(pod.metadata.name!, {
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds },
    });
    this.#deliver();
  }

  #edit(): void {
    const pod = this.#draw.of([...this.#api.values()]);
    if (pod === undefined) return;
    const [first, ...rest] = pod.spec.containers;
    const image = `app:${2 + this.#draw.below(50)}`;
    this.#note(`${pod.metadata.name} ${image}`);
    this.#api.set(pod.metadata.name!, {
      ...pod,
      spec: { ...pod.spec, containers: [{ ...first!, image }, ...rest] },
    });
    this.#deliver();
  }

  /** Removes a manifest and adds it again at once, so that its UID comes back. */
  #again(): void {
    const name = this.#draw.of([...this.#files.keys()]);
    if (name === undefined) return;
    this.#note(name);
    const pod = this.#files.get(name)!;
    this.#files.delete(name);
    this.#deliver();
    this.#files.set(name, pod);
    this.#deliver();
  }

  #manifest(): void {
    const name = `static-${this.#draw.below(staticCount)}`;
    if (this.#files.has(name) && this.#draw.chance(0.3)) this.#files.delete(name);
    else
      this.#files.set(
        name,
        staticPod(name, { image: `web:${this.#draw.below(3)}`, sim: { 'stop-delay': '1s' } }),
      );
    this.#note(`${name} ${this.#files.get(name)?.spec.containers[0]?.image}`);
    this.#deliver();
  }

  #exitContainer(): void {
    const container = this.#draw.of(this.machine.running());
    if (container === undefined) return;
    this.#note(`${container.podName} ${container.name}`);
    this.machine.exitContainer(container.id, this.#draw.below(3));
  }

  #killSandbox(): void {
    const sandbox = this.#draw.of(this.machine.ready());
    if (sandbox === undefined) return;
    this.#note(sandbox.podName);
    this.machine.killSandbox(sandbox.id);
  }

  #fault(): void {
    const rpc = this.#draw.of(faultyCalls)!;
    const aim = { rpc, nth: 1 + this.#draw.below(3), times: 1 + this.#draw.below(3) };
    const kind = this.#draw.below(3);
    this.#note(`${rpc} ${['fails', 'loses its answer', 'is late'][kind]}`);
    if (kind === 0) this.machine.faults.add({ ...aim, error: new CriError('Unknown', 'by chance') });
    else if (kind === 1) this.machine.faults.add({ ...aim, loseResponse: true });
    else this.machine.faults.add({ ...aim, delayMs: this.#draw.below(5_000) });
  }

  async #away(): Promise<void> {
    this.machine.goAway();
    await this.node.advance(this.#draw.below(12_000));
    this.machine.comeBack();
  }

  async #crash(): Promise<void> {
    await (this.#draw.chance(0.5) ? this.node.crash() : this.node.stop());
    await this.machine.time.advance(this.#draw.below(5_000));
    await this.startKubelet();
  }
}

describe('a random life ends in what is configured', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'seed %i',
    async (seed) => {
      const life = new Life(seed);
      try {
        await life.startKubelet();
        for (let step = 0; step < steps; step++) await life.step();
        life.settle();
        await life.node.advance(5 * second);
        // A container that was killed often waits up to five minutes for its next start.
        const names = life.desired.map(({ metadata }) => metadata.name!);
        await life.node.until(
          'all configured pods run',
          () => names.every((name) => life.node.isReady(name)) && isRunning(life.machine, life.desired),
          15 * minute,
        );
        const before = life.machine.running();
        await life.node.advance(3 * minute);
        expect(life.machine.running()).toEqual(before);
        const uids = new Set(life.desired.map(({ metadata }) => metadata.uid));
        expect(life.machine.seenSandboxes().filter(({ podUid }) => !uids.has(podUid))).toEqual([]);
        expect(life.machine.seenContainers().filter(({ podUid }) => !uids.has(podUid))).toEqual([]);
        expect(
          life.node.kubelet
            .pods()
            .map(({ metadata }) => metadata.name)
            .sort(),
        ).toEqual(names.sort());
      } catch (cause) {
        throw new Error(`seed ${seed}:\n${life.log.slice(-60).join('\n')}`, { cause });
      }
    },
    60_000,
  );
});

describe('the same seed', () => {
  it('lives the same life', async () => {
    const stories: string[][] = [];
    for (const _ of [1, 2]) {
      const life = new Life(99);
      await life.startKubelet();
      for (let step = 0; step < 40; step++) await life.step();
      stories.push(life.node.entries.map(({ timeMs, what, message }) => `${timeMs} ${what} ${message}`));
      await endNodes();
    }
    expect(stories[0]).toEqual(stories[1]);
    expect(stories[0]!.length).toBeGreaterThan(20);
  });
});
