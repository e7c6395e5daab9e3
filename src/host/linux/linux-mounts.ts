/** The mounts of this machine through the `mount` and `umount` commands and the kernel's mount table. */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import type { Clock } from '../../async/index.js';
import { isHostError, toHostError } from '../errors.js';
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
import { mountIdOf } from './held-path.js';
import { attempt, linuxFiles } from './linux-files.js';
import { type ListedMount, parseMountinfo, readsWhole } from './mountinfo.js';
import { runInShell } from './shells.js';

export interface LinuxMountsOptions {
  readonly clock: Clock;
  readonly mountTimeoutMs: number;
  readonly unmountTimeoutMs: number;
}

const mountTable = '/proc/self/mountinfo';
const readLimit = 10;

export function linuxMounts({ clock, mountTimeoutMs, unmountTimeoutMs }: LinuxMountsOptions): HostMounts {
  const mounts: HostMounts = {
    list: async (below) => listMounts(below).map(({ id: _, ...mount }) => mount),
    mount: async (request, signal) => {
      const flags = isBind(request) && request.source !== undefined ? await flagsAt(request.source) : [];
      for (const call of mountCalls(request, flags)) {
        const failure = await runInShell({
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
        runInShell({ clock, command: 'umount', arguments: arguments_, limitMs: timeoutMs });
      let failure = await umount(target);
      if (failure?.timedOut === true && force) failure = await umount('-f', target);
      if (failure !== undefined && !wasNotMounted(failure)) throw unmountFailure(target, failure);
    },
    makeShared: (path) => makeShared({ files: linuxFiles, mounts }, path),
  };
  return mounts;
}

/** The kernel gives a long table out in parts; where it may lose its place between them, only what reads the same twice is whole. */
function listMounts(below?: string): readonly ListedMount[] {
  let before = readTable();
  if (readsWhole(release())) return parseMountinfo(before, below);
  for (let reads = 1; reads < readLimit; reads++) {
    const now = readTable();
    if (now === before) return parseMountinfo(now, below);
    before = now;
  }
  throw new HostError('EAGAIN', mountTable, `${mountTable} changed in each of ${readLimit} readings`);
}

/** From the kernel's memory, in many small parts where many pods run: each would take a trip to Node's threads. */
function readTable(): string {
  try {
    return readFileSync(mountTable, 'utf8');
  } catch (error) {
    throw toHostError(error, mountTable);
  }
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
  return listMounts().find((mount) => mount.id === id)?.options ?? [];
}
