/** `--detach`: the same run in a process of its own that outlives the terminal. */
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import { errorText } from '../../async/index.js';
import { type ChildProcess, CommandLine, inheritedEnvironment, startProgram } from '../../programs/index.js';
import type { RunOptions } from './options.js';
import { dataMode, defaultRunName, readRun, removeEmptyFolders, stateFolders } from './state.js';

/** Set for the process in the background; it holds the path of its log. */
const logVariable = 'NODELET_DETACHED_LOG';

export type ChildMessage =
  | { readonly kind: 'up'; readonly pods: number; readonly pid: number }
  | { readonly kind: 'failed' };

export function wasDetached(): boolean {
  return process.env[logVariable] !== undefined;
}

/** Tells whoever started this in the background how it went; afterwards nothing connects the two. */
export async function tellParent(message: ChildMessage): Promise<void> {
  if (!wasDetached() || !process.connected) return;
  await new Promise<void>((resolve) => {
    process.send?.(message, undefined, {}, () => resolve());
  });
  process.disconnect();
}

/** Starts the run in the background and returns when it is up. */
export async function detach(options: RunOptions, argv: readonly string[]): Promise<number> {
  const folders = stateFolders();
  const other = await readRun(folders, options.name);
  if (other?.alive) throw alreadyRuns(options.name, other.pid);
  const log = detachedLog(options.name, folders);
  const fd = openLog(log);
  const [, script = ''] = process.argv;
  const line = CommandLine.given(process.execPath, [...process.execArgv, script, 'run', ...argv]);
  const child = startProgram(line, {
    // Manifests are named from where the user is.
    cwd: process.cwd(),
    // What is read from standard input is read before the child says that it is up.
    stdio: [options.inputs.includes('-') ? 'inherit' : 'ignore', fd, fd, 'ipc'],
    env: inheritedEnvironment({ [logVariable]: log }),
  });
  closeSync(fd);
  const message = await Promise.race([firstMessage(child), once(child, 'exit').then(() => undefined)]);
  if (message?.kind !== 'up') {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    process.stderr.write(await readFile(log, 'utf8'));
    await rm(log, { force: true });
    return 1;
  }
  child.unref();
  if (child.connected) child.disconnect();
  // Warnings and the choice of the runtime are the parent's to show.
  process.stderr.write((await readFile(log, 'utf8')).replace(/^\d\d:\d\d:\d\d .*\n/gm, ''));
  process.stdout.write(upText(options.name, message, log));
  return 0;
}

/** Where a run in the background writes. */
export function detachedLog(name: string, { dataDir } = stateFolders()): string {
  return path.join(dataDir, `${name}.log`);
}

function openLog(log: string): number {
  try {
    mkdirSync(path.dirname(log), { recursive: true, mode: dataMode() });
    return openSync(log, 'w', 0o600);
  } catch (error) {
    throw new StartFailure(
      `the log ${log} cannot be written: ${errorText(error)}; set NODELET_STATE_DIR to a folder of your own`,
      { cause: error },
    );
  }
}

async function firstMessage(child: ChildProcess): Promise<ChildMessage> {
  const [message] = (await once(child, 'message')) as [ChildMessage];
  return message;
}

function upText(name: string, { pods, pid }: { pods: number; pid: number }, log: string): string {
  const option = name === defaultRunName ? '' : ` --name ${name}`;
  return [
    `Run "${name}" is up with ${pods} pod${pods === 1 ? '' : 's'} (pid ${pid}).`,
    `  look:  nodelet ps${option}    nodelet logs -f POD${option}    nodelet explain POD${option}`,
    `  stop:  nodelet stop${option}`,
    `  log:   ${log}`,
    '',
  ].join('\n');
}

function alreadyRuns(name: string, pid: number): StartFailure {
  return new StartFailure(
    `a run named ${JSON.stringify(name)} is there already (pid ${pid}): end it with "nodelet stop", or give this one another name with --name`,
  );
}

/** The log of a run that ended well is of no more use. */
export async function removeDetachedLog(): Promise<void> {
  const log = process.env[logVariable];
  if (log === undefined) return;
  await rm(log, { force: true });
  await removeEmptyFolders();
}
