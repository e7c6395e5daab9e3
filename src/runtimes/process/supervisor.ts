/**
 * The process between the agent and one container, so that the container and its log outlive the agent: it
 * owns the container's output, waits for its exit and records both. Started as `node supervisor.js <container
 * directory> <start token> <boot id>`.
 *
 * There is one per container, so it uses only Node's own modules and does nothing while nothing happens. It
 * imports single files from other rooms, as do the files it imports: an index would load the whole room.
 */
import { statSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChildProcess } from '../../programs/start.js';
import { createStamps } from '../stamps.js';
import { AttachHub } from './attach-hub.js';
import { type CommandProcess, startCommand } from './command-process.js';
import { endContainerCgroup, enterContainerCgroup } from './container-cgroup.js';
import {
  answerReopenSync,
  type ContainerFiles,
  claimStartSync,
  containerFiles,
  isFileError,
  readLaunchSync,
  readReopenRequestSync,
  writeCgroupSync,
  writeStateSync,
  writeTerminalSync,
} from './container-files.js';
import { ContainerLogWriter } from './container-log-writer.js';
import { exitReason, failedStart, type LaunchSpec, type RecordedExit } from './container-state.js';
import { identify } from './identity.js';
import { closeInheritedFiles } from './inherited-files.js';
import { killStrays } from './strays.js';

/** How long to wait for output after the container's exit, in case somebody else holds its pipes. */
const drainLimitMs = 2_000;
const recordRetryMs = 1_000;
/** How often to retry recording the exit code on a full disk. */
const mostRecordTries = 600;

const stamp = createStamps(Date.now);

async function main(): Promise<void> {
  const [directory = '', token = '', bootId = ''] = process.argv.slice(2);
  const files = containerFiles(directory);
  // The container is stopped by signals to its own process group. A signal to the supervisor comes from a
  // machine that shuts down; the supervisor exits by itself once the container has.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  // Without a handler SIGUSR1 opens Node's inspector to every user of the machine.
  process.on('SIGUSR1', () => {});
  closeInheritedFiles();
  process.umask(0o022);
  const self = identify(process.pid);
  // Another claim means that the agent has taken back the start.
  if (!claimStartSync(files, token, { by: 'supervisor', supervisor: self })) return;
  const launch = readLaunchSync(files);
  const log = new ContainerLogWriter(launch.logPath, stamp);
  process.on('SIGHUP', () => reopenLog(files, log));
  const cgroup = enterCgroup(files, launch);
  const started = await start(launch, log);
  if (typeof started === 'string') {
    await endCgroup(launch, cgroup);
    record(files, failedStart(started, stamp()), undefined);
    return;
  }
  const startedAt = stamp();
  const hub = openHub(files, launch, started.child);
  const ended = follow(started, log, hub);
  const session = await started.session;
  const first = session?.leader ?? started.pid;
  try {
    if (session !== undefined) writeTerminalSync(files, session.device);
    writeStateSync(files, {
      kind: 'running',
      bootId,
      supervisor: self,
      process: identify(first),
      startedAt,
    });
  } catch (error) {
    await killAll(launch, first, cgroup);
    throw error;
  }
  const exitCode = await started.exited;
  const finishedAt = stamp();
  await killAll(launch, first, cgroup);
  await ended();
  log.close();
  record(
    files,
    {
      kind: 'exited',
      startedAt,
      finishedAt,
      exitCode,
      reason: exitReason(exitCode),
      message: '',
      ...(log.lostRecords > 0 ? { lostLogRecords: log.lostRecords } : {}),
    },
    hub,
  );
}

/** The container's first process, or why there is none. */
async function start(launch: LaunchSpec, log: ContainerLogWriter): Promise<CommandProcess | string> {
  const [command = ''] = launch.argv;
  try {
    if (!statSync(launch.workingDir).isDirectory())
      throw new Error(`${launch.workingDir} is not a directory`);
    log.open();
  } catch (error) {
    return `failed to start container process: exec: ${JSON.stringify(command)}: ${describe(error)}`;
  }
  try {
    return await startCommand(launch, {
      argv: launch.argv,
      stdin: launch.stdin !== undefined,
      tty: launch.tty === true,
    });
  } catch (error) {
    return `failed to start container process: ${describe(error)}`;
  }
}

function openHub({ directory }: ContainerFiles, launch: LaunchSpec, child: ChildProcess): AttachHub {
  return new AttachHub({
    directory,
    input: launch.stdin === undefined ? undefined : (child.stdin ?? undefined),
    inputOnce: launch.stdin === 'once',
    outputs: [child.stdout, child.stderr].filter((output) => output !== null),
    onProblem: note,
  });
}

/** Logs the output and sends it to attached clients; the returned function resolves when the output ends. */
function follow({ child }: CommandProcess, log: ContainerLogWriter, hub: AttachHub): () => Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => {
      log.write(stream, chunk);
      hub.write(stream, chunk);
    });
    child[stream]?.on('error', note);
  }
  return async () => {
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, drainLimitMs))]);
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]?.destroy();
      log.end(stream);
    }
  };
}

/** Everything that the container started ends with its first process. */
async function killAll(launch: LaunchSpec, processGroup: number, cgroup: string | undefined): Promise<void> {
  try {
    process.kill(-processGroup, 'SIGKILL');
  } catch {
    // The group is empty.
  }
  await endCgroup(launch, cgroup);
  // Exec commands are not in its cgroup.
  killStrays(launch.containerId);
}

/** Recorded before anything runs in it, so that a later process finds it. */
function enterCgroup(files: ContainerFiles, { containerId }: LaunchSpec): string | undefined {
  const cgroup = enterContainerCgroup(containerId);
  if (cgroup !== undefined) writeCgroupSync(files, cgroup);
  return cgroup;
}

async function endCgroup({ containerId }: LaunchSpec, cgroup: string | undefined): Promise<void> {
  if (cgroup !== undefined) await endContainerCgroup(containerId, cgroup, sleep);
}

function reopenLog(files: ContainerFiles, log: ContainerLogWriter): void {
  try {
    const request = readReopenRequestSync(files);
    log.open();
    answerReopenSync(files, request);
  } catch (error) {
    note(error);
  }
}

/** The last step; without it nobody would ever know how the container ended. */
function record(files: ContainerFiles, exit: RecordedExit, hub: AttachHub | undefined, tries = 1): void {
  try {
    writeStateSync(files, exit);
  } catch (error) {
    note(error);
    // Without its directory the container was removed or set aside, and nobody asks how it ended.
    if (tries >= mostRecordTries || isFileError(error, 'ENOENT')) process.exit(1);
    setTimeout(() => record(files, exit, hub, tries + 1), recordRetryMs);
    return;
  }
  // Attached clients read the last output before the socket goes with this process.
  void (hub?.close() ?? Promise.resolve()).finally(() => process.exit(0));
}

function note(error: unknown): void {
  try {
    writeSync(process.stderr.fd, `${new Date().toISOString()} ${describe(error)}\n`);
  } catch {
    // The file may be on the full disk, which must not end the container.
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

await main();
