import { describe, expect, it } from 'vitest';
import {
  checkProblem,
  type DiskFormat,
  type DiskStep,
  diskFormat,
  diskStep,
  probeCommand,
} from './disk-format.js';

describe('diskFormat', () => {
  const rows: [rule: string, exitCode: number, output: string, expected: DiskFormat | undefined][] = [
    ['an empty disk', 2, '', undefined],
    ['a file system', 0, 'DEVNAME=/dev/x\nTYPE=ext4\n', { fsType: 'ext4' }],
    ['partitions', 0, 'PTTYPE=dos\n', { fsType: '' }],
    ['neither', 0, 'DEVNAME=/dev/x\n', undefined],
  ];
  it.each(rows)('%s', (_rule, exitCode, output, expected) => {
    expect(diskFormat({ exitCode, output }, '/dev/x')).toEqual(expected);
  });
  it('does not guess if the disk cannot be read', () => {
    expect(() => diskFormat({ exitCode: 4, output: 'usage' }, '/dev/x')).toThrow(
      'cannot tell what is on /dev/x',
    );
  });
});

describe('diskStep', () => {
  const text = (step: DiskStep): string =>
    step.kind === 'nothing' ? step.kind : `${step.kind}: ${step.command}`;
  const rows: [
    rule: string,
    found: DiskFormat | undefined,
    fsType: string,
    readOnly: boolean,
    expected: string,
  ][] = [
    ['an empty disk is formatted', undefined, 'ext4', false, 'format: mkfs.ext4 -F -m0 -- /dev/x'],
    ['ext3 likewise', undefined, 'ext3', false, 'format: mkfs.ext3 -F -m0 -- /dev/x'],
    ['xfs', undefined, 'xfs', false, 'format: mkfs.xfs -f -- /dev/x'],
    ['others', undefined, 'btrfs', false, 'format: mkfs.btrfs -- /dev/x'],
    ['a file system is checked', { fsType: 'ext4' }, 'ext4', false, 'check: fsck -a /dev/x'],
    ['a read-only file system is not checked', { fsType: 'ext4' }, 'ext4', true, 'nothing'],
    ['partitions are never touched', { fsType: '' }, 'ext4', false, 'nothing'],
  ];
  it.each(rows)('%s', (_rule, found, fsType, readOnly, expected) => {
    expect(text(diskStep('/dev/x', found, { fsType, readOnly }))).toBe(expected);
  });
  it('refuses an empty read-only disk', () => {
    expect(() => diskStep('/dev/x', undefined, { fsType: 'ext4', readOnly: true })).toThrow(
      'cannot mount unformatted disk /dev/x as we are manipulating it in read-only mode',
    );
  });
});

describe('invalid arguments of disk tools', () => {
  const hostile = [
    '-T/x',
    '--help',
    '',
    '../x',
    'LABEL=x',
    'a b',
    ';reboot',
    '$(id)',
    'x\0',
    'y'.repeat(200_000),
  ];
  it.each(hostile)('%j is not a device', (value) => {
    const disk = { fsType: 'ext4', readOnly: false };
    expect(() => probeCommand(value)).toThrow('local.path: ');
    expect(() => diskStep(value, undefined, disk)).toThrow('local.path: ');
    expect(() => diskStep(value, { fsType: 'ext4' }, disk)).toThrow('local.path: ');
  });
  it.each([...hostile, 'ext4/../x', '/bin/sh'])('%j is not a file system', (fsType) =>
    expect(() => diskStep('/dev/x', undefined, { fsType, readOnly: false })).toThrow('local.fsType: '),
  );
  it('a device cannot be read as an option', () => {
    const odd = '/dev/-x --help\n;$(id)';
    expect(probeCommand(odd).words.slice(-2)).toEqual(['--', odd]);
    const step = diskStep(odd, undefined, { fsType: 'btrfs', readOnly: false });
    expect(step.kind === 'format' && step.command.words).toEqual(['--', odd]);
  });
});

describe('checkProblem', () => {
  it.each([
    [0, undefined],
    [1, undefined],
    [4, "'fsck' found errors on device /dev/x but could not correct them: bad"],
    [8, undefined],
  ])('code %s', (exitCode, expected) => {
    expect(checkProblem({ exitCode, output: 'bad\n' }, '/dev/x')).toBe(expected);
  });
});
