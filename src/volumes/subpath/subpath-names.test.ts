/** Which subPaths are allowed, and the paths of their mounts. */
import { describe, expect, it } from 'vitest';
import { elementsBelow, subPathProblem, subPathTarget } from './subpath-names.js';

describe('subPathProblem', () => {
  const rows: readonly [rule: string, subPath: string, problem: string | undefined][] = [
    ['a name', 'data', undefined],
    ['a nested path', 'a/b/c', undefined],
    ['dots inside a name', 'a..b/..c/d..', undefined],
    ['absolute', '/tmp', 'error SubPath `/tmp` must not be an absolute path'],
    ['up', '../out', "unable to provision SubPath `../out`: must not contain '..'"],
    ['`..` in the middle', 'a/../b', "unable to provision SubPath `a/../b`: must not contain '..'"],
    ['`..` at the end', 'a/..', "unable to provision SubPath `a/..`: must not contain '..'"],
  ];
  it.each(rows)('%s', (_, subPath, problem) => expect(subPathProblem(subPath)).toBe(problem));
});

describe('elementsBelow', () => {
  const rows: readonly [rule: string, base: string, path: string, names: readonly string[] | undefined][] = [
    ['the base itself', '/v', '/v', []],
    ['below it', '/v', '/v/a/b', ['a', 'b']],
    ['outside', '/v', '/w', undefined],
    ['above', '/v/w', '/v', undefined],
    ['a path that only shares the prefix', '/v', '/v2/a', undefined],
    ['the whole machine', '/', '/a', ['a']],
  ];
  it.each(rows)('%s', (_, base, path, names) => expect(elementsBelow(base, path)).toEqual(names));
});

describe('subPathTarget', () => {
  const place = { podDirectory: '/r/pods/u', innerVolumeName: 'vol', containerName: 'main', mountIndex: 2 };

  it('is below the pod', () => expect(subPathTarget(place)).toBe('/r/pods/u/volume-subpaths/vol/main/2'));

  it.each(['', '.', '..', '../x', 'a/b'])('rejects a name that would leave it: %s', (name) => {
    expect(() => subPathTarget({ ...place, innerVolumeName: name })).toThrow('cannot name a directory');
    expect(() => subPathTarget({ ...place, containerName: name })).toThrow('cannot name a directory');
  });
});
