/** The decisions of the ownership walk. */
import { describe, expect, it } from 'vitest';
import type { FileKind } from '../../host/index.js';
import {
  ownedMode,
  reportedDirectory,
  rootMatches,
  slowWalkText,
  walkProgressText,
} from './ownership-plan.js';

describe('ownedMode', () => {
  const rows: readonly [rule: string, kind: FileKind, mode: number, readOnly: boolean, owned: number][] = [
    ['a file becomes readable and writable', 'file', 0o600, false, 0o660],
    ['a read-only file becomes readable', 'file', 0o400, true, 0o440],
    ['a token becomes readable', 'file', 0o600, true, 0o640],
    ['other bits stay', 'file', 0o4755, false, 0o4775],
    ['a directory becomes setgid and searchable', 'directory', 0o700, false, 0o2770],
    ['a read-only directory becomes setgid and searchable', 'directory', 0o755, true, 0o2755],
    ['an open directory stays open', 'directory', 0o1777, false, 0o3777],
    ['mode 0 becomes the mask', 'directory', 0, true, 0o2550],
    ['a link is left alone', 'symlink', 0o777, false, 0o777],
    ['a socket is treated like a file', 'socket', 0o700, false, 0o760],
  ];
  it.each(rows)('%s', (_, kind, mode, readOnly, owned) =>
    expect(ownedMode({ kind, mode }, readOnly).toString(8)).toBe(owned.toString(8)),
  );
});

describe('rootMatches', () => {
  const rows: readonly [
    rule: string,
    root: { kind: FileKind; mode: number; gid: number },
    readOnly: boolean,
    is: boolean,
  ][] = [
    ['group and bits match', { kind: 'directory', mode: 0o2770, gid: 5 }, false, true],
    ['extra bits do not matter', { kind: 'directory', mode: 0o3777, gid: 5 }, false, true],
    ['no write bit for the group', { kind: 'directory', mode: 0o2750, gid: 5 }, false, false],
    ['a read-only volume needs no group write bit', { kind: 'directory', mode: 0o2750, gid: 5 }, true, true],
    ['not setgid', { kind: 'directory', mode: 0o770, gid: 5 }, false, false],
    ['another group', { kind: 'directory', mode: 0o2770, gid: 6 }, false, false],
    ['no directory', { kind: 'file', mode: 0o2770, gid: 5 }, false, false],
  ];
  it.each(rows)('%s', (_, root, readOnly, is) => expect(rootMatches(root, 5, readOnly)).toBe(is));
});

describe('texts', () => {
  it("name the volume from the pod's directory on", () => {
    expect(reportedDirectory('/var/lib/kubelet/pods/uid-1/volumes/x/y', 'uid-1')).toBe('uid-1/volumes/x/y');
    expect(reportedDirectory('/elsewhere', 'uid-1')).toBe('/elsewhere');
  });

  it('match the reference kubelet', () => {
    expect(slowWalkText('u/v')).toMatch(
      /^Setting volume ownership for u\/v is taking longer than expected, /,
    );
    expect(walkProgressText('u/v', 7)).toBe('Setting volume ownership for u/v, processed 7 files.');
  });
});
