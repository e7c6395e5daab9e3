import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../kube/index.js';
import { hasLocalStorageLimit, localStorageExcess } from './local-storage.js';
import { gi, mi, type TestUsage, testPod, testStats } from './test-pods.js';

const withDir = (emptyDir: object, isStatic = false): Pod =>
  testPod('p', { isStatic, spec: { volumes: [{ name: 'v', emptyDir }] } });
const limited = (limit: string): Pod => testPod('p', { limits: { 'ephemeral-storage': limit } });
const initContainer = (restartPolicy?: 'Always'): Pod => {
  const init: Container = {
    name: 'side',
    image: 'side:1',
    resources: { limits: { 'ephemeral-storage': '1Mi' } },
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  };
  return testPod('p', { spec: { initContainers: [init] } });
};

describe('a pod beyond a limit of local storage', () => {
  it.each<[string, Pod, TestUsage, string | undefined, boolean?]>([
    [
      'an emptyDir at its limit stays',
      withDir({ sizeLimit: '10Mi' }),
      { volumes: { v: 10 * mi } },
      undefined,
    ],
    [
      'an emptyDir one block beyond it goes',
      withDir({ sizeLimit: '10Mi' }),
      { volumes: { v: 10 * mi + 4096 } },
      'emptydirfs.limit: Usage of EmptyDir volume "v" exceeds the limit "10Mi". ',
    ],
    [
      'an emptyDir in memory likewise',
      withDir({ sizeLimit: '1Gi', medium: 'Memory' }),
      { volumes: { v: 2 * gi } },
      'emptydirfs.limit: Usage of EmptyDir volume "v" exceeds the limit "1Gi". ',
    ],
    [
      'a limit that is no quantity is none',
      withDir({ sizeLimit: '10 Mi' }),
      { volumes: { v: gi } },
      undefined,
    ],
    [
      'a limit that is no quantity does not hide the next',
      testPod('p', {
        spec: {
          volumes: [
            { name: 'v', emptyDir: { sizeLimit: '?' } },
            { name: 'w', emptyDir: { sizeLimit: '1Mi' } },
          ],
        },
      }),
      { volumes: { v: gi, w: gi } },
      'emptydirfs.limit: Usage of EmptyDir volume "w" exceeds the limit "1Mi". ',
    ],
    ['a limit of zero is none', withDir({ sizeLimit: '0' }), { volumes: { v: gi } }, undefined],
    ['a static pod stays', withDir({ sizeLimit: '10Mi' }, true), { volumes: { v: gi } }, undefined],
    [
      'all containers together beyond theirs',
      limited('2Gi'),
      { ephemeral: 3 * gi },
      'ephemeralpodfs.limit: Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. ',
    ],
    [
      'all containers together may have none at all',
      limited('0'),
      { rootfs: 1, ephemeral: 1 },
      'ephemeralpodfs.limit: Pod ephemeral local storage usage exceeds the total limit of containers 0. ',
    ],
    ['all containers together that have none and use none', limited('0'), {}, undefined],
    ['zero is no limit of a container', limited('0'), { rootfs: 1, logs: 1 }, undefined],
    ['no limit, no excess', testPod('p'), { ephemeral: 3 * gi, logs: gi }, undefined],
    [
      'a container beyond its own',
      limited('1Gi'),
      { rootfs: gi, logs: 1 },
      'ephemeralcontainerfs.limit: Container app exceeded its local ephemeral storage limit "1Gi". ',
    ],
    [
      'its own files do not count where images lie apart',
      limited('1Gi'),
      { rootfs: gi, logs: 1 },
      undefined,
      true,
    ],
    [
      'they count for all containers together wherever they lie',
      limited('1Gi'),
      { rootfs: gi, logs: 1, ephemeral: gi + 1 },
      'ephemeralpodfs.limit: Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ',
      true,
    ],
    [
      'a sidecar beyond its own',
      initContainer('Always'),
      { container: 'side', logs: 2 * mi },
      'ephemeralcontainerfs.limit: Container side exceeded its local ephemeral storage limit "1Mi". ',
    ],
    ['an ordinary init container stays', initContainer(), { container: 'side', logs: 2 * mi }, undefined],
  ])('%s', (_rule, pod, usage, expected, dedicated = false) => {
    const excess = localStorageExcess(pod, testStats('p', usage), { dedicated });
    expect(excess && `${excess.label}: ${excess.message}`).toBe(expected);
    if (excess !== undefined) expect(hasLocalStorageLimit(pod)).toBe(true);
  });
});

describe('where volumes in memory may be resized', () => {
  it.each([
    ['one in memory stays', withDir({ sizeLimit: '1Gi', medium: 'Memory' }), undefined],
    ['one on disk goes', withDir({ sizeLimit: '1Gi' }), 'emptydirfs.limit'],
  ])('%s', (_rule, pod, expected) => {
    const rules = { dedicated: false, resizesMemoryVolumes: true };
    expect(localStorageExcess(pod, testStats('p', { volumes: { v: 2 * gi } }), rules)?.label).toBe(expected);
  });
});

describe('whether a pod has a limit of local storage', () => {
  it.each<[string, Pod, boolean]>([
    ['an emptyDir with a limit', withDir({ sizeLimit: '10Mi' }), true],
    ['an emptyDir without', withDir({}), false],
    ['a container with a limit', limited('1Gi'), true],
    ['an init container with one', initContainer(), true],
    ['limits of other resources', testPod('p', { limits: { memory: '1Gi' } }), false],
    ['a static pod is never held to its own', withDir({ sizeLimit: '10Mi' }, true), false],
    ['none', testPod('p'), false],
  ])('%s', (_rule, pod, expected) => {
    expect(hasLocalStorageLimit(pod)).toBe(expected);
  });
});
