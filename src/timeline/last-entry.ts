/** The last entry of some name, with its own type. */
import type { EntryOf, TimelineEntry } from './entry.js';
import { isEntry } from './entry.js';
import type { EntryName } from './entry-data.js';

export function lastOf<Name extends EntryName>(
  entries: readonly TimelineEntry[],
  ...names: readonly Name[]
): EntryOf<Name> | undefined {
  return entries.findLast((entry): entry is EntryOf<Name> => isEntry(entry, ...names));
}

/** The same among those of one container. */
export function lastOfContainer<Name extends EntryName>(
  entries: readonly TimelineEntry[],
  container: string,
  name: Name,
): EntryOf<Name> | undefined {
  return entries.findLast(
    (entry): entry is EntryOf<Name> => entry.container === container && isEntry(entry, name),
  );
}
