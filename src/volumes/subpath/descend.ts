/** Descends into a volume so that no link can redirect it: each element is held before the next is looked up. */
import { type HeldPath, type Host, isHostError } from '../../host/index.js';
import { elementsBelow } from './subpath-names.js';

/** Holds the entry at `path` in `base`, both real paths. A link on the way fails with ELOOP. */
export async function holdWithin(host: Host, base: string, path: string): Promise<HeldPath> {
  const names = elementsBelow(base, path);
  if (names === undefined)
    throw new Error(`subPath leads to ${path}, which is not within the volume ${base}`);
  return await descend(await host.hold(base), names, (directory, name) => directory.child(name));
}

/** Makes missing directories below a held one, each with exactly this mode. Takes ownership of `base`. */
export async function makeWithin(base: HeldPath, names: readonly string[], mode: number): Promise<HeldPath> {
  return await descend(base, names, (directory, name) => makeOrEnter(directory, name, mode));
}

/** Another container's start may have made the directory meanwhile; it is entered like any other, never through a link. */
async function makeOrEnter(directory: HeldPath, name: string, mode: number): Promise<HeldPath> {
  try {
    return await directory.makeDirectory(name, mode);
  } catch (error) {
    if (!isHostError(error, 'EEXIST')) throw error;
    return await directory.child(name);
  }
}

/** Holds one level after another, at the end only the last. */
async function descend(
  base: HeldPath,
  names: readonly string[],
  step: (directory: HeldPath, name: string) => Promise<HeldPath>,
): Promise<HeldPath> {
  let held = base;
  for (const name of names) {
    try {
      const above = held;
      held = await step(above, name);
      await above.close();
    } catch (error) {
      await held.close();
      throw error;
    }
  }
  return held;
}
