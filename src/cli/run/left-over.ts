/** Removes everything that a run created, also after its process was killed. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import type { Clock } from '../../async/index.js';
import { DurableFiles, linuxHost, type UnusableFile } from '../../host/index.js';
import { describeError } from '../../timeline/index.js';
import type { RuntimeChoice } from '../runtime-choice.js';
import { detachedLog } from './detach.js';
import { type OpenRuntime, openRuntime } from './open-runtime.js';
import { parseObject, runFilesVersion, wrongVersionOf } from './run-record.js';
import { type ClaimedRun, claimRun, removeEmptyDirectories, warnOfUnusable } from './state.js';
import { sweepPods } from './sweep.js';
import { unmountBelow } from './unmount.js';

/** A runtime that can be opened. */
export type UsableRuntime = Exclude<RuntimeChoice, { kind: 'impossible' }>;

/** Stands beside the record of the run: after a crash it says which runtime has the containers. */
const runtimeFile = 'runtime.json';

export async function writeRuntimeFile(
  { dir }: Pick<ClaimedRun, 'dir'>,
  choice: UsableRuntime,
  clock: Clock,
): Promise<void> {
  const text = JSON.stringify({ version: runFilesVersion, ...choice });
  await storeOf(clock).write(path.join(dir, runtimeFile), text);
}

/**
 * Reads the runtime of the earlier run of this name; undefined when that run had not recorded one. Sets a broken file
 * aside: containers on the runtime of this run are found without it.
 */
export async function readRuntimeFile(
  { dir }: Pick<ClaimedRun, 'dir'>,
  clock: Clock,
  onSetAside: (file: UnusableFile) => void = warnOfUnusable,
): Promise<UsableRuntime | undefined> {
  const found = await storeOf(clock, onSetAside).read(path.join(dir, runtimeFile), parseRuntimeFile);
  return found.kind === 'found' ? found.value : undefined;
}

function storeOf(clock: Clock, onSetAside = warnOfUnusable): DurableFiles {
  // The caller reports a failed write.
  const observer = { setAside: onSetAside, failing: () => undefined, recovered: () => undefined };
  return new DurableFiles({ files: linuxHost().files, clock, observer });
}

/** Throws an error that says what is wrong with the text. */
function parseRuntimeFile(text: string): UsableRuntime {
  const value = parseObject(text);
  if (value === undefined) throw new Error('it is not whole JSON');
  const wrongVersion = wrongVersionOf(value);
  if (wrongVersion !== undefined) throw new Error(wrongVersion);
  const { kind, endpoint, podNetwork } = value;
  if (kind === 'process') return { kind, line: '' };
  if (kind === 'containerd') return { kind, podNetwork: podNetwork === true, line: '' };
  if (kind === 'endpoint' && typeof endpoint === 'string') return { kind, endpoint, line: '' };
  throw new Error('it names no runtime');
}

/** True when both see the same containers. */
export function isSameRuntime(a: UsableRuntime, b: UsableRuntime): boolean {
  return a.kind === b.kind && (a.kind !== 'endpoint' || b.kind !== 'endpoint' || a.endpoint === b.endpoint);
}

/** Removes all containers that a killed run of this name left on the runtime. */
export async function sweepRuntime(choice: UsableRuntime, claim: ClaimedRun, clock: Clock): Promise<void> {
  const opened = await openRuntime(choice, { claim, clock, onProblem: () => undefined });
  try {
    await sweepPods(opened.cri);
  } finally {
    await opened.close();
  }
}

/** Removes containers, then mounts, then directories: removing a directory would delete the content of its mounts. */
export async function cleanUp(
  claim: ClaimedRun,
  opened: OpenRuntime | undefined,
  clock: Clock,
): Promise<void> {
  try {
    try {
      if (opened !== undefined) await sweepPods(opened.cri);
    } finally {
      await opened?.close();
    }
    await unmountBelow(clock, [claim.rootDir, claim.dir]);
    await claim.release();
  } catch (error) {
    throw new StartFailure(
      `cannot clean up the run: ${describeError(error)}; the next run with --name ${claim.name} tries again. What is left is in ${claim.rootDir}`,
      { cause: error },
    );
  }
}

/** Kills and removes everything that a crashed run left. Throws a StartFailure when the run is alive. */
export async function cleanUpCrashedRun(name: string, clock: Clock): Promise<void> {
  const claim = await claimRun(name, clock.now());
  const choice = await readRuntimeFile(claim, clock);
  let opened: OpenRuntime | undefined;
  if (choice !== undefined) opened = await openRuntime(choice, { claim, clock, onProblem: () => undefined });
  await cleanUp(claim, opened, clock);
  await rm(detachedLog(name), { force: true });
  await removeEmptyDirectories();
}
