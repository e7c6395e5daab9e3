/** Which mount holds a path. */
import { describe, expect, it } from 'vitest';
import type { MountPoint } from './host.js';
import { mountHolding } from './make-shared.js';

const mount = (target: string, source: string): MountPoint => ({
  target,
  source,
  fsType: 'tmpfs',
  options: [],
  superOptions: [],
  root: '/',
  device: '0:1',
  propagation: 'private',
});

describe('mountHolding', () => {
  const mounts = [mount('/', 'root'), mount('/a', 'a'), mount('/a/b', 'first'), mount('/a/b', 'second')];
  const rows: readonly [rule: string, path: string, source: string][] = [
    ['the root holds what no other mount does', '/x', 'root'],
    ['a mount holds its target', '/a', 'a'],
    ['a mount holds paths below it', '/a/x', 'a'],
    ['a mount does not hold a path that only shares its prefix', '/ab', 'root'],
    ['the deepest and topmost mount wins', '/a/b/c', 'second'],
  ];
  it.each(rows)('%s', (_, path, source) => expect(mountHolding(mounts, path)?.source).toBe(source));
});
