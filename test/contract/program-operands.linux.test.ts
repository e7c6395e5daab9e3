/** The programs of this machine take what stands behind the end of options for an operand, whatever it looks like. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import {
  CommandLine,
  checkedWord,
  plainEnvironment,
  programName,
  runProgram,
} from '../../src/programs/index.js';

const mkfs = CommandLine.named(checkedWord(programName, 'program', 'mkfs.ext4'));

describe('operands of the programs of this machine', { timeout: 60_000 }, () => {
  const rows: readonly [program: string, line: CommandLine<'--'>][] = [
    ['blkid', CommandLine.of('blkid').literal('-p')],
    ['ldd', CommandLine.of('ldd')],
    ['losetup', CommandLine.of('losetup').literal('-f')],
    ['mkfs.ext4', mkfs.literal('-F')],
    ['mount', CommandLine.of('mount')],
    ['tar', CommandLine.of('tar').literal('--create', '--file=/dev/null')],
    ['umount', CommandLine.of('umount')],
    ['unshare', CommandLine.of('unshare')],
  ];
  it.each(rows)('%s', async (_, line) => {
    const end = await runProgram(line.operands('--help'), {
      clock: systemClock,
      limitMs: 30_000,
      env: plainEnvironment(),
      outputLimitBytes: 100_000,
    });
    // An option would have been obeyed, with a page of help and success.
    expect(end).toMatchObject({ kind: 'exited', exitCode: expect.toSatisfy((code: number) => code !== 0) });
    expect(`${end.stdout}${end.stderr}`).not.toMatch(/usage:|options:/i);
  });
});
