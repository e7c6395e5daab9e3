/** The machine's mounts, through the `mount` and `umount` commands and the kernel's mount table. */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import type { Clock } from '../../async/index.js';
import { Shells } from '../../programs/index.js';
import { isHostError, toHostError } from '../errors.js';
import { HostError, type HostMounts, type MountPoint } from '../host.js';
import { makeShared } from '../make-shared.js';
import {
  isBind,
  mountCalls,
  mountCommand,
  mountFailure,
  saysNotMounted,
  unmountCommand,
  unmountFailure,
} from '../mount-command.js';
import { nameInMountTable } from '../mount-points.js';
import { mountIdOf } from './held-path.js';
import { laneCalls } from './lane-calls.js';
import type { Lanes } from './lanes.js';
import { attempt, linuxFiles } from './linux-files.js';
import { type ListedMount, parseMountinfo, readsWhole } from './mountinfo.js';

export interface LinuxMountsOptions {
  readonly clock: Clock;
  readonly mountTimeoutMs: number;
  readonly unmountTimeoutMs: number;
  /** For inspecting a bind's source, which may lie on a server that does not respond. */
  readonly lanes: Lanes;
}

const mountTable = '/proc/self/mountinfo';
const readLimit = 10;

export function linuxMounts({
  clock,
  mountTimeoutMs,
  unmountTimeoutMs,
  lanes,
}: LinuxMountsOptions): HostMounts {
  const shells = new Shells(clock);
  const whole = wholeTable();
  const mounts: HostMounts = {
    list: async (below) => (below === undefined ? whole() : withoutIds(listMounts(below))),
    mount: async (request, signal) => {
      // Rejects anything `mount` must not be given before the source is inspected.
      mountCalls(request, []);
      const flags =
        isBind(request) && request.source !== undefined ? await flagsAt(lanes, request.source) : [];
      for (const call of mountCalls(request, flags)) {
        const failure = await shells.run(mountCommand(call), { limitMs: mountTimeoutMs, signal });
        if (failure !== undefined) throw mountFailure(call, failure);
      }
    },
    unmount: async (target, { force = false, lazy = false, timeoutMs = unmountTimeoutMs } = {}) => {
      const umount = (byForce: boolean) =>
        shells.run(unmountCommand(target, { force: byForce, lazy }), { limitMs: timeoutMs });
      let failure = await umount(false);
      if (failure?.timedOut === true && force) failure = await umount(true);
      if (failure === undefined) return;
      if (saysNotMounted(target, failure) && !(await isMounted(target))) return;
      throw unmountFailure(target, failure);
    },
    makeShared: (path) => makeShared({ files: linuxFiles, mounts }, path),
  };
  return mounts;
}

function withoutIds(mounts: readonly ListedMount[]): readonly MountPoint[] {
  return mounts.map(({ id: _, ...mount }) => mount);
}

/** The whole table, parsed anew only when it has changed: with many pods that takes longer than to read it. */
function wholeTable(): () => readonly MountPoint[] {
  let last: { readonly text: string; readonly mounts: readonly MountPoint[] } | undefined;
  return () => {
    const text = readWhole();
    if (last?.text !== text) last = { text, mounts: withoutIds(parseMountinfo(text)) };
    return last.mounts;
  };
}

function listMounts(below?: string): readonly ListedMount[] {
  return parseMountinfo(readWhole(), below);
}

/**
 * The kernel returns a long table in parts. Where it may lose its place between them, only two equal readings
 * are complete.
 */
function readWhole(): string {
  let before = readTable();
  if (readsWhole(release())) return before;
  for (let reads = 1; reads < readLimit; reads++) {
    const now = readTable();
    if (now === before) return now;
    before = now;
  }
  throw new HostError('EAGAIN', mountTable, `${mountTable} changed in each of ${readLimit} readings`);
}

/** Synchronous: the table is in the kernel's memory, but comes in many small parts, each a trip to Node's threads. */
function readTable(): string {
  try {
    return readFileSync(mountTable, 'utf8');
  } catch (error) {
    throw toHostError(error, mountTable);
  }
}

/** Whether the mount table has an entry for this very path, or for the target it links to. */
async function isMounted(target: string): Promise<boolean> {
  const at = (name: string): boolean => listMounts(name).some((mount) => mount.target === name);
  // Resolves the path only if it is not a mount point: touching one whose server is gone could take forever.
  return at(await nameInMountTable(linuxFiles, target)) || at(await linuxFiles.realpath(target));
}

/** The flags of the mount that holds a path. None for a missing path; the mount itself reports that. */
async function flagsAt(lanes: Lanes, path: string): Promise<readonly string[]> {
  let id: number;
  try {
    id = await attempt(path, () => mountIdOf(laneCalls(lanes, path), path));
  } catch (error) {
    // Any other failure must not drop a `nosuid` or `ro`.
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
  return listMounts().find((mount) => mount.id === id)?.options ?? [];
}
