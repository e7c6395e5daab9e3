/**
 * Where a `nodelet run` leaves word of itself, so that other commands find it and the next run of its name can take
 * over what a killed one left.
 *
 * Each run has two folders named after it: one for what belongs to the living process (its record and its socket),
 * below the user's runtime folder, and `rootDir` for what belongs to its pods, on a disk.
 */
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import { errorText } from '../../async/index.js';
import type { UnusableFile } from '../../host/index.js';
import { identify, isAlive } from '../../runtimes/process/identity.js';
import { placeRecord, type RunRecord, readRecord } from './run-record.js';

/** The run that is meant when none is named. */
export const defaultRunName = 'default';

export interface Run {
  readonly name: string;
  readonly pid: number;
  /** Answers while the run is alive; only its user may open it. */
  readonly socketPath: string;
  /** What the kubelet keeps of its pods; the timeline is in `timeline/` below it. */
  readonly rootDir: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** False after a crash: what is left is there for `explain`, and for the next run of this name. */
  readonly alive: boolean;
}

export interface StateFolders {
  /** Holds a folder per run with its record and its socket. */
  readonly runtimeDir: string;
  /** Holds a folder per run with its pods' data. */
  readonly dataDir: string;
}

const recordFile = 'run.json';
const socketFile = 'nodelet.sock';
const longestName = 40;
/** What the address of a unix socket holds on all systems, less what it is called while it is being made. */
const longestSocketBytes = 100;

/** Where runs of this user are kept; `NODELET_STATE_DIR` puts both below a folder of one's own. */
export function stateFolders(
  env: NodeJS.ProcessEnv = process.env,
  uid: number = process.getuid?.() ?? 0,
): StateFolders {
  const own = env.NODELET_STATE_DIR;
  if (own) return { runtimeDir: path.resolve(own, 'run'), dataDir: path.resolve(own, 'data') };
  if (uid === 0 && process.platform === 'linux')
    return { runtimeDir: '/run/nodelet', dataDir: '/var/lib/nodelet/runs' };
  const runtime = env.XDG_RUNTIME_DIR;
  const state = env.XDG_STATE_HOME || path.join(env.HOME || homedir(), '.local/state');
  return {
    runtimeDir: runtime ? path.join(runtime, 'nodelet') : path.join(tmpdir(), `nodelet-${uid}`),
    dataDir: path.join(state, 'nodelet/runs'),
  };
}

/** What is wrong with the name of a run; it becomes the name of folders. */
export function badRunName(name: string): string | undefined {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= longestName) return undefined;
  return `${JSON.stringify(name)} cannot be the name of a run: use up to ${longestName} small letters, digits and "-"`;
}

/** All runs of this user that are there, or were and left something, in the order of their names. */
export async function listRuns(folders: StateFolders = stateFolders()): Promise<Run[]> {
  await refuseStranger(folders.runtimeDir);
  const names = await readdir(folders.runtimeDir).catch(ifMissing<string[]>([]));
  const runs = await Promise.all(names.sort().map((name) => readRun(folders, name)));
  return runs.filter((run) => run !== undefined);
}

/** The run of that name; without one the only run, living ones first. Throws a StartFailure that says what there is. */
export async function findRun(name?: string, folders: StateFolders = stateFolders()): Promise<Run> {
  const runs = await listRuns(folders);
  const living = runs.filter(({ alive }) => alive);
  const known = (some: readonly Run[]): string => some.map((run) => run.name).join(', ');
  if (name !== undefined) {
    const run = runs.find((candidate) => candidate.name === name);
    if (run !== undefined) return run;
    const others = runs.length === 0 ? 'nothing runs' : `there is ${known(runs)}`;
    throw new StartFailure(`no run is named ${JSON.stringify(name)}: ${others}`);
  }
  const candidates = living.length > 0 ? living : runs;
  const [run] = candidates;
  if (run === undefined)
    throw new StartFailure('nothing runs: start pods with nodelet run FILE (see nodelet run --help)');
  if (candidates.length === 1) return run;
  throw new StartFailure(`several runs are there: choose one with --name: ${known(candidates)}`);
}

export async function readRun(folders: StateFolders, name: string): Promise<Run | undefined> {
  if (badRunName(name) !== undefined) return undefined;
  const dir = path.join(folders.runtimeDir, name);
  const read = await readRecord(path.join(dir, recordFile));
  // Nobody can be found by a broken record; the next run of the name sets it aside.
  if (read.kind !== 'found') return undefined;
  const { record } = read;
  return {
    name,
    pid: record.pid,
    socketPath: path.join(dir, socketFile),
    rootDir: record.rootDir,
    startedAt: record.startedAt,
    alive: await isAlive(read.process),
  };
}

