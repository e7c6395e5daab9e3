/** Turns at a target: what changes its sessions goes one after another, targets do not wait for each other. */
import { Gate } from '../../../async/index.js';

export class TargetTurns {
  /** Only targets with a turn under way. */
  readonly #gates = new Map<string, Gate>();

  async take<T>(target: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const gate = this.#gates.get(target) ?? new Gate(1);
    this.#gates.set(target, gate);
    try {
      return await gate.run(work, signal === undefined ? {} : { signal });
    } finally {
      if (gate.inside === 0 && gate.waiting === 0) this.#gates.delete(target);
    }
  }
}
