/** Creates a missing subPath, only ever inside the volume. */
import { join } from 'node:path/posix';
import { type Host, isMissing } from '../../host/index.js';
import { holdWithin, makeWithin } from './descend.js';
import { pathElements } from './subpath-names.js';

/** New directories get exactly the mode of the volume's root; existing ones stay as they are. */
export async function createSubPath(host: Host, volumePath: string, subPath: string): Promise<void> {
  if (!(await isAbsent(host, join(volumePath, subPath)))) return;
  const base = await host.files.realpath(volumePath);
  const { mode } = await host.files.stat(base);
  const { existing, missing } = await existingPart(host, base, pathElements(subPath));
  const made = await makeWithin(await holdWithin(host, base, existing), missing, mode);
  await made.close();
}

/** If even that cannot be determined, the following bind reports why. */
async function isAbsent({ files }: Host, path: string): Promise<boolean> {
  try {
    await files.stat(path);
    return false;
  } catch (error) {
    return isMissing(error);
  }
}

/** How far the path exists, following links, and the elements that remain. */
async function existingPart(
  { files }: Host,
  base: string,
  names: readonly string[],
): Promise<{ existing: string; missing: readonly string[] }> {
  let existing = base;
  for (const [index, name] of names.entries()) {
    try {
      existing = await files.realpath(join(existing, name));
    } catch (error) {
      if (!isMissing(error)) throw error;
      return { existing, missing: names.slice(index) };
    }
  }
  return { existing, missing: [] };
}