export interface ClaimedRun extends Run {
  /** The folder with the record and the socket; more that must go with the process may be put there. */
  readonly dir: string;
  /** Whether an earlier process of this name ended without cleaning up. */
  readonly takenOver: boolean;
  /** Removes both folders; nothing of the run may be left that uses them. */
  release(): Promise<void>;
}

/** Tells the user of a file that a run has found broken. */
export function warnOfUnusable({ path: file, movedTo, reason }: UnusableFile): void {
  const place = movedTo === undefined ? 'it could not be moved away' : `it is kept as ${movedTo}`;
  process.stderr.write(`warning: ${file} cannot be used: ${reason}; ${place} until the run ends\n`);
}

/** Makes this process the run of that name. Throws a StartFailure when another one is. */
export async function claimRun(
  name: string,
  nowMs: number,
  folders: StateFolders = stateFolders(),
  onSetAside: (file: UnusableFile) => void = warnOfUnusable,
): Promise<ClaimedRun> {
  const bad = badRunName(name);
  if (bad !== undefined) throw new StartFailure(bad);
  const dir = path.join(folders.runtimeDir, name);
  const file = path.join(dir, recordFile);
  const rootDir = path.join(folders.dataDir, name);
  const socketPath = path.join(dir, socketFile);
  if (Buffer.byteLength(socketPath) > longestSocketBytes)
    throw new StartFailure(
      `${socketPath} is too long for a socket, which may have ${longestSocketBytes} bytes: ` +
        'set NODELET_STATE_DIR to a folder with a shorter name',
    );
  await makeOrFail(folders.dataDir);
  await makePrivate(folders.runtimeDir);
  await makePrivate(dir);
  const { pid, startTime } = identify(process.pid);
  const record: RunRecord = {
    pid,
    processStart: startTime,
    rootDir,
    startedAt: new Date(nowMs).toISOString(),
  };
  const place = await placeRecord(file, record, { nowMs, onSetAside });
  if (place.kind === 'taken') throw alreadyRuns(name, place.pid);
  const takenOver = await stat(rootDir).then(() => true, ifMissing(false));
  await mkdir(rootDir, { recursive: true, mode: dataMode() });
  await rm(socketPath, { force: true });
  return {
    name,
    pid,
    socketPath,
    rootDir,
    startedAt: record.startedAt,
    alive: true,
    dir,
    takenOver,
    async release() {
      await rm(rootDir, { recursive: true, force: true });
      await rm(dir, { recursive: true, force: true });
      await removeEmptyFolders(folders);
    },
  };
}

/** Removes what holds the runs when there is none. */
export async function removeEmptyFolders(folders: StateFolders = stateFolders()): Promise<void> {
  await removeIfEmpty(folders.dataDir);
  await removeIfEmpty(path.dirname(folders.dataDir));
  await removeIfEmpty(folders.runtimeDir);
}

function alreadyRuns(name: string, pid: number | undefined): StartFailure {
  const option = name === defaultRunName ? '' : ` --name ${name}`;
  return new StartFailure(
    `a run named ${JSON.stringify(name)} is there already${pid === undefined ? '' : ` (pid ${pid})`}: ` +
      `look at it with "nodelet ps${option}", end it with "nodelet stop${option}", or give this one another name with --name`,
  );
}

async function makePrivate(dir: string): Promise<void> {
  await makeOrFail(dir, 0o700);
  await refuseStranger(dir);
}

/** Pods of root may run as other users, who must get to their own files below. */
export function dataMode(): number {
  return process.getuid?.() === 0 ? 0o711 : 0o700;
}

async function makeOrFail(dir: string, mode = dataMode()): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode });
  } catch (error) {
    throw new StartFailure(
      `the folder ${dir} cannot be made: ${errorText(error)}; set NODELET_STATE_DIR to a folder of your own`,
      { cause: error },
    );
  }
}

/** Below a folder that everyone may write to, another user could have put ours there first. */
async function refuseStranger(dir: string): Promise<void> {
  const info = await stat(dir).catch(ifMissing(undefined));
  const uid = process.getuid?.();
  if (info === undefined || uid === undefined) return;
  if (!info.isDirectory()) throw new StartFailure(`${dir} is not a folder: remove it`);
  if (info.uid !== uid)
    throw new StartFailure(
      `${dir} belongs to another user (uid ${info.uid}): set XDG_RUNTIME_DIR to a folder of your own`,
    );
}

async function removeIfEmpty(dir: string): Promise<void> {
  await rmdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'EBUSY', 'EACCES', 'EPERM'].includes(error.code ?? ''))
      throw error;
  });
}

function ifMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return value;
    throw error;
  };
}
