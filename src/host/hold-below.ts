/** Finds what a path leads to below a directory, links included, and nothing outside of it. */
import { isHostError } from './errors.js';
import { type HeldPath, type Host, HostError } from './host.js';

export interface HoldBelowOptions {
  /**
   * What a link that begins with a slash is: a path of the machine, which must lie in the directory, or one that begins at
   * the directory, as in a container that has nothing else.
   */
  readonly absoluteLinks: 'of the machine' | 'of the directory';
}

/** As many as the kernel follows. */
const linkLimit = 40;

/**
 * Holds what lies at a path relative to a directory. Each directory on the way is held before the next name is looked up in it, so that
 * whatever is exchanged meanwhile, the way never leaves the directory: EXDEV where it would.
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

/** The entry, or where it leads if it is a link. */
async function childOrTarget(directory: HeldPath, name: string): Promise<HeldPath | string> {
  try {
    return await directory.child(name);
  } catch (error) {
    if (!isHostError(error, 'ELOOP')) throw error;
    return await directory.readlink(name);
  }
}

/** The rest of a path that begins with one of the directories. */
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
