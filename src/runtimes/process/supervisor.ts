/**
 * The process that stands between the agent and one container, so that the container and its log
 * live on when the agent does not: it owns the container's output, waits for its end and writes
 * both down. Started as `node supervisor.js <container directory> <start token> <boot id>`.
 *
 * There is one for every container, so it uses Node's own modules only and does nothing while
 * nothing happens.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { constants } from 'node:os';
import { createStamps } from '../stamps.js';
import { findCommand } from './command-lookup.js';
import {
  answerReopenSync,
  type ContainerFiles,
  claimStartSync,
  containerFiles,
  readLaunchSync,
  readReopenRequestSync,
  writeStateSync,
} from './container-files.js';
import { exitReason, failedStart, type LaunchSpec, type RecordedExit } from './container-state.js';
import { identify } from './identity.js';
import { LogWriter } from './log-writer.js';
import { killStrays } from './strays.js';

/** How long output is waited for after the container's end, should somebody else hold its pipes. */
const drainLimitMs = 2_000;
const recordRetryMs = 1_000;
/** A full disk is given this many tries to have room again for the exit code. */
const mostRecordTries = 600;

const stamp = createStamps(Date.now);

async function main(): Promise<void> {
  const [directory = '', token = '', bootId = ''] = process.argv.slice(2);
  const files = containerFiles(directory);
  // The container is stopped by signals to its own process group. One that means the supervisor comes
  // from a machine that goes down; it ends by itself once the container has.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  process.umask(0o022);
  const self = identify(process.pid);
  // Another claim means that the agent has taken the start back.
  if (!claimStartSync(files, token, { by: 'supervisor', supervisor: self })) return;
  const launch = readLaunchSync(files);
  const log = new LogWriter(launch.logPath, stamp);
  process.on('SIGHUP', () => reopenLog(files, log));
  const started = await start(launch, log);
  if (typeof started === 'string') {
    record(files, failedStart(started, stamp()));
    return;
  }
  const startedAt = stamp();
  try {
    writeStateSync(files, {
      kind: 'running',
      bootId,
      supervisor: self,
      process: identify(started.pid),
      startedAt,
    });
  } catch (error) {
    killAll(launch, started.pid);
    throw error;
  }
  follow(started.child, log, () => {
    const finishedAt = stamp();
    killAll(launch, started.pid);
    return (code, signal) => {
      const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      log.close();
      record(files, {
        kind: 'exited',
        startedAt,
        finishedAt,
        exitCode,
        reason: exitReason(exitCode),
        message: '',
        ...(log.lostRecords > 0 ? { lostLogRecords: log.lostRecords } : {}),
      });
    };
  });
}

/** The container's first process, or why there is none. */
async function start(
  launch: LaunchSpec,
  log: LogWriter,
): Promise<{ child: ChildProcess; pid: number } | string> {
  const [command = '', ...args] = launch.argv;
  const lookup = findCommand(command, launch.env.PATH ?? '', launch.workingDir);
  if (!lookup.found) return `failed to start container process: ${lookup.problem}`;
  try {
    if (!statSync(launch.workingDir).isDirectory())
      throw new Error(`${launch.workingDir} is not a directory`);
    log.open();
    const child = spawn(lookup.path, args, {
      argv0: command,
      cwd: launch.workingDir,
      env: launch.env,
      ...launch.user,
      // A session of its own: signals of a terminal do not reach it, and it can be stopped as a whole.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (child.pid === undefined) throw (await once(child, 'error'))[0];
    child.on('error', note);
    return { child, pid: child.pid };
  } catch (error) {
    return `failed to start container process: exec: ${JSON.stringify(command)}: ${describe(error)}`;
  }
}

type Finish = (code: number | null, signal: NodeJS.Signals | null) => void;

/** Logs the output; calls back at the end of the process, and what that returns when the output has ended, too. */
function follow(child: ChildProcess, log: LogWriter, onExit: () => Finish): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => log.write(stream, chunk));
    child[stream]?.on('error', note);
  }
  child.once('exit', (code, signal) => {
    const finish = onExit();
    let finished = false;
    const end = (): void => {
      if (finished) return;
      finished = true;
      clearTimeout(timer);
      for (const stream of ['stdout', 'stderr'] as const) {
        child[stream]?.destroy();
        log.end(stream);
      }
      finish(code, signal);
    };
    const timer = setTimeout(end, drainLimitMs);
    child.once('close', end);
  });
}

/** Everything that the container started ends with its first process. */
function killAll(launch: LaunchSpec, processGroup: number): void {
  try {
    process.kill(-processGroup, 'SIGKILL');
  } catch {
    // Nobody is left in the group.
  }
  killStrays(launch.containerId);
}

function reopenLog(files: ContainerFiles, log: LogWriter): void {
  try {
    const request = readReopenRequestSync(files);
    log.open();
    answerReopenSync(files, request);
  } catch (error) {
    note(error);
  }
}

/** The last thing to do; without it nobody would ever know how the container ended. */
function record(files: ContainerFiles, exit: RecordedExit, tries = 1): void {
  try {
    writeStateSync(files, exit);
    process.exit(0);
  } catch (error) {
    note(error);
    if (tries >= mostRecordTries) process.exit(1);
    setTimeout(() => record(files, exit, tries + 1), recordRetryMs);
  }
}

function note(error: unknown): void {
  process.stderr.write(`${new Date().toISOString()} ${describe(error)}\n`);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

await main();
