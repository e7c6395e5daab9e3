/** The machine's disks, through the `losetup` command and the kernel's files. */
import { constants, readdirSync, readFileSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path/posix';
import type { Clock } from '../../async/index.js';
import { Shells } from '../../programs/index.js';
import { isHostError, isMissing, toHostError } from '../errors.js';
import type { HostBlockDevices, LoopDevice } from '../host.js';
import { attachLoopCommand, backingFile, detachLoopCommand, loopFailure } from '../loop-command.js';
import { attempt } from './linux-files.js';

const sysBlock = '/sys/block';
const limitMs = 60_000;

export function linuxBlockDevices(clock: Clock): HostBlockDevices {
  const shells = new Shells(clock);
  return {
    loops: async () => listLoops(),
    attachLoop: async (file) => {
      const command = attachLoopCommand(file);
      const failure = await shells.run(command, { limitMs });
      if (failure !== undefined) throw loopFailure(file, command, failure);
    },
    detachLoop: async (device) => {
      const command = detachLoopCommand(device);
      const failure = await shells.run(command, { limitMs });
      if (failure === undefined || !listLoops().some((loop) => loop.device === device)) return;
      throw loopFailure(device, command, failure);
    },
    isClaimed,
  };
}

/** Synchronous: the kernel has these short texts in memory. */
function listLoops(): readonly LoopDevice[] {
  const loops: LoopDevice[] = [];
  for (const name of namesOf(sysBlock)) {
    if (!/^loop[0-9]+$/.test(name)) continue;
    const file = textOf(join(sysBlock, name, 'loop/backing_file'));
    if (file !== undefined) loops.push({ device: `/dev/${name}`, file: backingFile(file) });
  }
  return loops;
}

function namesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    throw toHostError(error, directory);
  }
}

/** Undefined for a loop device that is not attached. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const failure = toHostError(error, path);
    if (isMissing(failure) || isHostError(failure, 'ENXIO', 'ENODEV')) return undefined;
    throw failure;
  }
}

/** The kernel refuses an exclusive open of a disk that is mounted or part of another one. */
async function isClaimed(path: string): Promise<boolean> {
  return attempt(path, async () => {
    // Nothing but a disk may be opened: a pipe would block.
    if (!(await stat(path)).isBlockDevice()) return false;
    await (await open(path, constants.O_RDONLY | constants.O_EXCL | constants.O_NONBLOCK)).close();
    return false;
  }).catch((error: unknown) => {
    if (isHostError(error, 'EBUSY')) return true;
    if (isHostError(error, 'ENOENT', 'ENOTDIR', 'ENXIO', 'ENODEV')) return false;
    throw error;
  });
}
