/** Faults of a simulated machine: failing calls, processes that die between two calls, and actions of others. */
import { HostError } from '../host.js';

/** One call of a host. */
export interface HostCall {
  /** Counts changing calls from 1; a reading call has the number of the next changing one. */
  readonly number: number;
  readonly operation: string;
  readonly path: string;
  /** Whether the call changes files or mounts. */
  readonly changing: boolean;
}

/** What happens around a call. */
export interface HostFault {
  /** The n-th changing call, or every call that matches. */
  readonly at: number | ((call: HostCall) => boolean);
  readonly when: 'before' | 'after';
  readonly effect: /** The call fails; with `after`, it still has its effect. */
    | { readonly kind: 'fail'; readonly code: string }
    /**
     * The call does not return, as with a hung server. Made apart it fails with ETIMEDOUT; otherwise it holds
     * one of the process's four file threads, and once all are held no call that needs one returns.
     */
    | { readonly kind: 'hang' }
    /** The process ends as by `kill -9`: this and all later calls of the host throw HostDied. */
    | { readonly kind: 'die' }
    /** Someone else does something, once. */
    | { readonly kind: 'run'; readonly action: () => void | Promise<void> };
}

/** Thrown by every call of a host after its process died. */
export class HostDied extends Error {
  override readonly name = 'HostDied';

  constructor({ operation, path }: Pick<HostCall, 'operation' | 'path'>) {
    super(`the process died; no ${operation} ${path}`);
  }
}

const threads = 4;

/** Who makes a call: a thread of the pool for files, a thread apart from it, or a command. */
export type FaultCaller = 'pool' | 'apart' | 'command';

/** Makes calls for one caller. */
export type MakeCall = <T>(operation: string, path: string, changing: boolean, effect: () => T) => Promise<T>;

/** Stands around each call of a host: decides when it has its effect, if it does, and what the caller hears of it. */
export type AroundHostCall = <T>(call: HostCall, caller: FaultCaller, effect: () => T) => Promise<T>;

export interface CallRecordOptions {
  readonly around: AroundHostCall | undefined;
  readonly faults: readonly HostFault[];
  readonly rememberedCalls: number;
  readonly onDeath: () => void;
}

/** The calls of one process and the faults planned for them. */
export class CallRecord {
  readonly #calls: HostCall[] = [];
  readonly #rememberedCalls: number;
  readonly #onDeath: () => void;
  readonly #around: AroundHostCall | undefined;
  #faults: HostFault[];
  #changingCalls = 0;
  #dead = false;
  /** Pool threads whose call does not return. */
  #held = 0;

  constructor(options: CallRecordOptions) {
    this.#faults = [...options.faults];
    this.#rememberedCalls = options.rememberedCalls;
    this.#onDeath = options.onDeath;
    this.#around = options.around;
  }

  get calls(): readonly HostCall[] {
    return this.#calls;
  }

  get dead(): boolean {
    return this.#dead;
  }

  inject(fault: HostFault): void {
    this.#faults.push(fault);
  }

  by(caller: FaultCaller): MakeCall {
    return (operation, path, changing, effect) => this.#make(caller, operation, path, changing, effect);
  }

  async #make<T>(
    caller: FaultCaller,
    operation: string,
    path: string,
    changing: boolean,
    effect: () => T,
  ): Promise<T> {
    if (caller === 'pool' && this.#held >= threads) await never();
    if (this.#dead) throw new HostDied({ operation, path });
    if (changing) this.#changingCalls++;
    const number = changing ? this.#changingCalls : this.#changingCalls + 1;
    const call: HostCall = { number, operation, path, changing };
    if (changing) {
      this.#calls.push(call);
      if (this.#calls.length > this.#rememberedCalls) this.#calls.shift();
    }
    if (this.#around !== undefined) return this.#around(call, caller, effect);
    await this.#apply(call, 'before', caller);
    // Another call may have ended the process meanwhile; a dead process does nothing.
    if (this.#dead) throw new HostDied(call);
    try {
      return effect();
    } finally {
      await this.#apply(call, 'after', caller);
    }
  }

  async #apply(call: HostCall, when: HostFault['when'], caller: FaultCaller): Promise<void> {
    for (const fault of this.#faults.filter((fault) => fault.when === when && concerns(fault, call))) {
      switch (fault.effect.kind) {
        case 'fail':
          throw injected(fault.effect.code, call);
        case 'hang':
          if (caller === 'apart')
            throw new HostError('ETIMEDOUT', call.path, `ETIMEDOUT: ${call.path} does not answer`);
          if (caller === 'pool') this.#held++;
          await never();
          break;
        case 'die':
          this.#dead = true;
          this.#onDeath();
          throw new HostDied(call);
        case 'run':
          this.#faults = this.#faults.filter((other) => other !== fault);
          await fault.effect.action();
          break;
      }
    }
    // Another call may have ended the process while this one waited.
    if (this.#dead) throw new HostDied(call);
  }
}

function concerns({ at }: HostFault, call: HostCall): boolean {
  return typeof at === 'number' ? call.changing && call.number === at : at(call);
}

function never(): Promise<void> {
  return new Promise(() => {});
}

function injected(code: string, { operation, path }: HostCall): HostError {
  return new HostError(code, path, `${code}: injected fault, ${operation} '${path}'`);
}
