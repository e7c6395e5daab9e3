import { describe, expect, it } from 'vitest';
import { planMounts } from './mounts.js';

const mount = (containerPath: string, hostPath = '/host') => ({ containerPath, hostPath });

describe('mounts', () => {
  it.each([
    ['are taken as they are', [mount('/data')], ['/data']],
    ['cannot leave the private root', [mount('/../../etc/passwd')], ['/etc/passwd']],
    ['may be given without a first slash and with a last one', [mount('data/')], ['/data']],
    ['may stand beside each other', [mount('/a/b'), mount('/a/bc')], ['/a/b', '/a/bc']],
  ])('%s', (_, mounts, paths) => {
    expect(planMounts(mounts).map(({ containerPath }) => containerPath)).toEqual(paths);
  });

  it('at the same path: the last one counts', () => {
    expect(planMounts([mount('/a', '/one'), mount('/a/', '/two')])).toEqual([
      { containerPath: '/a', hostPath: '/two' },
    ]);
  });

  it.each([
    ['inside of another', [mount('/a/b/c'), mount('/a')], 'mount /a/b/c is inside of mount /a'],
    ['of the root', [mount('/')], 'the root cannot be mounted'],
    [
      'of an image',
      [
        {
          ...mount('/m'),
          image: { image: 'x', annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' },
        },
      ],
      'there are no image volumes',
    ],
  ])('%s are rejected', (_, mounts, message) => {
    expect(() => planMounts(mounts)).toThrow(message);
  });
});
