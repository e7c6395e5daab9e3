import { describe, expect, it } from 'vitest';
import { type Cover, mayPass, planCovers } from './covers.js';

describe('mayPass', () => {
  const rows: [rule: string, uid: number, gid: number, mode: number, passes: boolean][] = [
    ['others, where it is open', 7, 7, 0o711, true],
    ['others, where it is closed', 7, 7, 0o750, false],
    ['the group', 7, 2, 0o750, true],
    ['the group counts before others', 7, 2, 0o705, false],
    ['the owner', 1, 7, 0o700, true],
    ['the owner counts before others', 1, 7, 0o077, false],
    ['root everywhere', 0, 0, 0o000, true],
  ];
  it.each(rows)('%s', (_rule, uid, gid, mode, passes) => {
    expect(mayPass({ uid, gid }, { uid: 1, gid: 2, mode })).toBe(passes);
  });
});

it('mayPass counts every group', () => {
  expect(mayPass({ uid: 7, gid: 7, groups: [2] }, { uid: 1, gid: 2, mode: 0o750 })).toBe(true);
});

describe('planCovers', () => {
  const closed = new Set(['/root', '/root/state', '/srv/pods']);
  const rows: [rule: string, paths: string[], covers: Cover[]][] = [
    ['nothing where all is open', ['/data', '/srv/x'], []],
    ['what is closed itself is the volume’s own affair', ['/srv/pods'], []],
    [
      'the outermost closed directory',
      ['/root/state/c/root'],
      [{ directory: '/root', shows: ['/root/state/c/root'] }],
    ],
    [
      'one cover for each',
      ['/srv/pods/a', '/root/b', '/srv/pods/c/d'],
      [
        { directory: '/srv/pods', shows: ['/srv/pods/a', '/srv/pods/c/d'] },
        { directory: '/root', shows: ['/root/b'] },
      ],
    ],
    [
      'what another shows needs no showing',
      ['/root/b', '/root/b/c'],
      [{ directory: '/root', shows: ['/root/b'] }],
    ],
  ];
  it.each(rows)('%s', (_rule, paths, covers) => {
    expect(planCovers(paths, (directory) => closed.has(directory))).toEqual(covers);
  });
  it('nothing when even the root is closed', () => {
    expect(planCovers(['/a/b'], () => true)).toEqual([]);
  });
});
