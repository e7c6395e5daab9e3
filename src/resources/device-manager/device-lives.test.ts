/** Random lives of plugins, pods and agents, on virtual time: no device is ever in two pods, and none is lost. */
import { expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { SimulatedMachine, simulatedHost } from '../../host/index.js';
import { idsOf } from './device-records.js';
import { container, devicePod, TestDevices } from './test-node.js';
import { TestPlugin, TestPluginSockets } from './test-plugins.js';

/** Numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

class RandomNode {
  readonly #random: () => number;
  readonly #clock = new VirtualClock();
  readonly #machine = new SimulatedMachine();
  #sockets = new TestPluginSockets();
  #plugin: TestPlugin | undefined;
  #agent: TestDevices | undefined;
  #pods = 0;
  #running = new Set<string>();

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  #upTo(count: number): number {
    return Math.floor(this.#random() * count);
  }

  async startAgent(): Promise<void> {
    const before = this.#agent;
    const host = simulatedHost({ machine: this.#machine });
    // The agent of before dies as by SIGKILL: nothing that it still does reaches the disk.
    before?.host.inject({ at: () => true, when: 'before', effect: { kind: 'die' } });
    for (const { calls } of this.#sockets.plugins.values()) calls.length = 0;
    this.#agent = await TestDevices.start({
      host,
      clock: this.#clock,
      sockets: this.#sockets,
      waitMs: this.#upTo(2) * 30_000,
      running: [...this.#running].map((podUid) => ({ podUid, name: 'app' })),
    });
    void before?.manager.stop().catch(() => undefined);
    for (const uid of this.#running) this.#agent.active.add(uid);
    await this.#register();
  }

  /** A plugin that dies meanwhile is waited for, on virtual time. */
  async #register(): Promise<void> {
    void this.#plugin?.register().catch(() => undefined);
    await settle(4);
  }

  async step(): Promise<void> {
    const agent = this.#agent;
    if (agent === undefined) return;
    switch (this.#upTo(12)) {
      case 0:
        this.#plugin?.kill();
        break;
      case 1:
      case 2: {
        if (this.#upTo(2) === 0) this.#plugin?.kill();
        this.#plugin = new TestPlugin(this.#sockets, `dp.${this.#upTo(3)}`, {
          devices: this.#devices(),
          ...(this.#upTo(2) === 0 ? { prefers: ({ available }) => [...available].reverse() } : {}),
        });
        if (this.#upTo(4) === 0) this.#plugin.hanging.add('allocate');
        await this.#register();
        break;
      }
      case 3:
        this.#plugin?.report(this.#devices());
        break;
      case 4:
        await this.startAgent();
        break;
      case 5: {
        const ended = [...this.#running][this.#upTo(Math.max(1, this.#running.size))];
        if (ended !== undefined) this.end(ended);
        break;
      }
      case 6:
        await this.#clock.advance(this.#upTo(400_000));
        break;
      default:
        this.#admit(agent);
    }
    await settle(this.#upTo(12));
    await this.#clock.advance(this.#upTo(60));
    this.check();
  }

  #devices() {
    const count = this.#upTo(7);
    return Array.from({ length: count }, (_, index) => ({
      id: `d${index}`,
      health: this.#upTo(5) === 0 ? 'Unhealthy' : 'Healthy',
      nodes: this.#upTo(3) === 0 ? [] : [this.#upTo(2)],
    }));
  }

  #admit(agent: TestDevices): void {
    const uid = `p${this.#pods++}`;
    const init = this.#upTo(3) === 0 ? [container('init', 1 + this.#upTo(2))] : [];
    const pod = devicePod(uid, [container('app', 1 + this.#upTo(3))], init);
    void agent.admit(pod).then((refusal) => {
      if (refusal === undefined && agent === this.#agent) this.#running.add(uid);
    });
  }

  end(uid: string): void {
    this.#running.delete(uid);
    this.#agent?.active.delete(uid);
  }

  check(): void {
    const owners = new Map<string, string>();
    for (const { podUid, record } of this.#agent?.manager.holders() ?? []) {
      if (this.#agent?.active.has(podUid) !== true) continue;
      for (const id of idsOf(record)) {
        expect(owners.get(id) ?? podUid, `device ${id} is in two pods`).toBe(podUid);
        owners.set(id, podUid);
      }
    }
  }

  /** All pods end, and one pod can have every device. */
  async expectNothingLost(): Promise<void> {
    await this.startAgent();
    this.#plugin?.kill();
    const devices = ['d0', 'd1', 'd2', 'd3', 'd4', 'd5'].map((id) => ({ id }));
    this.#plugin = new TestPlugin(this.#sockets, 'last', { devices });
    await this.#register();
    await this.#clock.advance(400_000);
    for (const uid of [...(this.#agent?.active ?? [])]) this.end(uid);
    await settle(20);
    let refusal: string | undefined = 'it was not judged';
    void this.#agent?.admit(devicePod('last', [container('app', devices.length)])).then((answer) => {
      refusal = answer;
    });
    for (let turn = 0; turn < 20; turn++) {
      await settle(8);
      await this.#clock.advance(25);
    }
    expect(refusal).toBeUndefined();
    await this.#agent?.manager.stop();
  }
}

it.each(Array.from({ length: 30 }, (_, index) => index + 1))(
  'fifty steps of seed %i',
  async (seed) => {
    for (let life = 0; life < 10; life++) {
      const node = new RandomNode(seed * 1000 + life);
      await node.startAgent();
      for (let step = 0; step < 50; step++) await node.step();
      await node.expectNothingLost();
    }
  },
  60_000,
);
