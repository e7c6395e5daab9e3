/** The arguments and failure texts of the commands. */
import { describe, expect, it } from 'vitest';
import type { MountRequest } from './host.js';
import {
  failureCode,
  mountArguments,
  mountCalls,
  mountFailure,
  unmountFailure,
  wasNotMounted,
} from './mount-command.js';

const target = '/t';

describe('mount calls', () => {
  const rows: readonly [rule: string, request: MountRequest, sourceFlags: string[], commands: string[]][] = [
    [
      'a file system is one call',
      { source: 'tmpfs', target, fsType: 'tmpfs', options: ['size=10', 'noswap'] },
      ['ro'],
      ['-t tmpfs -o size=10,noswap tmpfs /t'],
    ],
    ['without options there is no -o', { source: 'a:/b', target, fsType: 'nfs' }, [], ['-t nfs a:/b /t']],
    [
      'a bind is two calls',
      { source: '/s', target, options: ['bind'] },
      [],
      ['-o bind /s /t', '-o bind,remount /s /t'],
    ],
    [
      'the second one has the other options and the flags of the source',
      { source: '/s', target, options: ['bind', 'ro'] },
      ['rw', 'nosuid', 'nodev', 'relatime', 'lazytime'],
      ['-o bind /s /t', '-o bind,remount,ro,nosuid,nodev,relatime /s /t'],
    ],
    [
      'a flag is said once',
      { source: '/s', target, options: ['ro', 'bind'] },
      ['ro', 'noexec'],
      ['-o bind /s /t', '-o bind,remount,ro,noexec /s /t'],
    ],
    [
      '_netdev comes with the first one',
      { source: '/s', target, options: ['bind', '_netdev'] },
      [],
      ['-o bind,_netdev /s /t', '-o bind,remount,_netdev /s /t'],
    ],
    [
      'a held path is taken as it stands both times',
      { source: '/proc/1/fd/2', target, options: ['bind'], noCanonicalize: true },
      ['nosuid'],
      [
        '--no-canonicalize -o bind /proc/1/fd/2 /t',
        '--no-canonicalize -o bind,remount,nosuid /proc/1/fd/2 /t',
      ],
    ],
    [
      'a recursive bind is remounted by itself',
      { source: '/s', target, options: ['rbind', 'ro'] },
      [],
      ['-o rbind /s /t', '-o bind,remount,ro /s /t'],
    ],
    ['a change of propagation', { target, options: ['rshared'] }, [], ['--make-rshared /t']],
    ['a remount', { target, options: ['bind', 'remount', 'ro'] }, ['nosuid'], ['-o bind,remount,ro /t']],
    [
      'propagation is changed when all is mounted',
      { source: '/s', target, options: ['bind', 'rslave'] },
      [],
      ['-o bind /s /t', '--make-rslave -o bind,remount /s /t'],
    ],
  ];
  it.each(rows)('%s', (_, request, sourceFlags, commands) =>
    expect(mountCalls(request, sourceFlags).map((call) => mountArguments(call).join(' '))).toEqual(commands),
  );
});

describe('failures', () => {
  const failure = {
    status: 'exit status 32',
    output: 'mount: /t: mount point does not exist.\n',
    timedOut: false,
  };

  it('tell command, arguments and output', () => {
    const [call] = mountCalls({ source: 'a:/b', target, fsType: 'nfs', options: ['ro'] }, []);
    expect(call && mountFailure(call, failure)).toMatchObject({
      code: 'ENOENT',
      path: '/t',
      message:
        'mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs -o ro a:/b /t\nOutput: mount: /t: mount point does not exist.\n',
    });
    const busy = { ...failure, output: 'umount: /t: target is busy.\n' };
    expect(unmountFailure('/t', busy)).toMatchObject({
      code: 'EBUSY',
      message:
        'unmount failed: exit status 32\nUnmounting arguments: /t\nOutput: umount: /t: target is busy.\n',
    });
  });

  const words: readonly [output: string, code: string][] = [
    ['mount: /t: special device /s does not exist.', 'ENOENT'],
    ['umount: /t: no mount point specified.', 'ENOENT'],
    ['mount: /t: mount(2) system call failed: Not a directory.', 'ENOTDIR'],
    ['umount: /t: target is busy.', 'EBUSY'],
    ['mount: /t: /dev/vdb already mounted or mount point busy.', 'EBUSY'],
    ["mount: /t: unknown filesystem type 'nfs'.", 'ENODEV'],
    ['mount: /t: wrong fs type, bad option, bad superblock on tmpfs, missing codepage.', 'EINVAL'],
    ['mount: /t: mount point not mounted or bad option.', 'EINVAL'],
    ['mount: /t: permission denied.', 'EPERM'],
    ['mount.nfs: Connection timed out', 'ETIMEDOUT'],
    ['something new', 'EIO'],
  ];
  it.each(words)('%s', (output, code) => expect(failureCode({ ...failure, output })).toBe(code));

  it('a limit is told as such', () => expect(failureCode({ ...failure, timedOut: true })).toBe('ETIMEDOUT'));

  it('nothing to unmount is no failure', () => {
    expect(wasNotMounted({ ...failure, output: 'umount: /t: not mounted.\n' })).toBe(true);
    expect(wasNotMounted({ ...failure, output: 'umount: /t: target is busy.\n' })).toBe(false);
  });
});
