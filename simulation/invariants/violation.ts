/** What a simulation reports when something happened that must not. */

export interface Violation {
  /** The rule that was broken; the same for all that break it. */
  readonly rule: string;
  readonly message: string;
  readonly atMs: number;
  /** How many events there had been. */
  readonly event: number;
}

export type Report = (rule: string, message: string) => void;
