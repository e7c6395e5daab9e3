import { describe, expect, it } from 'vitest';
import { ApiError, ApiUnreachable } from '../api-error.js';
import {
  type BackoffState,
  failureOf,
  nextBackoff,
  nextStep,
  type ReflectorOutcome,
  streamFailureOf,
} from './decision.js';

describe('the next step', () => {
  it.each<[string, ReflectorOutcome, string | undefined, string]>([
    ['the start lists from the cache', { kind: 'started' }, undefined, 'list 0, none'],
    ['a new start lists what is not older', { kind: 'started' }, '7', 'list 7, none'],
    ['a watch follows a list', { kind: 'listed', resourceVersion: '7' }, '7', 'watch 7, none'],
    [
      'a failed list waits',
      { kind: 'list-failed', asked: '0', failure: 'other' },
      undefined,
      'list 0, back-off',
    ],
    [
      'a version gone is not asked for again',
      { kind: 'list-failed', asked: '7', failure: 'version-gone' },
      '7',
      'list newest, none',
    ],
    [
      'nor one too large',
      { kind: 'list-failed', asked: '7', failure: 'version-unknown' },
      '7',
      'list newest, none',
    ],
    [
      'even the newest may be refused',
      { kind: 'list-failed', asked: '', failure: 'version-gone' },
      '7',
      'list newest, back-off',
    ],
    [
      'a watch that timed out goes on',
      { kind: 'watch-ended', livedMs: 300_000, events: 0 },
      '9',
      'watch 9, none',
    ],
    [
      'a short one that told something too',
      { kind: 'watch-ended', livedMs: 10, events: 1 },
      '9',
      'watch 9, none',
    ],
    [
      'a short one that told nothing waits',
      { kind: 'watch-ended', livedMs: 10, events: 0 },
      '9',
      'watch 9, back-off',
    ],
    [
      '410 lists, not older than what was seen',
      { kind: 'watch-failed', failure: 'version-gone' },
      '9',
      'list 9, back-off',
    ],
    [
      'an unknown version lists the newest',
      { kind: 'watch-failed', failure: 'version-unknown' },
      '9',
      'list newest, back-off',
    ],
    ['a cut connection asks first', { kind: 'watch-failed', failure: 'other' }, '9', 'check 9, back-off'],
    [
      'all as before: on from the server’s version',
      { kind: 'checked', same: true, resourceVersion: '11' },
      '9',
      'watch 11, none',
    ],
    ['even from a smaller one', { kind: 'checked', same: true, resourceVersion: '5' }, '9', 'watch 5, none'],
    ['something else: a list', { kind: 'checked', same: false, resourceVersion: '11' }, '9', 'list 11, none'],
    ['no response asks again later', { kind: 'check-failed', failure: 'other' }, '9', 'check 9, back-off'],
    [
      'the server does not have our version',
      { kind: 'check-failed', failure: 'version-unknown' },
      '9',
      'list newest, none',
    ],
  ])('%s', (_, outcome, seen, expected) => {
    const step = nextStep(outcome, seen);
    const version = ` ${step.resourceVersion === '' ? 'newest' : step.resourceVersion}`;
    expect(`${step.do}${version}, ${step.wait}`).toBe(expected);
  });
});

describe('the next step of a reflector that streams', () => {
  it.each<[string, ReflectorOutcome, string | undefined, string]>([
    ['the start streams the newest', { kind: 'started' }, undefined, 'stream newest, none'],
    ['a new start streams what is not older', { kind: 'started' }, '7', 'stream 7, none'],
    [
      '410 streams, not older than what was seen',
      { kind: 'watch-failed', failure: 'version-gone' },
      '9',
      'stream 9, back-off',
    ],
    [
      'other objects: a stream',
      { kind: 'checked', same: false, resourceVersion: '11' },
      '9',
      'stream 11, none',
    ],
    ['a cut connection asks first', { kind: 'watch-failed', failure: 'other' }, '9', 'check 9, back-off'],
    [
      'a version gone is not asked for again',
      { kind: 'stream-failed', asked: '7', failure: 'version-gone' },
      '7',
      'stream newest, none',
    ],
    [
      'even the newest may be refused',
      { kind: 'stream-failed', asked: '', failure: 'version-unknown' },
      '7',
      'stream newest, back-off',
    ],
    [
      'a busy server waits',
      { kind: 'stream-failed', asked: '7', failure: 'busy' },
      '7',
      'stream 7, back-off',
    ],
    [
      'a refused stream lists',
      { kind: 'stream-failed', asked: '', failure: 'other' },
      undefined,
      'list 0, none',
    ],
    [
      'one without an end lists',
      { kind: 'stream-failed', asked: '', failure: 'no-end' },
      '7',
      'list 7, none',
    ],
    [
      'a failed list streams later',
      { kind: 'list-failed', asked: '0', failure: 'other' },
      undefined,
      'stream newest, back-off',
    ],
    [
      'a list of a version too large lists the newest: a refused stream led to it',
      { kind: 'list-failed', asked: '7', failure: 'version-unknown' },
      '7',
      'list newest, none',
    ],
    [
      'as one of a version gone does',
      { kind: 'list-failed', asked: '7', failure: 'version-gone' },
      '7',
      'list newest, none',
    ],
    ['a watch follows the list', { kind: 'listed', resourceVersion: '7' }, '7', 'watch 7, none'],
  ])('%s', (_, outcome, seen, expected) => {
    const step = nextStep(outcome, seen, true);
    const version = ` ${step.resourceVersion === '' ? 'newest' : step.resourceVersion}`;
    expect(`${step.do}${version}, ${step.wait}`).toBe(expected);
  });
});

it.each([
  ['429', new ApiError({ code: 429, message: '' }), 'busy'],
  ['nobody listens', new ApiUnreachable('', 'not-sent'), 'busy'],
  ['cut', new ApiUnreachable('', 'unknown'), 'other'],
  ['410', new ApiError({ code: 410, message: '' }), 'version-gone'],
  ['422', new ApiError({ code: 422, message: '' }), 'other'],
])('a stream that fails with %s: %#', (_, error, failure) => {
  expect(streamFailureOf(error)).toBe(failure);
});

it.each([
  ['410 Expired', new ApiError({ code: 410, reason: 'Expired', message: '' }), 'version-gone'],
  ['410 Gone', new ApiError({ code: 410, message: '' }), 'version-gone'],
  [
    'too large',
    new ApiError({ code: 504, message: '', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }),
    'version-unknown',
  ],
  ['500', new ApiError({ code: 500, message: '' }), 'other'],
  ['cut', new ApiUnreachable('', 'unknown'), 'other'],
])('%s says of the version: %#', (_, error, failure) => {
  expect(failureOf(error)).toBe(failure);
});

describe('back-off', () => {
  it('doubles from 0.8 s to 30 s', () => {
    const waits: number[] = [];
    let state: BackoffState | undefined;
    for (let n = 0; n < 8; n++) {
      const next = nextBackoff(state, n * 1000, 0);
      state = next.state;
      waits.push(next.waitMs);
    }
    expect(waits).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  });
  it('is spread over up to twice its length', () => {
    expect(nextBackoff(undefined, 0, 0.999).waitMs).toBeCloseTo(1599.2);
  });
  it('resets after two quiet minutes', () => {
    const { state } = nextBackoff({ delayMs: 30_000, usedMs: 0 }, 120_001, 0);
    expect(state.delayMs).toBe(800);
  });
});
