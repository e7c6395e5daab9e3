/** Which values may become program arguments. */
import { describe, expect, it } from 'vitest';
import {
  absolutePath,
  BadProgramWord,
  checkedWord,
  fileSystemType,
  hostNameOrAddress,
  linkName,
  mountOption,
  processIds,
  programName,
  pseudoDevice,
  type WordKind,
} from './checked-word.js';
import { nfsSource, parseNfsSource } from './nfs-source.js';

const kinds = [
  absolutePath,
  fileSystemType,
  hostNameOrAddress,
  linkName,
  mountOption,
  processIds,
  programName,
  pseudoDevice,
];

describe('no kind of word', () => {
  const hostile = ['-', '-T/x', '--help', '--', '', '\0', 'a\0b', '/a\0b', 'x'.repeat(200_000)];
  it.each(kinds.flatMap((kind) => hostile.map((value) => ({ kind, value }))))(
    '$kind.kind accepts $value',
    ({ kind, value }) => {
      const attempt = (): unknown => checkedWord<string>(kind, 'some.field', value);
      expect(attempt).toThrow(BadProgramWord);
      expect(attempt).toThrow(/^some\.field: "/);
    },
  );
});

describe('words', () => {
  const rows: readonly [kind: WordKind<string>, good: readonly string[], bad: readonly string[]][] = [
    [
      absolutePath,
      ['/', '/a b', '/-x', '/a\nb', '/ü'],
      ['a', './a', '../a', ' /a', 'LABEL=x', `/${'a'.repeat(4095)}`],
    ],
    [
      hostNameOrAddress,
      [
        'a',
        'files',
        'files.example.com',
        'Files.',
        'nfs_1',
        '10.0.0.1',
        'fd00::1',
        '[fd00::1]',
        'fe80::1%eth0',
      ],
      [
        'a b',
        'a/b',
        'a:b',
        'a..b',
        '.a',
        'a-',
        'a,b',
        'a;b',
        '$(id)',
        'a\n',
        '[10.0.0.1]',
        '[a]',
        '[fd00::1',
        'LABEL=x',
        '../a',
        `${'a.'.repeat(127)}a`,
        'a'.repeat(64),
      ],
    ],
    [fileSystemType, ['nfs', 'nfs4', 'ext4', 'fuse.sshfs'], ['.x', 'a/b', 'a,b', 'a b', 'a\n', '../x']],
    [pseudoDevice, ['tmpfs', 'nodev'], ['LABEL=x', 'a/b', 'a:b', '.', 'a\n']],
    [
      mountOption,
      ['ro', 'size=10k', 'nfsvers=4.1', 'context="a:s0:c1,c2"', 'addr=fd00::1'],
      ['ro,rw', 'a\nb', '"a,b', 'a",b'],
    ],
    [linkName, ['eth0', 'nodelet-0a1b2c'], ['sixteen-letters-', 'a b', 'a/b', 'a\n', '.']],
    [programName, ['mkfs.ext4'], ['/bin/sh', '../x', 'a b', 'mkfs.a/b', 'a\n']],
    [processIds, ['1', '1,22'], ['0', '1,', '1 2', '1,-2', 'all', '1\n']],
  ];
  for (const [kind, good, bad] of rows) {
    it.each(good)(`%j is a ${kind.kind}`, (value) => expect(checkedWord(kind, 'f', value)).toBe(value));
    it.each(bad)(`%j is not a ${kind.kind}`, (value) =>
      expect(() => checkedWord(kind, 'f', value)).toThrow(BadProgramWord),
    );
  }

  it('an error shows at most one line of a value, without control characters', () => {
    const attempt = (): unknown => checkedWord(absolutePath, 'nfs.path', `\u001b[2J\n${'y'.repeat(500)}`);
    expect(attempt).toThrow(
      new BadProgramWord(
        'nfs.path',
        `\u001b[2J\n${'y'.repeat(500)}`,
        'must be an absolute path, which begins with "/"',
      ),
    );
    expect(attempt).toThrow(/^nfs\.path: "\\u001b\[2J\\ny{95}…" must be an absolute path/);
  });
});

describe('nfs sources', () => {
  const rows: readonly [rule: string, server: string, path: string, source: string][] = [
    ['a name', 'files', '/a', 'files:/a'],
    ['an IPv4 address', '10.0.0.1', '/', '10.0.0.1:/'],
    ['an IPv6 address gets brackets', 'fd00::1', '/a:/b', '[fd00::1]:/a:/b'],
    ['brackets stay', '[fd00::1]', '/a', '[fd00::1]:/a'],
  ];
  it.each(rows)('%s', (_, server, path, source) => {
    expect(nfsSource({ server, path })).toBe(source);
    expect(parseNfsSource(source)).toBe(source);
  });

  it.each([
    ['-T/tmp/fstab', '/a', 'nfs.server'],
    ['', '/a', 'nfs.server'],
    ['LABEL=x', '/a', 'nfs.server'],
    ['files', 'a', 'nfs.path'],
    ['files', '', 'nfs.path'],
    ['files', '/a\0', 'nfs.path'],
  ])('refuses %j and %j, naming %s', (server, path, field) =>
    expect(() => nfsSource({ server, path })).toThrow(`${field}: `),
  );

  it.each(['', 'files', '-T/x:/a', '-T/x', 'fd00::1:/a:b', '/dev/sda'])('%j is not an NFS source', (text) => {
    if (text === 'fd00::1:/a:b') expect(parseNfsSource(text)).toBe('[fd00::1]:/a:b');
    else expect(() => parseNfsSource(text)).toThrow(BadProgramWord);
  });
});
