/** The arguments and error texts of `mount` and `umount`. */
import { describe, expect, it } from 'vitest';
import type { MountRequest } from './host.js';
import {
  failureCode,
  mountCalls,
  mountCommand,
  mountFailure,
  saysNotMounted,
  unmountCommand,
  unmountFailure,
} from './mount-command.js';

const target = '/t';

describe('mount calls', () => {
  const rows: readonly [rule: string, request: MountRequest, sourceFlags: string[], commands: string[]][] = [
    [
      'a file system is one call',
      { source: 'tmpfs', target, fsType: 'tmpfs', options: ['size=10', 'noswap'] },
      ['ro'],
      ['-t tmpfs -o size=10,noswap -- tmpfs /t'],
    ],
    ['without options there is no -o', { source: 'a:/b', target, fsType: 'nfs' }, [], ['-t nfs -- a:/b /t']],
    [
      'a bind is two calls',
      { source: '/s', target, options: ['bind'] },
      [],
      ['-o bind -- /s /t', '-o bind,remount -- /s /t'],
    ],
    [
      "the second call has the other options and the source's flags",
      { source: '/s', target, options: ['bind', 'ro'] },
      ['rw', 'nosuid', 'nodev', 'relatime', 'lazytime'],
      ['-o bind -- /s /t', '-o bind,remount,ro,nosuid,nodev,relatime -- /s /t'],
    ],
    [
      'a flag appears once',
      { source: '/s', target, options: ['ro', 'bind'] },
      ['ro', 'noexec'],
      ['-o bind -- /s /t', '-o bind,remount,ro,noexec -- /s /t'],
    ],
    [
      '_netdev goes into the first call',
      { source: '/s', target, options: ['bind', '_netdev'] },
      [],
      ['-o bind,_netdev -- /s /t', '-o bind,remount,_netdev -- /s /t'],
    ],
    [
      'a held path is not canonicalized in either call',
      { source: '/proc/1/fd/2', target, options: ['bind'], noCanonicalize: true },
      ['nosuid'],
      [
        '--no-canonicalize -o bind -- /proc/1/fd/2 /t',
        '--no-canonicalize -o bind,remount,nosuid -- /proc/1/fd/2 /t',
      ],
    ],
    [
      'a recursive bind is remounted non-recursively',
      { source: '/s', target, options: ['rbind', 'ro'] },
      [],
      ['-o rbind -- /s /t', '-o bind,remount,ro -- /s /t'],
    ],
    ['a change of propagation', { target, options: ['rshared'] }, [], ['--make-rshared -- /t']],
    ['a remount', { target, options: ['bind', 'remount', 'ro'] }, ['nosuid'], ['-o bind,remount,ro -- /t']],
    [
      'propagation changes with the last call',
      { source: '/s', target, options: ['bind', 'rslave'] },
      [],
      ['-o bind -- /s /t', '--make-rslave -o bind,remount -- /s /t'],
    ],
  ];
  it.each(rows)('%s', (_, request, sourceFlags, commands) =>
    expect(mountCalls(request, sourceFlags).map((call) => mountCommand(call).words.join(' '))).toEqual(
      commands,
    ),
  );
});

