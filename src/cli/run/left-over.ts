/** What a run leaves when its process is killed, and the removal of all that a run has made. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import type { Clock } from '../../async/index.js';
import { DurableFiles, linuxHost, type UnusableFile } from '../../host/index.js';
import { describeError } from '../../timeline/index.js';
import type { RuntimeChoice } from '../runtime-choice.js';
import { detachedLog } from './detach.js';
import { type OpenRuntime, openRuntime } from './open-runtime.js';
import { unmountBelow } from './remove-folders.js';
import { parseObject, runFilesVersion, wrongVersionOf } from './run-record.js';
import { type ClaimedRun, claimRun, removeEmptyFolders, warnOfUnusable } from './state.js';
import { sweepPods } from './sweep.js';

/** A choice that can be opened. */
export type UsableRuntime = Exclude<RuntimeChoice, { kind: 'impossible' }>;

/** Beside the record of the run, so that whoever comes after a crash knows where its containers are. */
const runtimeFile = 'runtime.json';

export async function noteRuntime(
  { dir }: Pick<ClaimedRun, 'dir'>,
  choice: UsableRuntime,
  clock: Clock,
): Promise<void> {
  const text = JSON.stringify({ version: runFilesVersion, ...choice });
  await storeOf(clock).write(path.join(dir, runtimeFile), text);
}

/**
 * The runtime of the run that was there before; undefined when it had not come so far. A broken note is set aside: what
 * the earlier run left on the runtime of this one is found all the same.
 */
export async function notedRuntime(
  { dir }: Pick<ClaimedRun, 'dir'>,
  clock: Clock,
  onSetAside: (file: UnusableFile) => void = warnOfUnusable,
): Promise<UsableRuntime | undefined> {
  const found = await storeOf(clock, onSetAside).read(path.join(dir, runtimeFile), parseNote);
  return found.kind === 'found' ? found.value : undefined;
}

function storeOf(clock: Clock, onSetAside = warnOfUnusable): DurableFiles {
  // A write that fails is told by its caller.
  const observer = { setAside: onSetAside, failing: () => undefined, recovered: () => undefined };
  return new DurableFiles({ files: linuxHost().files, clock, observer });
}

/** Throws what is wrong with the text. */
function parseNote(text: string): UsableRuntime {
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

/** Whether containers of the one are seen by the other. */
export function isSameRuntime(a: UsableRuntime, b: UsableRuntime): boolean {
  return a.kind === b.kind && (a.kind !== 'endpoint' || b.kind !== 'endpoint' || a.endpoint === b.endpoint);
}

/** Ends every container that a killed run of this name has left on that runtime. */
export async function sweepRuntime(choice: UsableRuntime, claim: ClaimedRun, clock: Clock): Promise<void> {
  const opened = await openRuntime(choice, { claim, clock, onProblem: () => undefined });
  try {
    await sweepPods(opened.cri);
  } finally {
    await opened.close();
  }
}

/** Removes every container first, then what is mounted: removing a folder would empty what is mounted there. */
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
      `the run could not be cleaned up: ${describeError(error)}; its next run (--name ${claim.name}) tries again. What is left is below ${claim.rootDir}`,
      { cause: error },
    );
  }
}

/** Kills and removes all that a run has left whose process is gone. Throws a StartFailure when it is not gone. */
export async function removeLeftOver(name: string, clock: Clock): Promise<void> {
  const claim = await claimRun(name, clock.now());
  const choice = await notedRuntime(claim, clock);
  let opened: OpenRuntime | undefined;
  if (choice !== undefined) opened = await openRuntime(choice, { claim, clock, onProblem: () => undefined });
  await cleanUp(claim, opened, clock);
  await rm(detachedLog(name), { force: true });
  await removeEmptyFolders();
}
