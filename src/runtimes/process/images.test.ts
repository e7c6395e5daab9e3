import { describe, expect, it } from 'vitest';
import { ProcessImages } from './images.js';

describe('images', () => {
  it.each(['busybox', 'busybox:1', 'example.test:5000/a/b@sha256:'.concat('0'.repeat(64))])(
    'are there for every reference: %s',
    (reference) => {
      const images = new ProcessImages(1000);
      const image = images.find(reference);
      expect(image).toMatchObject({ size: 1, uid: { value: 1000 }, username: '' });
      expect(images.pull(reference)).toBe(image!.id);
      expect(images.find(image!.id)).toEqual(image);
      expect(images.list(undefined)).toEqual([image]);
    },
  );

  it('default to the tag latest', () => {
    const images = new ProcessImages(0);
    expect(images.find('busybox')?.repoTags).toEqual(['busybox:latest']);
    expect(images.pull('busybox')).toBe(images.pull('busybox:latest'));
    expect(images.pull('busybox')).not.toBe(images.pull('busybox:1'));
  });

  it('do not exist for an invalid reference', () => {
    const images = new ProcessImages(0);
    expect(images.find('Not A Name')).toBeUndefined();
    expect(images.find(`sha256:${'0'.repeat(64)}`)).toBeUndefined();
    expect(() => images.pull('Not A Name')).toThrow('invalid reference format');
  });

  it('are forgotten when removed, or when there are too many', () => {
    const images = new ProcessImages(0);
    images.find('one');
    images.remove('one:latest');
    expect(images.list(undefined)).toEqual([]);
    for (let number = 0; number < 1200; number++) images.find(`image-${number}`);
    expect(images.list(undefined)).toHaveLength(1000);
  });
});
