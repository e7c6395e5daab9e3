/** Resolves a path below a directory, following links but never leaving the directory. */
import { isHostError } from './errors.js';
import { type HeldPath, type Host, HostError } from './host.js';

export interface HoldBelowOptions {
  /**
   * How to read an absolute link: as a path of the machine that must lie in the directory, or as relative to
   * the directory, like in a container rooted there.
   */
  readonly absoluteLinks: 'of the machine' | 'of the directory';
}

/** The kernel's limit. */
const linkLimit = 40;

/**
 * Holds the entry at a path relative to a directory. Each directory on the way is held before the next name
 * is looked up, so the path never leaves the directory even if entries are exchanged meanwhile; EXDEV if it
 * would.
 */
export async function holdBelow(
  host: Pick<Host, 'hold' | 'files'>,
  directory: string,
  path: string,
  { absoluteLinks }: HoldBelowOptions,
): Promise<HeldPath> {
  const top = await host.files.realpath(directory);
  const way = [await host.hold(top)];
  const rest = path.split('/').reverse();
  let links = 0;
  try {
    for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
      if (name === '' || name === '.') continue;
      if (name === '..') {
        if (way.length > 1) await way.pop()?.close();
        else if (absoluteLinks === 'of the machine') throw outside(directory, path);
        continue;
      }
      const here = way.at(-1);
      if (here === undefined) throw outside(directory, path);
      const found = await childOrTarget(here, name);
      if (typeof found !== 'string') {
        way.push(found);
        continue;
      }
      if (++links > linkLimit) throw tooManyLinks(path);
      if (found.startsWith('/')) {
        const below = absoluteLinks === 'of the directory' ? found : placeBelow([top, directory], found);
        if (below === undefined) throw outside(directory, path);
        for (const held of way.splice(1)) await held.close();
        rest.push(...below.split('/').reverse());
      } else rest.push(...found.split('/').reverse());
    }
    const held = way.pop();
    if (held === undefined) throw outside(directory, path);
    return held;
  } finally {
    for (const held of way) await held.close();
  }
}

/** The entry, or the target if it is a link. */
async function childOrTarget(directory: HeldPath, name: string): Promise<HeldPath | string> {
  try {
    return await directory.child(name);
  } catch (error) {
    if (!isHostError(error, 'ELOOP')) throw error;
    return await directory.readlink(name);
  }
}

/** The rest of a path below one of the directories. */
function placeBelow(directories: readonly string[], path: string): string | undefined {
  for (const directory of directories) {
    const prefix = directory.endsWith('/') ? directory : `${directory}/`;
    if (`${path}/`.startsWith(prefix)) return path.slice(prefix.length);
  }
  return undefined;
}

function outside(directory: string, path: string): HostError {
  return new HostError('EXDEV', path, `EXDEV: '${path}' leads out of ${directory}`);
}

function tooManyLinks(path: string): HostError {
  return new HostError(
    'ELOOP',
    path,
    `ELOOP: too many symbolic links encountered, '${path}' leads through more than ${linkLimit}`,
  );
}
