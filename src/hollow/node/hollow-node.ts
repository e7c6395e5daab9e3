/** One hollow node: a whole kubelet on a simulated runtime, whose machine can die, come back, and lose its network. */
import { errorText } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import type { Kubelet } from '../../kubelet/index.js';
import type { DescribedMachine } from '../../node/index.js';
import { SimRuntime } from '../../runtimes/sim/index.js';
import { LineSwitch, NodeLine } from '../api/node-line.js';
import { hollowLimits } from '../limits.js';
import type { HollowNodeSpec, HollowNodeState, HollowSurroundings } from './contracts.js';
import { hollowKubelet } from './hollow-kubelet.js';
import { NodePort, type StartNodeServer } from './node-port.js';
import { describedMachine } from './profile.js';

export class HollowNode {
  readonly spec: HollowNodeSpec;
  readonly #around: HollowSurroundings;
  readonly #line = new LineSwitch();
  readonly #runtime: SimRuntime;
  #state: HollowNodeState = 'waiting';
  #kubelet: Kubelet | undefined;
  #port: NodePort | undefined;
  #serve: StartNodeServer | undefined;
  #boots = 0;
  /** Whether the cluster was told that this boot is ready. */
  #isTold = false;
  #problem: string | undefined;
  /** One thing at a time is done to a node. */
  #turn: Promise<void> = Promise.resolve();

  constructor(spec: HollowNodeSpec, around: HollowSurroundings) {
    this.spec = spec;
    this.#around = around;
    this.#runtime = new SimRuntime({
      clock: around.clock,
      podCidr: spec.podCidr,
      logBytes: hollowLimits.logBytes,
      seed: spec.name,
    });
  }

  get name(): string {
    return this.spec.name;
  }

  get state(): HollowNodeState {
    return this.#state;
  }

  /** Why it failed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The port of its kubelet API; undefined while it has none. */
  get port(): number | undefined {
    return this.#port?.port;
  }

  /** The pods that its kubelet has; none while it is dead. */
  pods(): readonly Pod[] {
    return this.#kubelet?.pods() ?? [];
  }

  /** The simulated runtime, for levers that scripts do not have. */
  get runtime(): SimRuntime {
    return this.#runtime;
  }

  start(): Promise<void> {
    return this.#exclusively(async () => {
      if (this.#state === 'waiting') await this.#boot();
    });
  }

  /** The machine dies: nothing of it reaches anybody from this moment on. */
  kill(): Promise<void> {
    this.#line.cut();
    return this.#exclusively(async () => {
      if (this.#state === 'dead' || this.#state === 'gone') return;
      await this.#halt();
      this.#runtime.reboot();
      this.#enter('dead');
    });
  }

  /** The network fails: the kubelet and its pods run on. */
  cut(): Promise<void> {
    this.#line.cut();
    return this.#exclusively(async () => {
      if (this.#state !== 'ready' && this.#state !== 'starting') {
        if (this.#state !== 'cut' && this.#state !== 'dead') this.#line.restore();
        return;
      }
      await this.#port?.silence();
      this.#enter('cut');
    });
  }

  /** The network works again, or the machine is started again. */
  restore(): Promise<void> {
    return this.#exclusively(async () => {
      switch (this.#state) {
        case 'cut':
          this.#line.restore();
          if (this.#serve !== undefined) this.#port?.serve(this.#serve);
          this.#enter(this.#isTold ? 'ready' : 'starting');
          return;
        case 'dead':
        case 'failed':
          this.#line.restore();
          await this.#boot();
          return;
        case 'waiting':
        case 'starting':
        case 'ready':
        case 'gone':
          return;
      }
    });
  }

  /** Stops everything of it; the cluster is told nothing. */
  remove(): Promise<void> {
    this.#line.cut();
    return this.#exclusively(async () => {
      if (this.#state === 'gone') return;
      await this.#halt();
      await this.#port?.close();
      this.#port = undefined;
      await this.#runtime.close();
      this.#enter('gone');
    });
  }

  async #boot(): Promise<void> {
    this.#enter('starting');
    this.#problem = undefined;
    this.#boots++;
    this.#isTold = false;
    try {
      const { kubeletApi } = this.#around;
      if (kubeletApi !== undefined)
        this.#port ??= await NodePort.open({ address: kubeletApi.address, port: this.spec.port }, (message) =>
          this.#tell(message),
        );
      const kubelet = await this.#createKubelet();
      this.#kubelet = kubelet;
      void kubelet.start().then((error) => this.#failed(kubelet, error));
      this.#serve = kubeletApi?.serve(kubelet, this.#runtime, {
        machine: () => this.#machine(),
        bootTimeMs: this.#around.clock.now(),
        api: new NodeLine(this.#around.apis.main, this.#line, undefined),
      });
      if (this.#serve !== undefined) this.#port?.serve(this.#serve);
    } catch (error) {
      this.#problem = errorText(error);
      this.#tell(this.#problem);
      this.#enter('failed');
    }
  }

  async #halt(): Promise<void> {
    const kubelet = this.#kubelet;
    this.#kubelet = undefined;
    this.#serve = undefined;
    await this.#port?.silence();
    await kubelet?.stop();
  }

  #failed(kubelet: Kubelet, error: Error): void {
    if (this.#kubelet !== kubelet) return;
    this.#problem = errorText(error);
    this.#tell(`the kubelet cannot go on: ${this.#problem}`);
    void this.#exclusively(async () => {
      if (this.#kubelet !== kubelet) return;
      await this.#halt();
      this.#enter('failed');
    });
  }

  #createKubelet(): Promise<Kubelet> {
    return hollowKubelet(this.spec, this.#around, {
      runtime: this.#runtime,
      line: this.#line,
      port: this.#port?.port,
      machine: this.#machine(),
      onReady: () => {
        this.#isTold = true;
        if (this.#state === 'starting') this.#enter('ready');
      },
    });
  }

  #machine(): DescribedMachine {
    return describedMachine(this.spec.profile, this.name, this.#boots);
  }

  #enter(state: HollowNodeState): void {
    this.#state = state;
    this.#around.onState();
  }

  #tell(message: string): void {
    this.#around.onProblem(this.name, message);
  }

  #exclusively(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}
