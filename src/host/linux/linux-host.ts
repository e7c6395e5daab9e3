/** The Linux machine of this process, behind the Host port. */
import { release } from 'node:os';
import { type Clock, systemClock } from '../../async/index.js';
import type { Host } from '../host.js';
import { watchDirectory } from './directory-watch.js';
import { holdBy } from './held-path.js';
import { laneCalls } from './lane-calls.js';
import { Lanes } from './lanes.js';
import { linuxBlockDevices } from './linux-block-devices.js';
import { filesBy, linuxFiles } from './linux-files.js';
import { linuxMounts } from './linux-mounts.js';
import { linuxOwnFiles } from './linux-own-files.js';
import { poolCalls } from './system-calls.js';
import { isInUserNamespace } from './user-namespace.js';

export interface LinuxHostOptions {
  readonly clock?: Clock;
  /** How long one `mount` command may take. Default: 2 min. */
  readonly mountTimeoutMs?: number;
  /** How long one `umount` command may take if the caller sets no limit. Default: 1 min. */
  readonly unmountTimeoutMs?: number;
  /** The threads for file systems that may not respond. Default: those of the process. */
  readonly lanes?: Lanes;
}

/** One per process, like Node's file threads and the descriptors: hosts are created wherever needed. */
const lanesOfProcess = new Lanes({ clock: systemClock });

export function linuxHost(options: LinuxHostOptions = {}): Host {
  const {
    clock = systemClock,
    mountTimeoutMs = 120_000,
    unmountTimeoutMs = 60_000,
    lanes = lanesOfProcess,
  } = options;
  return {
    files: linuxFiles,
    ownFiles: linuxOwnFiles,
    mounts: linuxMounts({ clock, mountTimeoutMs, unmountTimeoutMs, lanes }),
    blockDevices: linuxBlockDevices(clock),
    hold: holdBy(poolCalls),
    apart: (key) => {
      const calls = laneCalls(lanes, key);
      return { files: filesBy(calls), hold: holdBy(calls) };
    },
    watch: watchDirectory,
    kernelRelease: release(),
    // Making a host reads nothing: many are made only in case somebody needs one.
    get inUserNamespace() {
      return isInUserNamespace();
    },
  };
}
