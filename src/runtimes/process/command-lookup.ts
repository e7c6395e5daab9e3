/** Finds the program that a command names; its errors are worded like those of container runtimes. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

export type CommandLookup =
  | { readonly found: true; readonly path: string }
  | { readonly found: false; readonly problem: string };

/** A name with a slash is a path relative to the working directory; others are looked up in `searchPath`. */
export function findCommand(command: string, searchPath: string, workingDir: string): CommandLookup {
  if (command.includes('/')) {
    const path = isAbsolute(command) ? command : resolve(workingDir, command);
    const problem = whyNotExecutable(path);
    return problem === undefined ? { found: true, path } : missing(command, problem);
  }
  for (const directory of searchPath.split(delimiter)) {
    // In a shell an empty entry means the working directory; here it must not.
    if (command === '' || !isAbsolute(directory)) continue;
    const path = join(directory, command);
    if (whyNotExecutable(path) === undefined) return { found: true, path };
  }
  return missing(command, 'executable file not found in $PATH');
}

function missing(command: string, problem: string): CommandLookup {
  return { found: false, problem: `exec: ${JSON.stringify(command)}: ${problem}` };
}

function whyNotExecutable(path: string): string | undefined {
  try {
    if (statSync(path).isDirectory()) return 'is a directory';
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return `stat ${path}: no such file or directory`;
    return code === 'EACCES' ? 'permission denied' : String(error);
  }
}