describe('failures', () => {
  const failure = {
    status: 'exit status 32',
    exitCode: 32,
    output: 'mount: /t: mount point does not exist.\n',
    timedOut: false,
  };

  it('include command, arguments and output', () => {
    const [call] = mountCalls({ source: 'a:/b', target, fsType: 'nfs', options: ['ro'] }, []);
    expect(call && mountFailure(call, failure)).toMatchObject({
      code: 'ENOENT',
      path: '/t',
      message:
        'mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs -o ro -- a:/b /t\nOutput: mount: /t: mount point does not exist.\n',
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
    [
      'mount: /t: wrong fs type, bad option, bad superblock on tmpfs, missing codepage or helper program, or other error.',
      'EINVAL',
    ],
    ['mount: /t: mount point not mounted or bad option.', 'EINVAL'],
    ['mount: /t: permission denied.', 'EPERM'],
    ['mount.nfs: Connection timed out', 'ETIMEDOUT'],
    ['something new', 'EIO'],
  ];
  it.each(words)('%s', (output, code) => expect(failureCode({ ...failure, output }, [])).toBe(code));

  it('a timeout has its own code', () =>
    expect(failureCode({ ...failure, timedOut: true }, [])).toBe('ETIMEDOUT'));

  const hint = '\n       dmesg(1) may have more information after failed mount system call.\n';
  const named: readonly [rule: string, target: string, source: string, words: string, code: string][] = [
    ['a directory called read-only', '/p/read-only', '/s', "unknown filesystem type 'nfs'.", 'ENODEV'],
    ['a directory called busy', '/p/target is busy.', '/s', 'wrong and new', 'EIO'],
    ['a directory called timed out', '/p/x: connection timed out', '/s', 'permission denied.', 'EPERM'],
    ['a line of its own', '/p/a\nmount: /p: target is busy.', '/s', 'permission denied.', 'EPERM'],
    [
      'a source at the end',
      '/t',
      'h:/no such file or directory',
      'access denied: h:/no such file or directory',
      'EIO',
    ],
    ['a device that is mounted elsewhere', '/t', '/dev/x', '/dev/x already mounted on /t.', 'EBUSY'],
  ];
  it.each(named)('a name chosen by a pod does not decide the code: %s', (_, at, source, words, code) =>
    expect(failureCode({ output: `mount: ${at}: ${words}${hint}`, timedOut: false }, [at, source])).toBe(
      code,
    ),
  );

  const unmounts: readonly [rule: string, target: string, exitCode: number, output: string, says: boolean][] =
    [
      ['exactly the words', '/t', 32, 'umount: /t: not mounted.\n', true],
      ['the words of old versions', '/t', 32, 'umount: /t: not mounted\n', true],
      ['a busy directory of that name', '/not mounted', 32, 'umount: /not mounted: target is busy.\n', false],
      [
        'a name with all of the words',
        '/x: not mounted.',
        32,
        'umount: /x: not mounted.: target is busy.\n',
        false,
      ],
      ['the words about another target', '/t', 32, 'umount: /u: not mounted.\n', false],
      ['the words in a line among others', '/t', 32, 'umount: /t: not mounted.\numount: /t: busy.\n', false],
      ['another status', '/t', 1, 'umount: /t: not mounted.\n', false],
      ['a target that is busy', '/t', 32, 'umount: /t: target is busy.\n', false],
    ];
  it.each(unmounts)('whether umount says "not mounted": %s', (_, at, exitCode, output, says) =>
    expect(saysNotMounted(at, { ...failure, exitCode, output })).toBe(says),
  );
});

describe('values that a command could misread', () => {
  const long = 'x'.repeat(200_000);
  const hostile = [
    '-T/x',
    '--help',
    '-',
    'LABEL=x',
    'UUID=0',
    'PARTUUID=0',
    '../x',
    'x/y',
    'a\0b',
    ';reboot',
    '$(id)',
    'a b',
    'a\nb',
    long,
  ];

  it.each(hostile)('%j is not a target', (value) => {
    const error = { code: 'EINVAL', message: expect.stringContaining('mount target: ') };
    expect(thrownBy(() => mountCalls({ source: '/s', target: value, options: ['bind'] }, []))).toMatchObject(
      error,
    );
    expect(thrownBy(() => unmountCommand(value, { force: false }))).toMatchObject(error);
  });

  it.each(hostile)('%j is not a source of a bind, a remount or a file system', (value) => {
    const error = { code: 'EINVAL', message: expect.stringContaining('mount source: ') };
    for (const request of [
      { options: ['bind'] },
      { options: ['bind', 'remount', 'ro'] },
      { fsType: 'ext4' },
      { fsType: 'tmpfs' },
    ])
      expect(thrownBy(() => mountCalls({ source: value, target, ...request }, []))).toMatchObject(error);
  });

  it.each(hostile)('%j is not a file server', (value) => {
    for (const fsType of ['nfs', 'nfs4'])
      expect(thrownBy(() => mountCalls({ source: `${value}:/a`, target, fsType }, []))).toMatchObject({
        code: 'EINVAL',
        message: expect.stringContaining('nfs.server: '),
      });
  });

  it.each(['', ...hostile.filter((value) => value !== '-')])(
    '%j is not a directory of a file server',
    (value) =>
      expect(
        thrownBy(() => mountCalls({ source: `files:${value}`, target, fsType: 'nfs' }, [])),
      ).toMatchObject({
        code: 'EINVAL',
      }),
  );

  it.each(['-x', 'ext4/../x', '../x', 'a b', 'a,b', 'x\0', long])('%j is not a file system type', (value) =>
    expect(thrownBy(() => mountCalls({ source: '/s', target, fsType: value }, []))).toMatchObject({
      code: 'EINVAL',
      message: expect.stringContaining('file system type: '),
    }),
  );

  it.each(['', '-T/x', 'ro,suid', 'a\0b', 'a\nb', '"a,b', long])('%j is not a mount option', (value) =>
    expect(
      thrownBy(() => mountCalls({ source: '/s', target, fsType: 'ext4', options: [value] }, [])),
    ).toMatchObject({
      code: 'EINVAL',
      message: expect.stringContaining('mount option: '),
    }),
  );

  it('a path may have any name and comes after the end of options', () => {
    const odd = '/-T/x --help;$(id)\n\'"';
    const [call] = mountCalls({ source: odd, target: odd, options: ['bind'] }, []);
    expect(call && mountCommand(call).words).toEqual(['-o', 'bind', '--', odd, odd]);
    expect(unmountCommand(odd, { force: true }).words).toEqual(['-f', '--', odd]);
    expect(unmountCommand(odd, { lazy: true }).words).toEqual(['-l', '--', odd]);
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
