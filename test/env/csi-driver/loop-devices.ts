/** Loop devices of image files, found by what the kernel says: a driver that was killed knows nothing else. */
import { readdirSync, readFileSync } from 'node:fs';
import { runCommand } from '../command.js';
import { ifThere } from '../vanishing.js';

export interface LoopDevice {
  /** `/dev/loopN` */
  readonly path: string;
  readonly backingFile: string;
}

export function listLoopDevices(): LoopDevice[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .flatMap((name) => {
      const text = ifThere(() => readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8'));
      if (text === undefined) return [];
      return [{ path: `/dev/${name}`, backingFile: text.trim().replace(/ \(deleted\)$/, '') }];
    });
}

export function loopDevicesOf(backingFile: string): string[] {
  return listLoopDevices()
    .filter((device) => device.backingFile === backingFile)
    .map(({ path }) => path);
}

/** Those whose files are below a directory. */
export function loopDevicesBelow(dir: string): LoopDevice[] {
  return listLoopDevices().filter(({ backingFile }) => backingFile.startsWith(`${dir}/`));
}

/** The device of the file, which is made when there is none. */
export async function attachLoopDevice(backingFile: string): Promise<string> {
  const [present] = loopDevicesOf(backingFile);
  if (present !== undefined) return present;
  // Two drivers that look for a free device at once may find the same one; the later is told so and looks again.
  for (let triesLeft = 20; ; triesLeft--) {
    try {
      const { stdout } = await runCommand('losetup', ['--find', '--show', backingFile]);
      return stdout.trim();
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
  }
}

export async function detachLoopDevices(backingFile: string): Promise<void> {
  for (const device of loopDevicesOf(backingFile)) {
    await runCommand('losetup', ['--detach', device]).catch((error: unknown) => {
      if (loopDevicesOf(backingFile).includes(device)) throw error;
    });
  }
}

/** Lets the device see that its file has grown. */
export async function readSizeAgain(device: string): Promise<void> {
  await runCommand('losetup', ['--set-capacity', device]);
}
