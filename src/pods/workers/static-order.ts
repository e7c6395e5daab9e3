/** Static pods of the same full name take turns: one at a time, in the order in which they were first seen. */

/** Whether a static pod may start: now, after others of its name, or never. */
export type StaticPodStart = 'start' | 'wait' | 'never';

export interface StaticPodState {
  readonly terminationRequested: boolean;
}

export class StaticPodOrder {
  readonly #started = new Map<string, string>();
  readonly #waiting = new Map<string, string[]>();

  /** Puts a pod at the end of the line of its full name. */
  enqueue(fullName: string, uid: string): void {
    const line = this.#waiting.get(fullName);
    if (line === undefined) this.#waiting.set(fullName, [uid]);
    else line.push(uid);
  }

  /** Whether the pod may start now; taking the turn when it may. */
  decide(
    fullName: string,
    uid: string,
    stateOf: (uid: string) => StaticPodState | undefined,
  ): StaticPodStart {
    const own = stateOf(uid);
    if (own === undefined || own.terminationRequested) return 'never';
    const holder = this.#started.get(fullName);
    if (holder !== undefined) return holder === uid ? 'start' : 'wait';
    const line = this.#waiting.get(fullName) ?? [];
    const first = line.findIndex((waiting) => stateOf(waiting)?.terminationRequested === false);
    if (first >= 0 && line[first] !== uid) {
      this.#waiting.set(fullName, line.slice(first));
      return 'wait';
    }
    const rest = line.slice(first + 1);
    if (first < 0 || rest.length === 0) this.#waiting.delete(fullName);
    else this.#waiting.set(fullName, rest);
    this.#started.set(fullName, uid);
    return 'start';
  }

  /** How many full names are remembered. */
  get size(): number {
    return new Set([...this.#started.keys(), ...this.#waiting.keys()]).size;
  }

  /** Leaves the line and gives the turn up, if the pod has it; returns the pods that wait for it. */
  release(fullName: string, uid: string): readonly string[] {
    const line = (this.#waiting.get(fullName) ?? []).filter((waiting) => waiting !== uid);
    if (line.length === 0) this.#waiting.delete(fullName);
    else this.#waiting.set(fullName, line);
    if (this.#started.get(fullName) !== uid) return [];
    this.#started.delete(fullName);
    return line;
  }

  /** The pod that has the turn of a full name. */
  holder(fullName: string): string | undefined {
    return this.#started.get(fullName);
  }
}
