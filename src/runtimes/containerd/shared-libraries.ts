/** Finds the shared libraries that programs of this machine need. */
import { CommandLine } from '../../programs/index.js';
import { CommandError, runCommand } from './command.js';

/** Absolute paths as the loader resolves them; static programs have none. */
export async function sharedLibraries(files: readonly string[]): Promise<string[]> {
  return [...new Set(parseLdd(await ldd(files)))].sort();
}

async function ldd(files: readonly string[]): Promise<string> {
  try {
    return (await runCommand(CommandLine.of('ldd').operands(...files))).stdout;
  } catch (error) {
    // It fails on static programs and scripts, after printing the others.
    if (error instanceof CommandError && error.exitCode !== undefined) return error.stdout;
    throw error;
  }
}

/** Parses lines like `libc.so.6 => /lib/libc.so.6 (0x…)` and `/lib64/ld-linux.so.2 (0x…)`. */
export function parseLdd(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [, library] = /(?:=> |^\s*)(\/\S+) \(0x[0-9a-f]+\)$/.exec(line) ?? [];
    return library === undefined ? [] : [library];
  });
}
