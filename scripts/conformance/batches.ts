/** Shares specs out among processes of the specs' program, which cannot run two at a time by itself. */
import type { Spec } from './report.js';

export interface Batches {
  /** Each is run by one process, several processes at a time. */
  readonly parallel: readonly (readonly string[])[];
  /** Run one after another when all others have ended. */
  readonly serial: readonly string[];
}

/** Starting the program costs seconds of processor time; larger batches leave processes idle at the end. */
const specsPerBatch = 8;

/**
 * Slow specs come first, each by itself, so that the run does not end with waiting for one. Of the others, neighbours in
 * the list go to different batches: specs of one kind have like names, and some kinds take minutes each.
 */
export function shareOut(specs: readonly Spec[], procs: number): Batches {
  const names = (wanted: (spec: Spec) => boolean) => specs.filter(wanted).map(({ name }) => name);
  const slow = names((spec) => spec.slow && !spec.serial);
  const usual = names((spec) => !spec.slow && !spec.serial);
  const count = Math.min(usual.length, Math.max(procs, Math.ceil(usual.length / specsPerBatch)));
  const dealt = Array.from({ length: count }, (_, batch) =>
    usual.filter((_name, at) => at % count === batch),
  );
  return { parallel: [...slow.map((name) => [name]), ...dealt], serial: names(({ serial }) => serial) };
}

/** An expression in Go's syntax that matches these specs alone; the program puts the suite's name before theirs. */
export function focusOn(names: readonly string[]): string {
  return `(?:^| )(?:${names.map((name) => name.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')).join('|')})$`;
}
