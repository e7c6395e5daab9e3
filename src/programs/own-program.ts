/** How this program starts itself again: by Node and its script, or as a single executable that has both in it. */
import { isSea } from 'node:sea';

/** Whether Node, the program and its parts are one file; `process.execPath` is no Node then. */
export function isSingleExecutable(): boolean {
  return isSea();
}

/** What stands between `process.execPath` and the arguments of the command line. */
export function ownArguments(): readonly string[] {
  const [, script = ''] = process.argv;
  return isSingleExecutable() ? [] : [...process.execArgv, script];
}
