/** Parsing the kernel's mount table. */
import { describe, expect, it } from 'vitest';
import { parseMountinfo, readsWhole, unescapeOctal } from './mountinfo.js';
import { fileSystemFacts } from './stats.js';

describe('parseMountinfo', () => {
  const parsed = (line: string) => parseMountinfo(`${line}\n`)[0];

  it('parses all fields', () =>
    expect(parsed('36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue')).toEqual({
      id: 36,
      device: '98:0',
      root: '/mnt1',
      target: '/mnt2',
      options: ['rw', 'noatime'],
      fsType: 'ext3',
      source: '/dev/root',
      superOptions: ['rw', 'errors=continue'],
      propagation: 'slave',
    }));

  const propagations: readonly [rule: string, tags: string, propagation: string][] = [
    ['no tag means private', '', 'private'],
    ['shared', 'shared:7 ', 'shared'],
    ['slave', 'master:7 ', 'slave'],
    ['shared and slave counts as shared', 'shared:8 master:7 ', 'shared'],
    ['an unknown tag is ignored', 'propagate_from:2 ', 'private'],
    ['unbindable', 'unbindable ', 'unbindable'],
  ];
  it.each(propagations)('%s', (_, tags, propagation) =>
    expect(parsed(`1 0 0:1 / /x rw ${tags}- tmpfs tmpfs rw`)?.propagation).toBe(propagation),
  );

  const odd: readonly [rule: string, line: string, target: string | undefined][] = [
    ['spaces in names', '1 0 0:1 / /a\\040b rw - tmpfs none rw', '/a b'],
    ['a name that is a dash', '1 0 0:1 / - rw - tmpfs none rw', '-'],
    ['no super options', '1 0 0:1 / /x rw - tmpfs none', '/x'],
    ['an empty line', '', undefined],
    ['a truncated line', '1 0 0:1 / /x rw', undefined],
    ['a line truncated after the dash', '1 0 0:1 / /x rw - tmpfs', undefined],
  ];
  it.each(odd)('%s', (_, line, target) => expect(parsed(line)?.target).toBe(target));

  it('keeps the order of the table', () => {
    const table = '1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /x rw - tmpfs b rw\n3 2 0:3 / /x rw - tmpfs c rw\n';
    expect(parseMountinfo(table).map(({ source }) => source)).toEqual(['a', 'b', 'c']);
  });
});

describe('mounts below a path', () => {
  const table = [
    '1 0 0:1 / / rw - ext4 a rw',
    '2 1 0:2 / /x rw - tmpfs b rw',
    '3 2 0:3 / /x/y\\040z rw - tmpfs c rw',
    '4 1 0:4 / /xy rw - tmpfs d rw',
    '5 1 0:5 /x /other rw - tmpfs e rw',
    '',
  ].join('\n');
  const rows: readonly [rule: string, below: string | undefined, targets: readonly string[]][] = [
    ['without a path, all mounts', undefined, ['/', '/x', '/x/y z', '/xy', '/other']],
    ['for the root, all mounts', '/', ['/', '/x', '/x/y z', '/xy', '/other']],
    ['at least the mounts at and below the path', '/x', ['/x', '/x/y z', '/xy', '/other']],
    ['a path written with escapes', '/x/y z', ['/x/y z']],
    ['none', '/nowhere', []],
  ];
  it.each(rows)('%s', (_, below, targets) =>
    expect(parseMountinfo(table, below).map(({ target }) => target)).toEqual(targets),
  );
});

describe('unescapeOctal', () => {
  const rows: readonly [written: string, meant: string][] = [
    ['plain', 'plain'],
    ['a\\040b\\011c\\012d', 'a b\tc\nd'],
    ['back\\134slash', 'back\\slash'],
    ['back\\134040', 'back\\040'],
    ['\\303\\244', 'ä'],
    ['ä', 'ä'],
    ['\\9', '\\9'],
  ];
  it.each(rows)('%s', (written, meant) => expect(unescapeOctal(written)).toBe(meant));
});

describe('readsWhole', () => {
  const kernels: readonly [rule: string, release: string, whole: boolean][] = [
    ['an old kernel', '4.19.0-27-amd64', false],
    ['the last that loses its place', '5.7.19', false],
    ['the first that keeps it', '5.8.0-rc1', true],
    ['a minor version of two digits', '5.15.0-1', true],
    ['a newer major version', '6.1.0-18-amd64', true],
    ['an unparsable version', 'custom', false],
  ];
  it.each(kernels)('%s', (_, release, whole) => expect(readsWhole(release)).toBe(whole));
});

it.each([
  ['the same', { frsize: 4096n }, 4096],
  ['smaller', { frsize: 512n }, 512],
  ['not told', {}, 4096],
])('a block that is counted in fragments of a size that is %s', (_rule, more, blockBytes) => {
  const stats = { bsize: 4096n, blocks: 1n, bfree: 1n, bavail: 1n, files: 1n, ffree: 1n, ...more };
  expect(fileSystemFacts(stats).blockBytes).toBe(blockBytes);
});
