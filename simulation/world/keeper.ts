/** Keeps a kubelet running on a simulated node, as the machine's init system does: one process after another. */
import type { VirtualClock } from '../../src/async/index.js';
import { settle } from '../../src/async/index.js';
import type { TimelineEntry } from '../../src/timeline/index.js';
import type { Journal } from '../journal.js';
import type { NodeDraft, Step } from '../plan/step.js';
import type { ApiWitness } from '../ports/api-port.js';
import type { CriWitness } from '../ports/cri-port.js';
import type { Director } from '../ports/director.js';
import { KubeletProcess } from '../ports/process.js';
import { createSimulatedKubelet, type StartedKubelet } from './kubelet-of.js';
import type { KubeletControl } from './outside.js';
import type { SimulatedNode } from './simulated-node.js';
import type { Users } from './users.js';

export interface KeeperOptions {
  readonly node: SimulatedNode;
  readonly users: Users;
  readonly draft: NodeDraft;
  readonly seed: number;
  readonly journal: Journal;
  readonly director: Director;
  readonly apiWitness: ApiWitness;
  readonly criWitness: CriWitness;
  readonly csiWitness: () => void;
  readonly onEntry: (entry: TimelineEntry) => void;
  readonly onProcess: () => void;
  readonly report: (rule: string, message: string) => void;
}

/** Before a process that failed is started again. */
const restartMs = 5_000;
/** A process that does not stop is killed. */
const stopLimitMs = 90_000;

export class Keeper implements KubeletControl {
  readonly #options: KeeperOptions;
  readonly #clock: VirtualClock;
  #process: KubeletProcess | undefined;
  #started: StartedKubelet | undefined;
  #startedAtMs = 0;
  #stopping = false;
  #over = false;
  #downMs = restartMs;
  /** How many processes there were. */
  processes = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#clock = options.node.clock;
  }

  /** How long the kubelet has been up; 0 for one that is down. */
  get upMs(): number {
    return this.#started === undefined ? 0 : this.#clock.monotonic() - this.#startedAtMs;
  }

  get kubelet(): StartedKubelet['kubelet'] | undefined {
    return this.#started?.kubelet;
  }

  start(): void {
    if (this.#over || this.#process !== undefined) return;
    const { director, journal, onProcess } = this.#options;
    const process = new KubeletProcess({
      clock: this.#clock,
      journal,
      director,
      onDeath: () => this.#died(process),
    });
    this.#process = process;
    this.#stopping = false;
    this.processes++;
    onProcess();
    void this.#run(process);
  }

  armDeath({ at, downMs }: Extract<Step, { act: 'die' }>): void {
    this.#downMs = downMs;
    this.#options.director.armDeath(at);
  }

  stop(downMs: number): void {
    const [process, started] = [this.#process, this.#started];
    if (process === undefined || started === undefined || this.#stopping) return;
    this.#stopping = true;
    this.#downMs = downMs;
    const limit = this.#clock.setTimer(stopLimitMs, () => process.die());
    void started.kubelet.stop().then(() => {
      limit.cancel();
      this.#judgeStopped(process);
      process.die();
    });
  }

  powerOff(downMs: number, act: () => void): void {
    this.#downMs = downMs;
    if (this.#process !== undefined) this.#process.die();
    else this.#clock.setTimer(downMs, () => this.start());
    act();
  }

  setStatics(): void {
    this.#started?.setStatics([...this.#options.users.statics.values()]);
  }

  /** Stops the kubelet for good; holds that it needs no time for it and leaves nothing behind. */
  async end(): Promise<void> {
    const [process, started] = [this.#process, this.#started];
    this.#over = true;
    if (process === undefined || started === undefined) return;
    let stopped = false;
    const stopping = started.kubelet.stop().then(() => {
      stopped = true;
    });
    for (let turn = 0; turn < 20 && !stopped; turn++) await settle(1);
    if (!stopped)
      this.#options.report('a kubelet that stops leaves nothing', 'it does not stop without waiting');
    else {
      await stopping;
      this.#judgeStopped(process);
      if (process.pendingCalls > 0)
        this.#options.report('a kubelet that stops leaves nothing', `${process.pendingCalls} calls are left`);
    }
    process.die();
    await settle(2);
  }

  async #run(process: KubeletProcess): Promise<void> {
    const { node, draft, director, seed, apiWitness, criWitness, csiWitness, onEntry, report } =
      this.#options;
    try {
      const started = await createSimulatedKubelet({
        node,
        draft,
        process,
        director,
        seed: (seed + this.processes) >>> 0,
        onEntry: (entry) => {
          if (process.alive) onEntry(entry);
        },
        apiWitness,
        criWitness,
        csiWitness,
      });
      if (!process.alive) return;
      this.#started = started;
      this.#startedAtMs = this.#clock.monotonic();
      this.setStatics();
      await started.kubelet.start();
    } catch (error) {
      if (process.alive && director.isCalm) report('a kubelet starts', String(error));
    }
    // It failed; the init system starts another one.
    if (process.alive && !this.#stopping && !this.#over) {
      if (director.isCalm) report('a kubelet runs', 'it ended although nothing went wrong');
      process.die();
    }
  }

  #died(process: KubeletProcess): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    this.#started = undefined;
    this.#options.director.disarmDeath();
    const downMs = this.#downMs;
    this.#downMs = restartMs;
    if (!this.#over) this.#clock.setTimer(downMs, () => this.start());
  }

  #judgeStopped(process: KubeletProcess): void {
    if (process.alive && process.pendingTimers > 0)
      this.#options.report('a kubelet that stops leaves nothing', `${process.pendingTimers} timers are left`);
  }
}
