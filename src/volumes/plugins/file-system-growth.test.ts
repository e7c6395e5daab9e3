/** How the file systems of disks are enlarged. */
import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import type { ToolOutcome } from './disk-format.js';
import { growFileSystem, growthCommand } from './file-system-growth.js';

const disk = { device: '/dev/sdb', mountPath: '/mnt/b' };
const signal = new AbortController().signal;

describe('the command', () => {
  it.each([
    ['ext2', 'resize2fs /dev/sdb'],
    ['ext3', 'resize2fs /dev/sdb'],
    ['ext4', 'resize2fs /dev/sdb'],
    ['xfs', 'xfs_growfs /mnt/b'],
    ['btrfs', 'btrfs filesystem resize max /mnt/b'],
    ['vfat', undefined],
    ['', undefined],
  ])('for %s', (fsType, text) => expect(growthCommand(fsType, disk)?.toString()).toBe(text));

  it('takes no word that is no path', () =>
    expect(() => growthCommand('ext4', { ...disk, device: '-x' })).toThrow('the device'));
});

describe('the outcome', () => {
  const grow = async (fsType: string | undefined, end?: ToolOutcome | Error) => {
    const host = simulatedHost();
    await host.files.mkdir('/mnt/b', { recursive: true });
    if (fsType !== undefined)
      await host.mounts.mount({ source: '/dev/sdb', target: '/mnt/b', fsType, options: [] });
    const run = async (): Promise<ToolOutcome> => {
      if (end instanceof Error) throw end;
      return end ?? { exitCode: 0, output: '' };
    };
    return growFileSystem({ host, run }, disk, signal);
  };
  const failed = (cause: string, text: string) => ({
    kind: 'failed',
    cause,
    message: expect.stringContaining(text),
  });

  it.each<[string, Parameters<typeof grow>, object]>([
    ['done', ['ext4'], { kind: 'expanded' }],
    [
      'a tool that fails',
      ['xfs', { exitCode: 1, output: 'no\n' }],
      failed('refused', 'xfs_growfs ended with 1: no'),
    ],
    [
      'a tool that says much before it fails',
      ['xfs', { exitCode: 1, output: `${'x'.repeat(1_000_000)} no space\n` }],
      { kind: 'failed', cause: 'refused', message: expect.stringMatching(/^.{1,400} no space$/) },
    ],
    [
      'a tool that is missing',
      ['ext4', new Error('is it installed?')],
      failed('hindered', 'is it installed?'),
    ],
    ['nothing is mounted', [undefined], failed('hindered', 'nothing is mounted at /mnt/b')],
    [
      'another file system',
      ['tmpfs'],
      failed('refused', 'the file system tmpfs of /dev/sdb cannot be enlarged here'),
    ],
  ])('%s', async (_, given, outcome) => expect(await grow(...given)).toEqual(outcome));

  it('without tools', async () =>
    expect(await growFileSystem({ host: simulatedHost(), run: undefined }, disk, signal)).toMatchObject({
      cause: 'hindered',
    }));
});
