/** What of the answers a record may not hold, and what stands there instead. */
import type { TimelineEntry } from '../timeline/index.js';
import type { CallSite } from './entries.js';

export interface Mask {
  value(site: CallSite, args: readonly unknown[], value: unknown): unknown;
  bytes(site: CallSite, bytes: Uint8Array): Uint8Array;
  entry(entry: TimelineEntry): TimelineEntry;
}

/** Lets everything through. */
export const noMask: Mask = {
  value: (_, __, value) => value,
  bytes: (_, bytes) => bytes,
  entry: (entry) => entry,
};
