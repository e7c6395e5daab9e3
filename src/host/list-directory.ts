/** Lists directories in parts. */
import { isMissing } from './errors.js';
import type { DirectoryEntry, HeldPath, Host } from './host.js';

/** The entries of a directory whose name is not a link, a few hundred at a time; none if it does not exist. */
export async function* entriesIn(
  { hold }: Pick<Host, 'hold'>,
  dir: string,
): AsyncGenerator<readonly DirectoryEntry[], void, undefined> {
  let held: HeldPath;
  try {
    held = await hold(dir);
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

/** The same for a held directory. */
export async function* entriesOf(held: HeldPath): AsyncGenerator<readonly DirectoryEntry[], void, undefined> {
  const directory = await held.openDirectory();
  try {
    for (let part = await directory.next(); part.length > 0; part = await directory.next()) yield part;
  } finally {
    await directory.close();
  }
}
