/** Finds the file from which supervisors are started. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Beside this file in a bundle, above it when the bundler put this code into a chunk, and in dist/ when
 * running from source.
 */
const candidates = ['./supervisor.js', '../supervisor.js', '../../../dist/supervisor.js'];

/** Throws when there is none. */
export function defaultSupervisorEntry(base: string = import.meta.url): string {
  const paths = candidates.map((candidate) => fileURLToPath(new URL(candidate, base)));
  const entry = paths.find((path) => existsSync(path));
  if (entry !== undefined) return entry;
  throw new Error(`no supervisor at ${paths.join(' nor ')}: build nodelet, or set supervisorEntry`);
}
