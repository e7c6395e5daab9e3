import { describe, expect, it } from 'vitest';
import { isActive } from './active-pods.js';

describe('isActive', () => {
  const base = {
    knownTerminated: false,
    apiPhase: 'Running',
    cachedPhase: undefined,
    terminationRequested: false,
  };
  it.each([
    ['failed', { apiPhase: 'Failed' }, false],
    ['succeeded', { apiPhase: 'Succeeded' }, false],
    ['running and being deleted', { terminationRequested: true }, true],
    ['pending', { apiPhase: 'Pending' }, true],
    ['running', {}, true],
    ['running, but known here as failed', { cachedPhase: 'Failed' }, false],
    ['running, but terminated by its worker', { knownTerminated: true }, false],
    ['failed, but still being stopped', { apiPhase: 'Failed', terminationRequested: true }, true],
  ])('%s', (_rule, change, active) => {
    expect(isActive({ ...base, ...change })).toBe(active);
  });
});
