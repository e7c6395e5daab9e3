/**
 * The directories of a `nodelet run`: other commands find the run there, and the next run of the same name can take over
 * what a killed one left.
 *
 * Each run has two directories named after it: one below the user's runtime directory for its process (record and
 * socket), and `rootDir` on disk for its pods.
 */
import { accessSync, constants } from 'node:fs';
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import { errorText } from '../../async/index.js';
import { removeTreeHere, type UnusableFile } from '../../host/index.js';
import { identify, isAlive } from '../../runtimes/process/identity.js';
import { placeRecord, type RunRecord, readRecord } from './run-record.js';

/** The name of a run without `--name`. */
export const defaultRunName = 'default';

export interface Run {
  readonly name: string;
  readonly pid: number;
  /** Open while the run is alive; only its user can connect. */
  readonly socketPath: string;
  /** The kubelet's root directory; it holds the timeline in `timeline/`. */
  readonly rootDir: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** False after a crash: `explain` and the next run of this name use what is left. */
  readonly alive: boolean;
}

export interface StateDirectories {
  /** Holds a directory per run with its record and its socket. */
  readonly runtimeDir: string;
  /** Holds a directory per run with the data of its pods. */
  readonly dataDir: string;
}

const recordFile = 'run.json';
const socketFile = 'nodelet.sock';
const longestName = 40;
/** The limit for socket paths on all systems, minus the suffix of a socket that is being created. */
const longestSocketBytes = 100;

/** The directories for the runs of this user; `NODELET_STATE_DIR` overrides both. */
export function stateDirectories(
  env: NodeJS.ProcessEnv = process.env,
  uid: number = process.getuid?.() ?? 0,
  isOwnMachine: () => boolean = ownsRun,
): StateDirectories {
  const own = env.NODELET_STATE_DIR;
  if (own) return { runtimeDir: path.resolve(own, 'run'), dataDir: path.resolve(own, 'data') };
  if (uid === 0 && process.platform === 'linux' && isOwnMachine())
    return { runtimeDir: '/run/nodelet', dataDir: '/var/lib/nodelet/runs' };
  const runtime = env.XDG_RUNTIME_DIR;
  const state = env.XDG_STATE_HOME || path.join(env.HOME || homedir(), '.local/state');
  return {
    runtimeDir: runtime ? path.join(runtime, 'nodelet') : path.join(tmpdir(), `nodelet-${uid}`),
    dataDir: path.join(state, 'nodelet/runs'),
  };
}

