/** `--detach`: starts the same run in a background process that outlives the terminal. */
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import { errorText } from '../../async/index.js';
import {
  type ChildProcess,
  CommandLine,
  inheritedEnvironment,
  ownArguments,
  startProgram,
} from '../../programs/index.js';
import type { RunOptions } from './options.js';
import { dataMode, defaultRunName, readRun, removeEmptyDirectories, stateDirectories } from './state.js';

/** Set for the background process: the path of its log. */
const logVariable = 'NODELET_DETACHED_LOG';

export type ChildMessage =
  | { readonly kind: 'up'; readonly pods: number; readonly pid: number }
  | { readonly kind: 'failed' };

export function wasDetached(): boolean {
  return process.env[logVariable] !== undefined;
}

/** Reports the start to the parent process, then disconnects from it. */
export async function tellParent(message: ChildMessage): Promise<void> {
  if (!wasDetached() || !process.connected) return;
  await new Promise<void>((resolve) => {
    process.send?.(message, undefined, {}, () => resolve());
  });
  process.disconnect();
}

/** Starts the run in the background and returns when it is up. */
export async function detach(options: RunOptions, argv: readonly string[]): Promise<number> {
  const directories = stateDirectories();
  const other = await readRun(directories, options.name);
  if (other?.alive) throw nameTaken(options.name, other.pid);
  const log = detachedLog(options.name, directories);
  const fd = openLog(log);
  const line = CommandLine.given(process.execPath, [...ownArguments(), 'run', ...argv]);
  const child = startProgram(line, {
    // Paths of manifests are relative to the user's directory.
    cwd: process.cwd(),
    // The child reads standard input before it reports that it is up.
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
  // The parent shows the child's warnings and its choice of the runtime.
  process.stderr.write((await readFile(log, 'utf8')).replace(/^\d\d:\d\d:\d\d .*\n/gm, ''));
  process.stdout.write(upText(options.name, message, log));
  return 0;
}

/** The log of a background run. */
export function detachedLog(name: string, { dataDir } = stateDirectories()): string {
  return path.join(dataDir, `${name}.log`);
}

function openLog(log: string): number {
  try {
    mkdirSync(path.dirname(log), { recursive: true, mode: dataMode() });
    return openSync(log, 'w', 0o600);
  } catch (error) {
    throw new StartFailure(
      `cannot write the log ${log}: ${errorText(error)}; set NODELET_STATE_DIR to a directory of your own`,
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

function nameTaken(name: string, pid: number): StartFailure {
  return new StartFailure(
    `a run named ${JSON.stringify(name)} is there already (pid ${pid}): stop it with "nodelet stop", or give this one another name with --name`,
  );
}

/** Removes the log of a run that ended without an error. */
export async function removeDetachedLog(): Promise<void> {
  const log = process.env[logVariable];
  if (log === undefined) return;
  await rm(log, { force: true });
  await removeEmptyDirectories();
}
