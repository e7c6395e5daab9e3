/** Makes the file system of a mounted disk as large as its disk. */
import { errorText } from '../../async/index.js';
import { type Host, mountAt } from '../../host/index.js';
import { absolutePath, CommandLine, checkedWord } from '../../programs/index.js';
import type { ExpandOutcome } from '../contracts.js';
import type { RunTool } from './disk-tools.js';

/** The end of what a tool says becomes part of the claim's status. */
const shownChars = 300;

export interface GrownDisk {
  readonly device: string;
  /** Where it is mounted once for all pods. */
  readonly mountPath: string;
}

/** The command that enlarges a file system while it is mounted; undefined if nodelet knows none for it. */
export function growthCommand(
  fsType: string,
  { device, mountPath }: GrownDisk,
): CommandLine<'given'> | undefined {
  const disk = checkedWord(absolutePath, 'the device', device);
  const directory = checkedWord(absolutePath, 'the directory of the mount', mountPath);
  switch (fsType) {
    case 'ext2':
    case 'ext3':
    case 'ext4':
      return CommandLine.of('resize2fs').operands(disk);
    case 'xfs':
      return CommandLine.of('xfs_growfs').operands(directory);
    case 'btrfs':
      return CommandLine.of('btrfs').literal('filesystem', 'resize', 'max').operands(directory);
    default:
      return undefined;
  }
}

/** Never rejects: what went wrong is part of the outcome. */
export async function growFileSystem(
  { host, run }: { readonly host: Host; readonly run: RunTool | undefined },
  disk: GrownDisk,
  signal: AbortSignal,
): Promise<ExpandOutcome> {
  try {
    if (run === undefined) throw new Error('this node has no tools for disks');
    const mount = await mountAt(host, disk.mountPath);
    if (mount === undefined) throw new Error(`nothing is mounted at ${disk.mountPath}`);
    const command = growthCommand(mount.fsType, disk);
    if (command === undefined) {
      const message = `the file system ${mount.fsType} of ${disk.device} cannot be enlarged here; do it by hand`;
      return { kind: 'failed', cause: 'refused', message };
    }
    const { exitCode, output } = await run(command, signal);
    if (exitCode === 0) return { kind: 'expanded' };
    const message = `cannot enlarge ${disk.device}: ${command.program} ended with ${exitCode}: ${output.trim().slice(-shownChars)}`;
    return { kind: 'failed', cause: 'refused', message };
  } catch (error) {
    return hindered(error);
  }
}

/** Something before the growth failed. */
export function hindered(error: unknown): ExpandOutcome {
  return { kind: 'failed', cause: 'hindered', message: errorText(error) };
}
