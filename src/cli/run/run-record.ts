/** The record file that names the process of a run: placed atomically by one process, set aside when broken. */
import { createHash, randomBytes } from 'node:crypto';
import { link, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  isMissing,
  isShortage,
  linuxHost,
  readWholeFile,
  replaceFile,
  setAside,
  toHostError,
  type UnusableFile,
} from '../../host/index.js';
import type { ProcessIdentity } from '../../runtimes/process/container-state.js';
import { isAlive } from '../../runtimes/process/identity.js';

export interface RunRecord {
  readonly pid: number;
  /** Identifies one process for ever, together with the pid. */
  readonly processStart: string;
  readonly rootDir: string;
  readonly startedAt: string;
}

/** The version of the files of a run. Files of earlier builds have none. */
export const runFilesVersion = 1;

/** How many dead or competing claimants are tolerated before the name counts as taken. */
const maxAttempts = 20;

export type ReadRecord =
  | { readonly kind: 'missing' }
  | { readonly kind: 'found'; readonly record: RunRecord; readonly process: ProcessIdentity }
  | {
      readonly kind: 'unusable';
      readonly reason: string;
      /** The process that a record of another version names. */
      readonly process?: ProcessIdentity;
    };

export type RecordOutcome =
  | { readonly kind: 'placed' }
  /** A live process has the name. */
  | { readonly kind: 'taken'; readonly pid: number | undefined };

export interface PutRecordOptions {
  readonly nowMs: number;
  readonly onSetAside: (file: UnusableFile) => void;
}

/** Rejects only for errors that are not about the file, such as too many open files. */
export async function readRecord(file: string): Promise<ReadRecord> {
  let text: string | undefined;
  try {
    text = await readWholeFile(linuxHost().files, file);
  } catch (error) {
    if (isShortage(error)) throw error;
    return { kind: 'unusable', reason: error instanceof Error ? error.message : String(error) };
  }
  return text === undefined ? { kind: 'missing' } : parseRecord(text);
}

/** Parses the text of a record. */
export function parseRecord(text: string): ReadRecord {
  const value = parseObject(text);
  if (value === undefined) return { kind: 'unusable', reason: 'it is not whole JSON' };
  const { pid, processStart, rootDir, startedAt } = value;
  const process =
    typeof pid === 'number' && typeof processStart === 'string'
      ? { pid, startTime: processStart }
      : undefined;
  const wrongVersion = wrongVersionOf(value);
  if (wrongVersion !== undefined)
    return { kind: 'unusable', reason: wrongVersion, ...(process && { process }) };
  if (process === undefined || typeof rootDir !== 'string' || typeof startedAt !== 'string')
    return { kind: 'unusable', reason: 'it is not the record of a run' };
  const record = { pid: process.pid, processStart: process.startTime, rootDir, startedAt };
  return { kind: 'found', record, process };
}

/** Says what is wrong with the version of a run's file; undefined when this build knows it. */
export function wrongVersionOf({
  version = runFilesVersion,
}: Readonly<Record<string, unknown>>): string | undefined {
  if (version === runFilesVersion) return undefined;
  return `it is of version ${JSON.stringify(version)}, and this nodelet knows version ${runFilesVersion}`;
}

/** Undefined when the text is not a JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Any object can be read as a record of unknown values.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Places the record atomically: of two processes only one succeeds. */
export async function placeRecord(
  file: string,
  record: RunRecord,
  options: PutRecordOptions,
): Promise<RecordOutcome> {
  const { files } = linuxHost();
  const draft = `${file}.${record.pid}-${randomBytes(4).toString('hex')}`;
  await replaceFile(files, draft, JSON.stringify({ version: runFilesVersion, ...record }));
  try {
    const place = await putDraft(draft, file, options);
    if (place.kind === 'placed') await files.syncDirectory(path.dirname(file));
    return place;
  } finally {
    await rm(draft, { force: true });
  }
}

async function putDraft(draft: string, file: string, options: PutRecordOptions): Promise<RecordOutcome> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (await linkTo(draft, file)) return { kind: 'placed' };
    const before = await entryAt(file);
    if (before === undefined) continue;
    const pid = (await liveProcess(before.read))?.pid;
    if (pid !== undefined) return { kind: 'taken', pid };
    const takeover = await claimTakeover(draft, file, before);
    if (takeover.kind === 'taken') return takeover;
    try {
      // Only the holder of the takeover may replace the record, so it must still be the same one.
      if ((await entryAt(file))?.key !== before.key) continue;
      if (before.read.kind === 'found') {
        await linuxHost().files.rename(draft, file);
        return { kind: 'placed' };
      }
      const movedTo = await setAside(linuxHost().files, file, options.nowMs);
      options.onSetAside({ path: file, movedTo, reason: before.read.reason });
    } finally {
      for (const claim of takeover.claims) await rm(claim, { force: true });
    }
  }
  return { kind: 'taken', pid: undefined };
}

interface RunRecordEntry {
  readonly read: Exclude<ReadRecord, { kind: 'missing' }>;
  /** Unique among all entries of this name. */
  readonly key: string;
}

async function entryAt(file: string): Promise<RunRecordEntry | undefined> {
  const read = await readRecord(file);
  if (read.kind === 'missing') return undefined;
  if (read.process !== undefined)
    return { read, key: hashOf(`${read.process.pid} ${read.process.startTime}`) };
  try {
    const { inode, modifiedMs } = await linuxHost().files.lstat(file);
    return { read, key: hashOf(`broken ${inode} ${modifiedMs}`) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

type RunTakeover =
  | { readonly kind: 'won'; readonly claims: readonly string[] }
  | Extract<RecordOutcome, { kind: 'taken' }>;

/**
 * Claims the takeover of the record of a dead process, which only one process can hold. A claim is a file named after the
 * key of the dead process that holds the record of the claimant. If a claimant has died, its key is claimed in turn, so no
 * process ever removes a file that another one may have just created.
 */
async function claimTakeover(draft: string, file: string, dead: RunRecordEntry): Promise<RunTakeover> {
  const claims: string[] = [];
  let { key } = dead;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const claim = `${file}.after-${key}`;
    if (await linkTo(draft, claim)) return { kind: 'won', claims: [...claims, claim] };
    const claimant = await entryAt(claim);
    // Its holder has placed its record or has given up.
    if (claimant === undefined) continue;
    const pid = (await liveProcess(claimant.read))?.pid;
    if (pid !== undefined) return { kind: 'taken', pid };
    claims.push(claim);
    key = claimant.key;
  }
  return { kind: 'taken', pid: undefined };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

async function liveProcess(read: RunRecordEntry['read']): Promise<ProcessIdentity | undefined> {
  if (read.process === undefined) return undefined;
  return (await isAlive(read.process)) ? read.process : undefined;
}

/** False when the target exists. */
async function linkTo(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    const failure = toHostError(error, to);
    if (failure.code === 'EEXIST') return false;
    throw failure;
  }
}
