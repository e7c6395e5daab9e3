/** Counts the events of a simulation and folds them into one hash, so that two runs can be told apart at any event. */

/** What is counted as an event, each where it happens. */
export const eventKinds = {
  timer: 1,
  arrival: 2,
  answer: 3,
  fault: 4,
  /** Of a watch, or of a stream of container events. */
  message: 5,
  /** A user, the machine or the cluster acts. */
  step: 6,
} as const;

export type EventKind = keyof typeof eventKinds;

export class Journal {
  events = 0;
  readonly byKind: Record<EventKind, number> = {
    timer: 0,
    arrival: 0,
    answer: 0,
    fault: 0,
    message: 0,
    step: 0,
  };
  #low = 0x811c9dc5;
  #high = 0x2f0b4c27;

  event(kind: EventKind, text: string, value: number): void {
    this.events++;
    this.byKind[kind]++;
    this.#fold(eventKinds[kind]);
    this.#fold(value | 0);
    this.text(text);
  }

  /** Folds in what is no event of its own. */
  text(text: string): void {
    for (let at = 0; at < text.length; at++)
      this.#low = Math.imul(this.#low ^ text.charCodeAt(at), 0x01000193);
    this.#fold(text.length);
  }

  get hash(): string {
    return hex(this.#high) + hex(this.#low);
  }

  #fold(value: number): void {
    this.#low = Math.imul(this.#low ^ value, 0x01000193);
    this.#high = Math.imul(this.#high ^ this.#low ^ (this.#high >>> 15), 0x85ebca6b);
  }
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
