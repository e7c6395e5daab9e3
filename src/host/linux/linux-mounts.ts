/** The mounts of this machine through the `mount` and `umount` commands and the kernel's mount table. */
import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import type { Clock } from '../../async/index.js';
import { isHostError } from '../errors.js';
import { HostError, type HostMounts } from '../host.js';
import { makeShared } from '../make-shared.js';
import {
  isBind,
  mountArguments,
  mountCalls,
  mountFailure,
  unmountFailure,
  wasNotMounted,
} from '../mount-command.js';
import { runCommand } from './command.js';
import { mountIdOf } from './held-path.js';
import { attempt, linuxFiles } from './linux-files.js';
import { type ListedMount, parseMountinfo, readsWhole } from './mountinfo.js';

export interface LinuxMountsOptions {
  readonly clock: Clock;
  readonly mountTimeoutMs: number;
  readonly unmountTimeoutMs: number;
}

const mountTable = '/proc/self/mountinfo';
const readLimit = 10;

export function linuxMounts({ clock, mountTimeoutMs, unmountTimeoutMs }: LinuxMountsOptions): HostMounts {
  const listed = sharedReading(listMounts);
  const mounts: HostMounts = {
    list: async () => (await listed()).map(({ id: _, ...mount }) => mount),
    mount: async (request, signal) => {
      const flags = isBind(request) && request.source !== undefined ? await flagsAt(request.source) : [];
      for (const call of mountCalls(request, flags)) {
        const failure = await runCommand({
          clock,
          command: 'mount',
          arguments: mountArguments(call),
          limitMs: mountTimeoutMs,
          signal,
        });
        if (failure !== undefined) throw mountFailure(call, failure);
      }
    },
    unmount: async (target, { force = false, timeoutMs = unmountTimeoutMs } = {}) => {
      const umount = (...arguments_: string[]) =>
        runCommand({ clock, command: 'umount', arguments: arguments_, limitMs: timeoutMs });
      let failure = await umount(target);
      if (failure?.timedOut === true && force) failure = await umount('-f', target);
      if (failure !== undefined && !wasNotMounted(failure)) throw unmountFailure(target, failure);
    },
    makeShared: (path) => makeShared({ files: linuxFiles, mounts }, path),
  };
  return mounts;
}

/**
 * Those who ask while a reading is under way share the next one, which shows all that was there when they asked: the table
 * is long where many pods run, and pods that end at once all ask for it.
 */
function sharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    current = read().finally(() => {
      current = undefined;
    });
    return current;
  };
  return () => {
    if (current === undefined) return begin();
    next ??= current.then(begin, begin);
    return next;
  };
}

/** The kernel gives a long table out in parts; where it may lose its place between them, only what reads the same twice is whole. */
async function listMounts(): Promise<readonly ListedMount[]> {
  let before = await readTable();
  if (readsWhole(release())) return parseMountinfo(before);
  for (let reads = 1; reads < readLimit; reads++) {
    const now = await readTable();
    if (now === before) return parseMountinfo(now);
    before = now;
  }
  throw new HostError('EAGAIN', mountTable, `${mountTable} changed in each of ${readLimit} readings`);
}

function readTable(): Promise<string> {
  return attempt(mountTable, () => readFile(mountTable, 'utf8'));
}

/** The flags of the mount that a path lies in; a path that is not there has none, and the mount itself tells of it. */
async function flagsAt(path: string): Promise<readonly string[]> {
  let id: number;
  try {
    id = await attempt(path, () => mountIdOf(path));
  } catch (error) {
    // Any other failure must not lose a `nosuid` or `ro`.
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
  return (await listMounts()).find((mount) => mount.id === id)?.options ?? [];
}
