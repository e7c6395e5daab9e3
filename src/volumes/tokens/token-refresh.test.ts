import { describe, expect, it } from 'vitest';
import { needsRefresh } from './token-refresh.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe('needsRefresh', () => {
  const rows: [
    rule: string,
    lifetimeSeconds: number | undefined,
    ageMs: number,
    jitterMs: number,
    expected: boolean,
  ][] = [
    ['a 1 h token is used at 10 min', 3600, 10 * minuteMs, 0, false],
    ['a 1 h token is used up to 80 % of its lifetime', 3600, 48 * minuteMs, 0, false],
    ['a 1 h token is replaced after that', 3600, 48 * minuteMs + 1, 0, true],
    ['a 1 h token is replaced earlier by the jitter', 3600, 48 * minuteMs - 5_000, 5_001, true],
    ['a 60 h token is replaced at 25 h', 60 * 3600, 25 * hourMs, 0, true],
    ['a 60 h token is used at 23 h', 60 * 3600, 23 * hourMs, 0, false],
    ['a 60 h token is replaced before 24 h by the jitter', 60 * 3600, 24 * hourMs - 5_000, 10_000, true],
    ['a token without a lifetime is never replaced', undefined, 1000 * hourMs, 10_000, false],
  ];
  it.each(rows)('%s', (_rule, lifetimeSeconds, ageMs, jitterMs, expected) => {
    const issuedAtMs = Date.UTC(2026, 0, 1);
    const expiresAtMs = issuedAtMs + (lifetimeSeconds ?? 3600) * 1000;
    expect(needsRefresh({ token: 't', expiresAtMs, lifetimeSeconds }, issuedAtMs + ageMs, jitterMs)).toBe(
      expected,
    );
  });
});
