import { describe, expect, it } from 'vitest';
import { SyncFailure, type SyncFailureReason } from './contracts.js';
import { syncError } from './sync-result.js';

describe('syncError', () => {
  const failed = (target: string, reason: SyncFailureReason, message: string, backoffUntilMs?: number) => ({
    action: 'StartContainer' as const,
    target,
    failure: new SyncFailure(reason, message, { backoffUntilMs }),
  });
  it('nothing failed', () => {
    expect(syncError({ steps: [{ action: 'StartContainer', target: 'a' }] })).toBeUndefined();
  });
  it('one failure stands alone, quoted', () => {
    expect(syncError({ steps: [failed('a', 'RunContainerError', 'no "sh"\nin image')] })?.message).toBe(
      'failed to "StartContainer" for "a" with RunContainerError: "no \\"sh\\"\\nin image"',
    );
  });
  it('several are listed, and the earliest wait is carried', () => {
    const error = syncError({
      steps: [
        failed('a', 'CrashLoopBackOff', 'x', 900),
        failed('b', 'CrashLoopBackOff', 'y', 500),
        failed('c', 'ErrImagePull', 'z'),
      ],
    });
    expect(error?.message).toBe(
      '[failed to "StartContainer" for "a" with CrashLoopBackOff: "x", failed to "StartContainer" for "b" with CrashLoopBackOff: "y", failed to "StartContainer" for "c" with ErrImagePull: "z"]',
    );
    expect(error?.backoffUntilMs).toBe(500);
  });
  it('an error outside any step is named', () => {
    expect(syncError({ steps: [], error: new Error('gone') })?.message).toBe('failed to SyncPod: gone');
  });
});
