/** The files of one container. They change atomically, whoever dies in between. */
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  formatState,
  type LaunchSpec,
  parseClaim,
  parseState,
  type RecordedState,
  type StartClaim,
} from './container-state.js';

/** Configurations contain secrets. */
const fileMode = 0o600;

export const stateFileName = 'state.json';

export interface ContainerFiles {
  readonly directory: string;
  /** The private root: mounts are linked below it. */
  readonly root: string;
  /** The container's configuration. */
  readonly record: string;
  readonly launch: string;
  readonly state: string;
  /** The supervisor's own error output. */
  readonly supervisorLog: string;
  /** How many times the agent asked to reopen the log … */
  readonly reopenRequest: string;
  /** … and how many times the supervisor has done so. */
  readonly reopenAnswer: string;
  /** Names the container's terminal device, if it has one. */
  readonly terminal: string;
  /** Names the container's cgroup, if it has one. */
  readonly cgroup: string;
  readonly claim: (token: string) => string;
}

export function containerFiles(directory: string): ContainerFiles {
  return {
    directory,
    root: join(directory, 'root'),
    record: join(directory, 'container.json'),
    launch: join(directory, 'launch.json'),
    state: join(directory, stateFileName),
    supervisorLog: join(directory, 'supervisor.log'),
    reopenRequest: join(directory, 'log-reopen'),
    reopenAnswer: join(directory, 'log-reopened'),
    terminal: join(directory, 'terminal'),
    cgroup: join(directory, 'cgroup'),
    claim: (token) => join(directory, `claim-${token}.json`),
  };
}

// For the agent, which must not block its other pods.

export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await writeFile(temporary, text, { mode: fileMode });
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

export async function readState(files: ContainerFiles): Promise<RecordedState> {
  return parseState(await readFile(files.state, 'utf8'));
}

export async function writeState(files: ContainerFiles, state: RecordedState): Promise<void> {
  await replaceFile(files.state, formatState(state));
}

/** Whether the claimant may now start or take back the start; false when another was first. */
export async function claimStart(files: ContainerFiles, token: string, claim: StartClaim): Promise<boolean> {
  const path = files.claim(token);
  const temporary = temporaryName(path);
  await writeFile(temporary, JSON.stringify(claim), { mode: fileMode });
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (isFileError(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(temporary);
  }
}

export async function readClaim(files: ContainerFiles, token: string): Promise<StartClaim | undefined> {
  try {
    return parseClaim(await readFile(files.claim(token), 'utf8'));
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** 0 when nothing was written yet. */
export async function readGeneration(path: string): Promise<number> {
  try {
    return Number.parseInt(await readFile(path, 'utf8'), 10) || 0;
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return 0;
    throw error;
  }
}

/** The container's terminal device; undefined when it has none. */
export async function readTerminal(files: ContainerFiles): Promise<string | undefined> {
  return await readIfThere(files.terminal);
}

/** The directory of the container's cgroup; undefined when it has none. */
export async function readCgroup(files: ContainerFiles): Promise<string | undefined> {
  return await readIfThere(files.cgroup);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

// For the supervisor, which has nothing else to do meanwhile.

export function readLaunchSync(files: ContainerFiles): LaunchSpec {
  // Written by an agent of this build or an earlier one, in its own directory.
  return JSON.parse(readFileSync(files.launch, 'utf8')) as LaunchSpec;
}

/** Nothing else records how a container ended: it is on disk before its supervisor exits. */
export function writeStateSync(files: ContainerFiles, state: RecordedState): void {
  replaceFileSync(files.state, formatState(state), state.kind === 'exited');
}

export function claimStartSync(files: ContainerFiles, token: string, claim: StartClaim): boolean {
  const path = files.claim(token);
  const temporary = temporaryName(path);
  writeFileSync(temporary, JSON.stringify(claim), { mode: fileMode });
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (isFileError(error, 'EEXIST')) return false;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
}

/** Copies the number of the request that was served. */
export function answerReopenSync(files: ContainerFiles, request: string): void {
  replaceFileSync(files.reopenAnswer, request);
}

export function writeTerminalSync(files: ContainerFiles, device: string): void {
  replaceFileSync(files.terminal, device);
}

export function writeCgroupSync(files: ContainerFiles, directory: string): void {
  replaceFileSync(files.cgroup, directory);
}

export function readReopenRequestSync(files: ContainerFiles): string {
  return readFileSync(files.reopenRequest, 'utf8');
}

function replaceFileSync(path: string, text: string, sync = false): void {
  const temporary = temporaryName(path);
  const file = openSync(temporary, 'wx', fileMode);
  try {
    try {
      writeFileSync(file, text);
      if (sync) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    // On a full disk each try would leave another one.
    rmSync(temporary, { force: true });
    throw error;
  }
  if (sync) syncDirectorySync(dirname(path));
}

function syncDirectorySync(path: string): void {
  let directory: number;
  try {
    directory = openSync(path, 'r');
  } catch (error) {
    // The agent has seen the file and has removed the container.
    if (isFileError(error, 'ENOENT')) return;
    throw error;
  }
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Agent and supervisor may write the same file; each write has its own name until it is whole. */
function temporaryName(path: string): string {
  return `${path}.${process.pid}-${process.hrtime.bigint()}.tmp`;
}

export function isFileError(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
