/** Decides what happens to each call between a kubelet and the outside, by the faults that are armed. */
import type { CallFault, DeathPoint, Effect, PortName } from '../plan/step.js';

interface Armed {
  readonly fault: CallFault;
  passed: number;
  struck: number;
}

export interface Verdict {
  readonly effect: Effect | undefined;
  /** The process dies at this call. */
  readonly death: DeathPoint['when'] | undefined;
}

const nothing: Verdict = { effect: undefined, death: undefined };

export class Director {
  #armed: Armed[] = [];
  #death: { left: number; readonly when: DeathPoint['when'] } | undefined;
  #released: () => void = () => undefined;
  #calm = new Promise<void>((resolve) => {
    this.#released = resolve;
  });
  /** All writes to files fail. */
  diskFull = false;
  /** No call reaches the cluster's API. */
  apiAway = false;

  arm(fault: CallFault): void {
    this.#armed.push({ fault, passed: 0, struck: 0 });
  }

  armDeath({ skip, when }: DeathPoint): void {
    this.#death = { left: skip, when };
  }

  disarmDeath(): void {
    this.#death = undefined;
  }

  isCalm = false;

  /** Resolves when nothing goes wrong any more. */
  get calm(): Promise<void> {
    return this.#calm;
  }

  /** From now on nothing goes wrong, and what hung comes back. */
  becomeCalm(): void {
    this.isCalm = true;
    this.#armed = [];
    this.#death = undefined;
    this.diskFull = false;
    this.apiAway = false;
    this.#released();
  }

  verdict(port: PortName, call: string, isChange: boolean): Verdict {
    if (this.#armed.length === 0 && this.#death === undefined) return nothing;
    return { effect: this.#effect(port, call), death: isChange ? this.#dies() : undefined };
  }

  #effect(port: PortName, call: string): Effect | undefined {
    for (const armed of this.#armed) {
      const { fault } = armed;
      if (fault.port !== port || (fault.call !== undefined && fault.call !== call)) continue;
      if (armed.passed++ < fault.skip) continue;
      if (++armed.struck >= fault.times) this.#armed = this.#armed.filter((other) => other !== armed);
      return fault.effect;
    }
    return undefined;
  }

  #dies(): DeathPoint['when'] | undefined {
    if (this.#death === undefined || this.#death.left-- > 0) return undefined;
    const { when } = this.#death;
    this.#death = undefined;
    return when;
  }
}
