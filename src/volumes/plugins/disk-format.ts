/** Decides how to prepare a disk for mounting. */
import { absolutePath, CommandLine, checkedWord, fileSystemType, programName } from '../../programs/index.js';

/** How a system tool ended. */
export interface ToolOutcome {
  readonly exitCode: number;
  /** Both stdout and stderr. */
  readonly output: string;
}

export interface DiskFormat {
  /** Empty for a disk with something other than a file system, such as partitions. */
  readonly fsType: string;
}

/** blkid's exit code for an empty disk. */
const nothingFound = 2;

/** The content of a disk from `blkid -p -s TYPE -s PTTYPE -o export`; undefined if it is empty. */
export function diskFormat({ exitCode, output }: ToolOutcome, device: string): DiskFormat | undefined {
  if (exitCode === nothingFound) return undefined;
  if (exitCode !== 0)
    throw new Error(`cannot tell what is on ${device}: blkid ended with ${exitCode}: ${output.trim()}`);
  const values = new Map(
    output.split('\n').map((line): [string, string] => {
      const [name = '', ...rest] = line.split('=');
      return [name, rest.join('=').trim()];
    }),
  );
  const fsType = values.get('TYPE') ?? '';
  return fsType === '' && !values.get('PTTYPE') ? undefined : { fsType };
}

export type DiskStep =
  | { readonly kind: 'format'; readonly command: CommandLine }
  | { readonly kind: 'check'; readonly command: CommandLine }
  | { readonly kind: 'nothing' };

/** Formats an empty disk, checks one with a file system, and leaves a read-only one alone. */
export function diskStep(
  device: string,
  found: DiskFormat | undefined,
  { fsType, readOnly }: { readonly fsType: string; readonly readOnly: boolean },
): DiskStep {
  if (found === undefined) {
    if (readOnly) {
      throw new Error(`cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`);
    }
    return { kind: 'format', command: formatCommand(device, fsType) };
  }
  if (readOnly || found.fsType === '') return { kind: 'nothing' };
  return { kind: 'check', command: checkCommand(device) };
}

/** The command that detects what is on a disk. */
export function probeCommand(device: string): CommandLine {
  return CommandLine.of('blkid')
    .literal('-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export')
    .operands(checkedWord(absolutePath, 'local.path', device));
}

function checkCommand(device: string): CommandLine {
  return CommandLine.of('fsck')
    .literal('-a')
    .operands(checkedWord(absolutePath, 'local.path', device));
}

function formatCommand(device: string, fsType: string): CommandLine {
  const type = checkedWord(fileSystemType, 'local.fsType', fsType);
  const line = CommandLine.named(checkedWord(programName, 'local.fsType', `mkfs.${type}`));
  const path = checkedWord(absolutePath, 'local.path', device);
  if (fsType === 'ext3' || fsType === 'ext4') return line.literal('-F', '-m0').operands(path);
  return (fsType === 'xfs' ? line.literal('-f') : line).operands(path);
}

/** fsck's exit code for errors left uncorrected. */
const uncorrected = 4;

/** The errors that fsck left uncorrected; anything else does not prevent a mount. */
export function checkProblem({ exitCode, output }: ToolOutcome, device: string): string | undefined {
  if (exitCode !== uncorrected) return undefined;
  return `'fsck' found errors on device ${device} but could not correct them: ${output.trim()}`;
}
