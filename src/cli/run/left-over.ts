/** What a run leaves when its process is killed, and the removal of all that a run has made. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../async/index.js';
import { describeError } from '../../timeline/index.js';
import type { RuntimeChoice } from '../runtime-choice.js';
import { StartFailure } from '../start-failure.js';
import { detachedLog } from './detach.js';
import { type OpenRuntime, openRuntime } from './open-runtime.js';
import { unmountBelow } from './remove-folders.js';
import { type ClaimedRun, claimRun, removeEmptyFolders } from './state.js';
import { sweepPods } from './sweep.js';

/** A choice that can be opened. */
export type UsableRuntime = Exclude<RuntimeChoice, { kind: 'impossible' }>;

/** Beside the record of the run, so that whoever comes after a crash knows where its containers are. */
const runtimeFile = 'runtime.json';

export async function noteRuntime({ dir }: Pick<ClaimedRun, 'dir'>, choice: UsableRuntime): Promise<void> {
  await writeFile(path.join(dir, runtimeFile), JSON.stringify(choice), { mode: 0o600 });
}

/** The runtime of the run that was there before; undefined when it had not come so far. */
export async function notedRuntime({ dir }: Pick<ClaimedRun, 'dir'>): Promise<UsableRuntime | undefined> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path.join(dir, runtimeFile), 'utf8'));
  } catch (error) {
    // None was written, or it was cut off by the crash: then nothing had been started on it.
    if (
      error instanceof SyntaxError ||
      (error instanceof Error && 'code' in error && error.code === 'ENOENT')
    )
      return undefined;
    throw error;
  }
  if (typeof value !== 'object' || value === null || !('kind' in value)) return undefined;
  if (value.kind === 'process') return { kind: 'process', line: '' };
  if (value.kind === 'containerd')
    return { kind: 'containerd', podNetwork: 'podNetwork' in value && value.podNetwork === true, line: '' };
  if (value.kind === 'endpoint' && 'endpoint' in value && typeof value.endpoint === 'string')
    return { kind: 'endpoint', endpoint: value.endpoint, line: '' };
  return undefined;
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
  const choice = await notedRuntime(claim);
  let opened: OpenRuntime | undefined;
  if (choice !== undefined) opened = await openRuntime(choice, { claim, clock, onProblem: () => undefined });
  await cleanUp(claim, opened, clock);
  await rm(detachedLog(name), { force: true });
  await removeEmptyFolders();
}