/** Root of a user namespace may be an ordinary user, who cannot write there. */
function ownsRun(): boolean {
  try {
    accessSync('/run', constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Says what is wrong with the name of a run, which becomes the name of directories; undefined when it is valid. */
export function badRunName(name: string): string | undefined {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= longestName) return undefined;
  return `${JSON.stringify(name)} cannot be the name of a run: use up to ${longestName} lower-case letters, digits and "-"`;
}

/** All live and crashed runs of this user, sorted by name. */
export async function listRuns(directories: StateDirectories = stateDirectories()): Promise<Run[]> {
  await requireOwner(directories.runtimeDir);
  const names = await readdir(directories.runtimeDir).catch(ifMissing<string[]>([]));
  const runs = await Promise.all(names.sort().map((name) => readRun(directories, name)));
  return runs.filter((run) => run !== undefined);
}

/** Returns the run of that name, or the only run; live runs come first. Throws a StartFailure that names the runs. */
export async function findRun(
  name?: string,
  directories: StateDirectories = stateDirectories(),
): Promise<Run> {
  const runs = await listRuns(directories);
  const liveRuns = runs.filter(({ alive }) => alive);
  const known = (some: readonly Run[]): string => some.map((run) => run.name).join(', ');
  if (name !== undefined) {
    const run = runs.find((candidate) => candidate.name === name);
    if (run !== undefined) return run;
    const others = runs.length === 0 ? 'nothing runs' : `there is ${known(runs)}`;
    throw new StartFailure(`no run is named ${JSON.stringify(name)}: ${others}`);
  }
  const candidates = liveRuns.length > 0 ? liveRuns : runs;
  const [run] = candidates;
  if (run === undefined)
    throw new StartFailure('nothing runs: start pods with nodelet run FILE (see nodelet run --help)');
  if (candidates.length === 1) return run;
  throw new StartFailure(`several runs are there: choose one with --name: ${known(candidates)}`);
}

export async function readRun(directories: StateDirectories, name: string): Promise<Run | undefined> {
  if (badRunName(name) !== undefined) return undefined;
  const dir = path.join(directories.runtimeDir, name);
  const read = await readRecord(path.join(dir, recordFile));
  // A broken record identifies no process. The next run of the name sets it aside.
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
  /** The directory with the record, the socket and other files that end with the process. */
  readonly dir: string;
  /** True when an earlier process of this name ended without cleaning up. */
  readonly takenOver: boolean;
  /** Removes both directories. Nothing of the run may use them any more. */
  release(): Promise<void>;
}

/** Warns the user about a broken file of a run. */
export function warnOfUnusable({ path: file, movedTo, reason }: UnusableFile): void {
  const place = movedTo === undefined ? 'it could not be moved away' : `it is kept as ${movedTo}`;
  process.stderr.write(`warning: ${file} cannot be used: ${reason}; ${place} until the run ends\n`);
}

/** Makes this process the run of that name. Throws a StartFailure when another process has the name. */
export async function claimRun(
  name: string,
  nowMs: number,
  directories: StateDirectories = stateDirectories(),
  onSetAside: (file: UnusableFile) => void = warnOfUnusable,
): Promise<ClaimedRun> {
  const bad = badRunName(name);
  if (bad !== undefined) throw new StartFailure(bad);
  const dir = path.join(directories.runtimeDir, name);
  const file = path.join(dir, recordFile);
  const rootDir = path.join(directories.dataDir, name);
  const socketPath = path.join(dir, socketFile);
  if (Buffer.byteLength(socketPath) > longestSocketBytes)
    throw new StartFailure(
      `${socketPath} is too long for a socket, whose path can have ${longestSocketBytes} bytes: ` +
        'set NODELET_STATE_DIR to a directory with a shorter name',
    );
  await createDirectory(directories.dataDir);
  await createPrivateDirectory(directories.runtimeDir);
  await createPrivateDirectory(dir);
  const { pid, startTime } = identify(process.pid);
  const record: RunRecord = {
    pid,
    processStart: startTime,
    rootDir,
    startedAt: new Date(nowMs).toISOString(),
  };
  const place = await placeRecord(file, record, { nowMs, onSetAside });
  if (place.kind === 'taken') throw nameTaken(name, place.pid);
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
      // A process that its container lost sight of may still exchange entries here.
      await removeTreeHere(rootDir);
      await removeTreeHere(dir);
      await removeEmptyDirectories(directories);
    },
  };
}

/** Removes the directories of runs when they are empty. */
export async function removeEmptyDirectories(
  directories: StateDirectories = stateDirectories(),
): Promise<void> {
  await removeIfEmpty(directories.dataDir);
  await removeIfEmpty(path.dirname(directories.dataDir));
  await removeIfEmpty(directories.runtimeDir);
}

function nameTaken(name: string, pid: number | undefined): StartFailure {
  const option = name === defaultRunName ? '' : ` --name ${name}`;
  return new StartFailure(
    `a run named ${JSON.stringify(name)} is there already${pid === undefined ? '' : ` (pid ${pid})`}: ` +
      `see "nodelet ps${option}", stop it with "nodelet stop${option}", or give this one another name with --name`,
  );
}

async function createPrivateDirectory(dir: string): Promise<void> {
  await createDirectory(dir, 0o700);
  await requireOwner(dir);
}

/** Pods of root may run as other users, who need access to their files below. */
export function dataMode(): number {
  return process.getuid?.() === 0 ? 0o711 : 0o700;
}

async function createDirectory(dir: string, mode = dataMode()): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode });
  } catch (error) {
    throw new StartFailure(
      `cannot create the directory ${dir}: ${errorText(error)}; set NODELET_STATE_DIR to a directory of your own`,
      { cause: error },
    );
  }
}

/** In a directory that everyone can write to, another user could have created ours first. */
async function requireOwner(dir: string): Promise<void> {
  const info = await stat(dir).catch(ifMissing(undefined));
  const uid = process.getuid?.();
  if (info === undefined || uid === undefined) return;
  if (!info.isDirectory()) throw new StartFailure(`${dir} is not a directory: remove it`);
  if (info.uid !== uid)
    throw new StartFailure(
      `${dir} belongs to another user (uid ${info.uid}): set XDG_RUNTIME_DIR to a directory of your own`,
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
