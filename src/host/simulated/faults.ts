/** Faults of a simulated machine: calls that fail, processes that die between two calls, and others who act meanwhile. */
import { HostError } from '../host.js';

/** One call of a host. */
export interface HostCall {
  /** Counts the changing calls from 1; for a reading call it is the number that the next changing one will have. */
  readonly number: number;
  readonly operation: string;
  readonly path: string;
  /** Whether the call changes files or mounts. */
  readonly changing: boolean;
}

/** What happens around a call. */
export interface HostFault {
  /** The n-th changing call, or every call that this is true for. */
  readonly at: number | ((call: HostCall) => boolean);
  readonly when: 'before' | 'after';
  readonly effect: /** The call fails; with `after`, it has its effect nevertheless. */
    | { readonly kind: 'fail'; readonly code: string }
    /** The process ends as by `kill -9`: this and all later calls of this host throw HostDied. */
    | { readonly kind: 'die' }
    /** Somebody else does something, once. */
    | { readonly kind: 'run'; readonly action: () => void | Promise<void> };
}

/** What every call of a host throws after its process died. */
export class HostDied extends Error {
  override readonly name = 'HostDied';

  constructor({ operation, path }: Pick<HostCall, 'operation' | 'path'>) {
    super(`the process died; no ${operation} ${path}`);
  }
}

const rememberedCalls = 10_000;

/** The calls of one process, with what the plan has in store for them. */
export class CallRecord {
  readonly #calls: HostCall[] = [];
  readonly #onDeath: () => void;
  #faults: HostFault[];
  #changingCalls = 0;
  #dead = false;

  constructor(faults: readonly HostFault[], onDeath: () => void) {
    this.#faults = [...faults];
    this.#onDeath = onDeath;
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

  async make<T>(operation: string, path: string, changing: boolean, effect: () => T): Promise<T> {
    if (this.#dead) throw new HostDied({ operation, path });
    if (changing) this.#changingCalls++;
    const number = changing ? this.#changingCalls : this.#changingCalls + 1;
    const call: HostCall = { number, operation, path, changing };
    if (changing) {
      this.#calls.push(call);
      if (this.#calls.length > rememberedCalls) this.#calls.shift();
    }
    await this.#apply(call, 'before');
    // Another call may have died meanwhile, and nothing happens after death.
    if (this.#dead) throw new HostDied(call);
    try {
      return effect();
    } finally {
      await this.#apply(call, 'after');
    }
  }

  async #apply(call: HostCall, when: HostFault['when']): Promise<void> {
    for (const fault of this.#faults.filter((fault) => fault.when === when && concerns(fault, call))) {
      switch (fault.effect.kind) {
        case 'fail':
          throw injected(fault.effect.code, call);
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
    // Somebody's call may have ended the process while this one waited.
    if (this.#dead) throw new HostDied(call);
  }
}

function concerns({ at }: HostFault, call: HostCall): boolean {
  return typeof at === 'number' ? call.changing && call.number === at : at(call);
}

function injected(code: string, { operation, path }: HostCall): HostError {
  return new HostError(code, path, `${code}: injected fault, ${operation} '${path}'`);
}
