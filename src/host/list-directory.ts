/** Lists directories a part at a time. */
import { isMissing } from './errors.js';
import type { DirectoryEntry, HeldPath, Host } from './host.js';

/** The entries of a directory whose own name is no link, some hundred at a time; none when it does not exist. */
export async function* entriesIn(
  { hold }: Pick<Host, 'hold'>,
  folder: string,
): AsyncGenerator<readonly DirectoryEntry[], void, undefined> {
  let held: HeldPath;
  try {
    held = await hold(folder);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    yield* entriesOf(held);
  } finally {
    await held.close();
  }
}

/** The same for a directory that the caller holds. */
export async function* entriesOf(held: HeldPath): AsyncGenerator<readonly DirectoryEntry[], void, undefined> {
  const directory = await held.openDirectory();
  try {
    for (let part = await directory.next(); part.length > 0; part = await directory.next()) yield part;
  } finally {
    await directory.close();
  }
}
