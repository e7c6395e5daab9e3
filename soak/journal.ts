/** What a soak finds and what it did, kept in bounded memory for the report. */

export interface Finding {
  readonly atMs: number;
  readonly text: string;
}

export interface SoakEvent {
  readonly atMs: number;
  readonly what: string;
}

export const journalLimits = {
  /** Findings that are kept; the rest are counted. */
  findings: 200,
  /** Faults that are shown in the plots; the oldest go. */
  events: 2_000,
} as const;

export class Journal {
  readonly #now: () => number;
  readonly #say: (line: string) => void;
  readonly #known = new Set<string>();
  readonly findings: Finding[] = [];
  readonly remarks: Finding[] = [];
  readonly events: SoakEvent[] = [];
  /** How often each kind of step was done, and how often it failed. */
  readonly counts = new Map<string, number>();
  unkept = 0;

  constructor(now: () => number, say: (line: string) => void) {
    this.#now = now;
    this.#say = say;
  }

  /** A fault of what is tested; the same one is told once. */
  find(text: string): void {
    if (this.#known.has(text)) return;
    if (this.findings.length >= journalLimits.findings) {
      this.unkept++;
      return;
    }
    this.#known.add(text);
    this.findings.push({ atMs: this.#now(), text });
    this.#say(`FOUND ${text}`);
  }

  /** What the runtime left behind when it was killed; shown, and no fault of the agent's. */
  remark(text: string): void {
    if (this.#known.has(text) || this.remarks.length >= journalLimits.findings) return;
    this.#known.add(text);
    this.remarks.push({ atMs: this.#now(), text });
    this.#say(`left by the runtime: ${text}`);
  }

  isKnown(text: string): boolean {
    return this.#known.has(text);
  }

  event(what: string): void {
    this.events.push({ atMs: this.#now(), what });
    if (this.events.length > journalLimits.events) this.events.shift();
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
