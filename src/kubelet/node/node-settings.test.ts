import { expect, it } from 'vitest';
import { readiness, runtimeStatus } from './node-settings.js';

it('a handler that tells no features has none', () => {
  const handlers = [
    { name: 'runc' },
    { name: 'kata', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
  ];
  expect(runtimeStatus({ handlers, features: undefined }, { name: 'containerd', version: '2.0' })).toEqual({
    name: 'containerd',
    version: '2.0',
    handlers: [
      { name: 'runc', recursiveReadOnlyMounts: false, userNamespaces: false },
      { name: 'kata', recursiveReadOnlyMounts: true, userNamespaces: false },
    ],
    features: undefined,
  });
});

it.each([
  [undefined, false],
  [true, false],
  [false, true],
])('CPU quotas %s: a soft requirement failed: %s', (isCpuQuotaAvailable, failed) => {
  const runtime = { networkError: undefined, handlers: [], errors: () => [], checkOnce: async () => {} };
  const options = isCpuQuotaAvailable === undefined ? { runtime } : { runtime, isCpuQuotaAvailable };
  expect(readiness(options).softRequirementFailed).toBe(failed);
});

it('readiness is what runtime, network, storage and shutdown say now', () => {
  const runtime = {
    networkError: 'no cni',
    handlers: [],
    errors: () => ['runtime is down'],
    checkOnce: async () => {},
  };
  expect(readiness({ runtime, storageError: () => 'no plugin' })).toEqual({
    runtimeErrors: ['runtime is down'],
    networkError: 'no cni',
    storageError: 'no plugin',
    shutdownError: undefined,
    softRequirementFailed: false,
  });
});
