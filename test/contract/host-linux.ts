/** This machine under test, with real mounts in a directory of its own. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { linuxHost } from '../../src/host/index.js';
import type { HostUnderTest } from './host-contract.js';

/** Runs a suite on this machine, which must be one that may mount. */
export function onThisMachine(suite: (name: string, create: () => Promise<HostUnderTest>) => void): void {
  // Each mount starts a process or two.
  vi.setConfig({ testTimeout: 60_000 });
  suite('linux', thisMachine);
}

async function thisMachine(): Promise<HostUnderTest> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new Error('real mounts are tested as root on Linux; run these tests there');
  }
  const umask = process.umask(0o022);
  // On the disk, not on a tmpfs: a renamed directory must stay within one file system.
  const place = realpathSync(mkdtempSync(join('/var/tmp', 'nodelet-host-')));
  // Mounts below a shared one are shared, as everywhere on a machine with systemd: these begin as private ones.
  execFileSync('mount', ['--bind', place, place]);
  execFileSync('mount', ['--make-private', place]);
  const directory = join(place, 'machine');
  mkdirSync(directory);
  return {
    host: linuxHost(),
    directory,
    makePipe: (path) => void execFileSync('mkfifo', [path]),
    dispose: async () => {
      process.umask(umask);
      if (descriptorsBelow(directory) > 0) throw new Error('descriptors were left behind');
      if (readFileSync('/proc/self/mountinfo', 'utf8').includes(directory))
        throw new Error('mounts were left behind');
      execFileSync('umount', [place]);
      rmSync(place, { recursive: true });
    },
  };
}

function descriptorsBelow(directory: string): number {
  return readdirSync('/proc/self/fdinfo').filter((fd) => {
    try {
      return realpathSync(`/proc/self/fd/${fd}`).startsWith(directory);
    } catch {
      return false;
    }
  }).length;
}
