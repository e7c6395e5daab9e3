import { describe, expect, it } from 'vitest';
import { archivesIn, missingImages } from './images.js';

it('archives are told by their names', () => {
  expect(archivesIn(['b.tar', 'a.tar.gz', 'c.tgz', 'README.md', 'tar'])).toEqual([
    'a.tar.gz',
    'b.tar',
    'c.tgz',
  ]);
});

describe('images that are missing', () => {
  const known = ['x.test/perl:5', 'x.test/nginx:1', 'x.test/busybox:1', 'invalid.x.test/alpine:3'];
  const failed = (name: string) =>
    `time="…" level=error msg="PullImage \\"${name}\\" failed" error="not found"`;
  it.each<[string, string, string[]]>([
    ['are none when nothing failed', 'level=info msg="PullImage \\"x.test/perl:5\\""', []],
    [
      'are those pulled in vain, once',
      `${failed('x.test/perl:5')}\n${failed('x.test/perl:5')}`,
      ['x.test/perl:5'],
    ],
    [
      'are sorted',
      `${failed('x.test/perl:5')}\n${failed('x.test/nginx:1')}`,
      ['x.test/nginx:1', 'x.test/perl:5'],
    ],
    ['are not those of an archive', failed('x.test/busybox:1'), []],
    ['are not those that cannot be', failed('invalid.x.test/alpine:3'), []],
    ['are not those that a spec made up', failed('localhost:5000/pause:testing'), []],
  ])('%s', (_rule, log, missing) => {
    expect(missingImages(log, known, ['x.test/busybox:1'])).toEqual(missing);
  });
});
