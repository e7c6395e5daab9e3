import { expect, it } from 'vitest';
import { decideRetry, type RetryInput, readRetryAfter } from './retry-decision.js';

const refused = (code: number, retryAfterSeconds?: number): RetryInput['outcome'] => ({
  kind: 'refused',
  code,
  retryAfterSeconds,
});

it.each<[string, RetryInput, number | undefined]>([
  ['429 with a time is tried again then', { method: 'POST', attempts: 1, outcome: refused(429, 2) }, 2000],
  ['503 with a time too', { method: 'PATCH', attempts: 3, outcome: refused(503, 1) }, 1000],
  ['429 without a time is the caller’s', { method: 'GET', attempts: 1, outcome: refused(429) }, undefined],
  ['500 without a time is the caller’s', { method: 'GET', attempts: 1, outcome: refused(500) }, undefined],
  ['504 is the caller’s', { method: 'GET', attempts: 1, outcome: refused(504, 1) }, undefined],
  ['a conflict is never tried again', { method: 'PUT', attempts: 1, outcome: refused(409, 1) }, undefined],
  ['no wait is longer than a minute', { method: 'GET', attempts: 1, outcome: refused(429, 9999) }, 60_000],
  ['ten attempts are enough', { method: 'GET', attempts: 10, outcome: refused(429, 1) }, undefined],
  [
    'a read on a stale connection goes at once',
    { method: 'GET', attempts: 1, outcome: { kind: 'stale-connection' } },
    0,
  ],
  [
    'a write may have been received',
    { method: 'PATCH', attempts: 1, outcome: { kind: 'stale-connection' } },
    undefined,
  ],
  ['new credentials are tried', { method: 'POST', attempts: 1, outcome: { kind: 'credentials-renewed' } }, 0],
  ['but only once', { method: 'POST', attempts: 2, outcome: { kind: 'credentials-renewed' } }, undefined],
])('%s', (_, input, waitMs) => {
  const decision = decideRetry(input);
  expect(decision.retry ? decision.waitMs : undefined).toBe(waitMs);
});

it.each([
  ['1', 1],
  ['30', 30],
  [undefined, undefined],
  ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
  ['-1', undefined],
])('Retry-After %s is %s', (header, seconds) => {
  expect(readRetryAfter(header)).toBe(seconds);
});
