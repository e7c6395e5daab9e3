import { describe, expect, it } from 'vitest';
import { normalRepository, parseImageReference, withDefaultTag } from './reference.js';

const hex64 = 'a'.repeat(64);

describe('withDefaultTag', () => {
  it.each([
    ['a short name gets the tag', 'busybox', 'busybox:latest'],
    ['a tag stays', 'busybox:1.36', 'busybox:1.36'],
    ['a digest stays', `busybox@sha256:${hex64}`, `busybox@sha256:${hex64}`],
    ['tag and digest stay', `a/b:v1@sha256:${hex64}`, `a/b:v1@sha256:${hex64}`],
    ['the port of a registry is no tag', 'registry.test:5000/app', 'registry.test:5000/app:latest'],
    ['an explicit latest stays', 'registry.test/app:latest', 'registry.test/app:latest'],
  ])('%s', (_, image, expected) => {
    expect(withDefaultTag(image)).toBe(expected);
  });

  it.each([
    [
      'uppercase',
      'FAILED_IMAGE',
      'invalid reference format: repository name (library/FAILED_IMAGE) must be lowercase',
    ],
    ['a URL', 'http://url', 'invalid reference format'],
    [
      '64 hex digits',
      hex64,
      `invalid repository name (${hex64}), cannot specify 64-byte hexadecimal strings`,
    ],
    ['nothing', '', 'invalid reference format'],
    ['an empty tag', 'app:', 'invalid reference format'],
    ['a short digest', `app@sha256:${'a'.repeat(32)}`, 'invalid checksum digest length'],
    ['an unknown digest', `app@md5:${'a'.repeat(32)}`, 'unsupported digest algorithm'],
    ['an uppercase digest', `app@sha256:${'A'.repeat(64)}`, 'invalid checksum digest format'],
    ['a long name', 'a'.repeat(256), 'repository name must not be more than 255 characters'],
  ])('rejects %s', (_, image, problem) => {
    expect(() => withDefaultTag(image)).toThrow(`couldn't parse image name "${image}": ${problem}`);
  });
});

describe('parseImageReference', () => {
  it.each([
    ['busybox', 'docker.io/library/busybox'],
    ['team/app:v1', 'docker.io/team/app'],
    ['index.docker.io/app', 'docker.io/library/app'],
    ['localhost/app', 'localhost/app'],
    ['registry.test:5000/team/app:v1', 'registry.test:5000/team/app'],
  ])('%s is %s', (image, expected) => {
    expect(normalRepository(image)).toBe(expected);
  });
  it('returns the parts', () => {
    expect(parseImageReference(`registry.test/app:v1@sha256:${hex64}`)).toEqual({
      domain: 'registry.test',
      path: 'app',
      tag: 'v1',
      digest: `sha256:${hex64}`,
    });
  });
});
