import { describe, expect, it } from 'vitest';
import { CriError } from '../cri/index.js';
import { SyncFailure, type SyncFailureReason } from './contracts.js';
import type { Retry } from './retry.js';
import { syncError } from './sync-result.js';

describe('syncError', () => {
  const failed = (
    target: string,
    reason: SyncFailureReason,
    message: string,
    options?: ConstructorParameters<typeof SyncFailure>[2],
  ) => ({
    action: 'StartContainer' as const,
    target,
    failure: new SyncFailure(reason, message, options),
  });
  it('nothing failed', () => {
    expect(syncError({ steps: [{ action: 'StartContainer', target: 'a' }] })).toBeUndefined();
  });
  it('one failure stands alone, quoted', () => {
    expect(syncError({ steps: [failed('a', 'RunContainerError', 'no "sh"\nin image')] })?.message).toBe(
      'failed to "StartContainer" for "a" with RunContainerError: "no \\"sh\\"\\nin image"',
    );
  });
  it('several are listed, with the earliest wait', () => {
    const error = syncError({
      steps: [
        failed('a', 'CrashLoopBackOff', 'x', { backOffUntilMs: 900 }),
        failed('b', 'CrashLoopBackOff', 'y', { backOffUntilMs: 500 }),
        failed('c', 'ErrImagePull', 'z'),
      ],
    });
    expect(error?.message).toBe(
      '[failed to "StartContainer" for "a" with CrashLoopBackOff: "x", failed to "StartContainer" for "b" with CrashLoopBackOff: "y", failed to "StartContainer" for "c" with ErrImagePull: "z"]',
    );
    expect(error?.retry).toEqual({ reason: 'backOff', atMs: 500 });
  });
  it('an error outside any step is named', () => {
    expect(syncError({ steps: [], error: new Error('gone') })?.message).toBe('failed to SyncPod: gone');
  });

  const away = new CriError('Unavailable', 'connection refused');
  const words = new CriError('Unknown', 'registry: code = Unavailable, network is not ready');
  const backOff = (backOffUntilMs: number) => failed('a', 'CrashLoopBackOff', 'x', { backOffUntilMs });
  const pull = (cause?: Error) => failed('b', 'ErrImagePull', 'y', { cause });
  it.each<[string, Parameters<typeof syncError>[0], Retry]>([
    ['a failure is an error', { steps: [pull()] }, { reason: 'error' }],
    [
      'an image pull back-off is a plain error',
      { steps: [failed('a', 'ImagePullBackOff', 'x')] },
      { reason: 'error' },
    ],
    [
      'the earliest back-off decides',
      { steps: [backOff(900), backOff(500), backOff(700)] },
      { reason: 'backOff', atMs: 500 },
    ],
    [
      'a back-off decides whatever else failed',
      { steps: [pull(), backOff(900)], error: new Error('x') },
      { reason: 'backOff', atMs: 900 },
    ],
    [
      'a runtime that is away wins over a back-off',
      { steps: [backOff(900), pull(away)] },
      { reason: 'runtimeUnavailable' },
    ],
    [
      'also in a failure that has a back-off of its own',
      { steps: [failed('p', 'ResizePodInPlaceError', 'x', { cause: away, backOffUntilMs: 900 })] },
      { reason: 'runtimeUnavailable' },
    ],
    ['also outside any step', { steps: [backOff(900)], error: away }, { reason: 'runtimeUnavailable' }],
    ['the words of a registry do not hasten anything', { steps: [pull(words)] }, { reason: 'error' }],
  ])('retry: %s', (_rule, result, retry) => {
    expect(syncError(result)?.retry).toEqual(retry);
  });
});
