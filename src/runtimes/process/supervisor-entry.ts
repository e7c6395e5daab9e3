/** Finds what supervisors are started from: a file, or a word to the single executable. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isSingleExecutable } from '../../programs/own-program.js';

/**
 * Beside this file in a bundle, above it when the bundler put this code into a chunk, and in dist/ when
 * running from source.
 */
const candidates = ['./supervisor.js', '../supervisor.js', '../../../dist/supervisor.js'];

/** The first argument of the single executable when it is a supervisor; no command of the command line. */
export const supervisorWord = 'supervise-container';

/** Throws when there is none. */
export function defaultSupervisorEntry(
  base: string = import.meta.url,
  isSingle: boolean = isSingleExecutable(),
): string {
  if (isSingle) return supervisorWord;
  const paths = candidates.map((candidate) => fileURLToPath(new URL(candidate, base)));
  const entry = paths.find((path) => existsSync(path));
  if (entry !== undefined) return entry;
  throw new Error(`no supervisor at ${paths.join(' nor ')}: build nodelet, or set supervisorEntry`);
}
