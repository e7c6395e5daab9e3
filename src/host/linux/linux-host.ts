/** The Linux machine that this process runs on, behind the Host port. */
import { release } from 'node:os';
import { type Clock, systemClock } from '../../async/index.js';
import type { Host } from '../host.js';
import { hold } from './held-path.js';
import { linuxFiles } from './linux-files.js';
import { linuxMounts } from './linux-mounts.js';
import { linuxOwnFiles } from './linux-own-files.js';

export interface LinuxHostOptions {
  readonly clock?: Clock;
  /** How long one `mount` command may take: 2 min. */
  readonly mountTimeoutMs?: number;
  /** How long one `umount` command may take where the caller sets no limit: 1 min. */
  readonly unmountTimeoutMs?: number;
}

export function linuxHost(options: LinuxHostOptions = {}): Host {
  const { clock = systemClock, mountTimeoutMs = 120_000, unmountTimeoutMs = 60_000 } = options;
  return {
    files: linuxFiles,
    ownFiles: linuxOwnFiles,
    mounts: linuxMounts({ clock, mountTimeoutMs, unmountTimeoutMs }),
    hold,
    kernelRelease: release(),
  };
}
