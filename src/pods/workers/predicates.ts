/** Questions about a pod's life that other parts ask before they start, keep or remove something of it. */
import { isTerminationRequested, type PodRecord } from './record.js';

/** A pod without record counts as still possible until the workers have seen the full set of configured pods once. */
export interface Knowledge {
  readonly record: PodRecord | undefined;
  readonly syncedOnce: boolean;
}

export const predicates = {
  isKnownTerminated: ({ record }: Knowledge): boolean => record?.terminatedAtMs !== undefined,

  couldHaveRunningContainers: ({ record, syncedOnce }: Knowledge): boolean =>
    record === undefined ? !syncedOnce : record.terminatedAtMs === undefined,

  shouldBeFinished: ({ record, syncedOnce }: Knowledge): boolean =>
    record === undefined ? syncedOnce : record.finished,

  isTerminationRequested: ({ record }: Knowledge): boolean =>
    record !== undefined && isTerminationRequested(record),

  shouldContainersBeTerminating: ({ record, syncedOnce }: Knowledge): boolean =>
    record === undefined ? syncedOnce : record.startedTerminating,

  shouldRuntimeBeRemoved: ({ record, syncedOnce }: Knowledge): boolean =>
    record === undefined ? syncedOnce : record.terminatedAtMs !== undefined,

  shouldContentBeRemoved: ({ record, syncedOnce }: Knowledge): boolean =>
    record === undefined
      ? syncedOnce
      : record.evicted || (record.deleted && record.terminatedAtMs !== undefined),
} as const;

export type PodPredicate = keyof typeof predicates;
