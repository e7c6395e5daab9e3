/** Problems of a PersistentVolume name the field. */
import { describe, expect, it } from 'vitest';
import type { PersistentVolumeSpec } from '../../types/persistent-volume.js';
import { validateObject } from './objects.js';

const server = 'the server must be a host name or an IP address';

describe('persistent volumes', () => {
  const problems = (spec: PersistentVolumeSpec): string[] =>
    validateObject({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'v' }, spec }).map(
      ({ path, message }) => `${path.join('.')}: ${message}`,
    );
  const rows: readonly [rule: string, spec: PersistentVolumeSpec, problem: string][] = [
    ['a server is no option', { nfs: { server: '-T/x', path: '/a' } }, `spec.nfs.server: ${server}`],
    ['a server has a name', { nfs: { server: '', path: '/a' } }, `spec.nfs.server: ${server}`],
    ['a server is no label', { nfs: { server: 'LABEL=x', path: '/a' } }, `spec.nfs.server: ${server}`],
    [
      'a path is absolute',
      { nfs: { server: 's', path: '../a' } },
      'spec.nfs.path: the path must be an absolute',
    ],
    [
      'a path is a path',
      { nfs: { server: 's', path: '/a\0' } },
      'spec.nfs.path: the path must not have a NUL',
    ],
    [
      'a mount option is no option of the command',
      { nfs: { server: 's', path: '/' }, mountOptions: ['ro', '-T/x'] },
      'spec.mountOptions.1: the option must not begin with "-"',
    ],
    [
      'a mount option is text',
      { nfs: { server: 's', path: '/' }, mountOptions: ['a\0b'] },
      'spec.mountOptions.0: the option must not have control characters',
    ],
  ];
  it.each(rows)('%s', (_, spec, problem) =>
    expect(problems(spec)).toEqual([expect.stringContaining(problem)]),
  );

  it('accepts several options in one entry', () =>
    expect(problems({ nfs: { server: 'fd00::1', path: '/a' }, mountOptions: ['hard,nfsvers=4.1'] })).toEqual(
      [],
    ));
});
