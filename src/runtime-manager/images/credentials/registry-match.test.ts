import { describe, expect, it } from 'vitest';
import { entryKey, lookUp, matchesImage } from './registry-match.js';

describe('the lookup key of an entry', () => {
  it.each([
    ['https://index.docker.io/v1/', 'index.docker.io'],
    ['http://registry.example/v2/', 'registry.example'],
    ['registry.example', 'registry.example'],
    ['registry.example/', 'registry.example'],
    ['registry.example:5000/team', 'registry.example:5000/team'],
    ['https://registry.example/v2/team/app', 'registry.example/team/app'],
    ['registry.example/v1beta/team', 'registry.example/v1beta/team'],
  ])('%s → %s', (registry, key) => {
    expect(entryKey(registry)).toBe(key);
  });
});

describe('whether an entry matches an image', () => {
  it.each<[string, string, string, boolean]>([
    ['the same host', 'a.example.com', 'a.example.com/x', true],
    ['another host', 'b.example.com', 'a.example.com/x', false],
    ['65: a glob stands for one label', '*.example.com', 'a.example.com/x', true],
    ['65: a glob does not stand for two labels', '*.example.com', 'a.b.example.com/x', false],
    ['a glob does not stand for none', '*.example.com', 'example.com/x', false],
    ['65: a port must be there, too', 'a.example.com', 'a.example.com:5000/x', false],
    ['65: a port must be the same', 'a.example.com:5001', 'a.example.com:5000/x', false],
    ['the same port', '*.example.com:5000', 'a.example.com:5000/x', true],
    ['a glob within a label', 'reg-?.example.com', 'reg-1.example.com/x', true],
    ['a set within a label', 'reg-[ab].example.com', 'reg-c.example.com/x', false],
    ['a dot is a dot', 'a.example.com', 'axexample.com/x', false],
    ['the beginning of the path', 'a.example.com/team', 'a.example.com/team/x', true],
    ['another path', 'a.example.com/team', 'a.example.com/other', false],
    ['a path counts letter by letter', 'a.example.com/te', 'a.example.com/team', true],
    ['addresses', '127.0.0.1:5000', '127.0.0.1:5000/x', true],
  ])('%s: %s for %s', (_, pattern, image, expected) => {
    expect(matchesImage(pattern, image)).toBe(expected);
  });
});

describe('which entries match an image', () => {
  const entries = (...keys: string[]) => new Map(keys.map((key) => [key, [key]]));
  it.each<[string, string[], string, string[]]>([
    ['none', ['b.io'], 'a.io/x', []],
    [
      'all that fit, the longest first',
      ['a.io', 'a.io/team', 'a.io/t'],
      'a.io/team/x',
      ['a.io/team', 'a.io/t', 'a.io'],
    ],
    ['a glob after a name', ['*.io', 'a.io'], 'a.io/x', ['a.io', '*.io']],
    [
      'the default registry by its old name',
      ['index.docker.io'],
      'docker.io/library/busybox',
      ['index.docker.io'],
    ],
    [
      'the default registry by its own name first',
      ['index.docker.io', 'docker.io'],
      'docker.io/library/busybox',
      ['docker.io'],
    ],
    ['the entry of the default registry is for no other', ['index.docker.io'], 'a.io/x', []],
  ])('%s', (_, keys, image, expected) => {
    expect(lookUp(entries(...keys), image)).toEqual(expected);
  });
});
