/** The file that names the process of a run: whole or not there, of one process at a time, and set aside when it is broken. */
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
  /** Together with the pid it names one process for ever. */
  readonly processStart: string;
  readonly rootDir: string;
  readonly startedAt: string;
}

/** Of the files of a run; those of earlier builds bear none. */
export const runFilesVersion = 1;

/** Dead claimants in a row, or others that come and go meanwhile, before the name is given up as taken. */
const mostAttempts = 20;

export type ReadRecord =
  | { readonly kind: 'missing' }
  | { readonly kind: 'found'; readonly record: RunRecord; readonly process: ProcessIdentity }
  | {
      readonly kind: 'unusable';
      readonly reason: string;
      /** Whom the record of another version names. */
      readonly process?: ProcessIdentity;
    };

export type RecordOutcome =
  | { readonly kind: 'placed' }
  /** A living process has the name. */
  | { readonly kind: 'taken'; readonly pid: number | undefined };

export interface PutRecordOptions {
  readonly nowMs: number;
  readonly onSetAside: (file: UnusableFile) => void;
}

/** Rejects only for what says nothing of the file. */
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

/** What the text of a record says. */
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

/** What is wrong with the version of a run's file; nothing when this build knows it. */
export function wrongVersionOf({
  version = runFilesVersion,
}: Readonly<Record<string, unknown>>): string | undefined {
  if (version === runFilesVersion) return undefined;
  return `it is of version ${JSON.stringify(version)}, and this nodelet knows version ${runFilesVersion}`;
}

/** Undefined when the text is no JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Any object can be read as a record of unknown values.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Puts the record where it is seen, atomically, so that of two processes only one succeeds. */
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
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    if (await linkTo(draft, file)) return { kind: 'placed' };
    const before = await entryAt(file);
    if (before === undefined) continue;
    const pid = (await livingIn(before.read))?.pid;
    if (pid !== undefined) return { kind: 'taken', pid };
    const right = await winRight(draft, file, before);
    if (right.kind === 'taken') return right;
    try {
      // What was there when the right was won stays: only its holder may take it away.
      if ((await entryAt(file))?.key !== before.key) continue;
      if (before.read.kind === 'found') {
        await linuxHost().files.rename(draft, file);
        return { kind: 'placed' };
      }
      const movedTo = await setAside(linuxHost().files, file, options.nowMs);
      options.onSetAside({ path: file, movedTo, reason: before.read.reason });
    } finally {
      for (const claim of right.claims) await rm(claim, { force: true });
    }
  }
  return { kind: 'taken', pid: undefined };
}

interface RunRecordEntry {
  readonly read: Exclude<ReadRecord, { kind: 'missing' }>;
  /** No other entry of this name ever has the same. */
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

type RunClaim =
  | { readonly kind: 'won'; readonly claims: readonly string[] }
  | Extract<RecordOutcome, { kind: 'taken' }>;

/**
 * The right to replace the record of a dead process, which one of several processes has: a file that bears the dead one's
 * key and holds the record of whoever claims it. When a claimant has died, its own key is claimed in turn, so that no file
 * must be taken away that another process may have just made.
 */
async function winRight(draft: string, file: string, dead: RunRecordEntry): Promise<RunClaim> {
  const claims: string[] = [];
  let { key } = dead;
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const claim = `${file}.after-${key}`;
    if (await linkTo(draft, claim)) return { kind: 'won', claims: [...claims, claim] };
    const claimant = await entryAt(claim);
    // Gone: its holder has placed its record or has given up.
    if (claimant === undefined) continue;
    const pid = (await livingIn(claimant.read))?.pid;
    if (pid !== undefined) return { kind: 'taken', pid };
    claims.push(claim);
    key = claimant.key;
  }
  return { kind: 'taken', pid: undefined };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

async function livingIn(read: RunRecordEntry['read']): Promise<ProcessIdentity | undefined> {
  if (read.process === undefined) return undefined;
  return (await isAlive(read.process)) ? read.process : undefined;
}

/** False when something is there. */
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
