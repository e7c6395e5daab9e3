/** Builds programs from published Go sources; what was built serves all later runs. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './command.js';

const buildTimeoutMs = 90 * 60_000;

/** Outside the repository and not in a temporary directory: a build takes minutes. */
export function buildCache(name: string): string {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(base, 'nodelet', name);
}

/** Runs `go` in the directory of a module. The error says what to give instead of what is built. */
export async function go(
  args: readonly string[],
  dir: string,
  what: { readonly builds: string; readonly instead: string },
): Promise<{ stdout: string }> {
  const env = {
    CGO_ENABLED: '0',
    GOFLAGS: '',
    GOWORK: 'off',
    PATH: `${process.env.PATH ?? ''}:/usr/local/go/bin`,
  };
  try {
    return await runCommand('env', ['-C', dir, 'nice', '-n', '10', 'go', ...args], {
      env,
      timeoutMs: buildTimeoutMs,
    });
  } catch (error) {
    throw new Error(`cannot build ${what.builds} with Go; ${what.instead} instead: ${String(error)}`, {
      cause: error,
    });
  }
}
