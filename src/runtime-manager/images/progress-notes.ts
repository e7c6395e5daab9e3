/** Decides when the progress of a pull is worth a note and an event, so that a long pull fills neither. */

/** Between two entries of the timeline. */
const notePeriodMs = 10_000;
/** The first event; each further one after twice the time. */
const firstEventMs = 30_000;

export interface ProgressNotes {
  readonly note: boolean;
  readonly event: boolean;
}

export class ProgressNoter {
  readonly #startedMs: number;
  #lastNoteMs = Number.NEGATIVE_INFINITY;
  #nextEventMs = firstEventMs;

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  at(nowMs: number): ProgressNotes {
    const note = nowMs - this.#lastNoteMs >= notePeriodMs;
    if (note) this.#lastNoteMs = nowMs;
    const tookMs = nowMs - this.#startedMs;
    const event = tookMs >= this.#nextEventMs;
    if (event) this.#nextEventMs = tookMs * 2;
    return { note, event };
  }
}
