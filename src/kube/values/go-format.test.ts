import { describe, expect, it } from 'vitest';
import {
  formatDuration,
  formatDurationNanos,
  formatMicroTimestamp,
  formatNanoTimestamp,
  formatNanoTimestampOfMs,
  formatTimestamp,
  goQuote,
  parseDuration,
  parseTimestamp,
  parseTimestampNanos,
} from './go-format.js';

describe('durations', () => {
  it.each([
    [0, '0s'],
    [512, '512ms'],
    [1.5, '1.5ms'],
    [0.1, '100µs'],
    [0.000001, '1ns'],
    [1234, '1.234s'],
    [10_000, '10s'],
    [80_000, '1m20s'],
    [300_000, '5m0s'],
    [3_600_000, '1h0m0s'],
    [5_430_500, '1h30m30.5s'],
    [-1500, '-1.5s'],
  ])('%d ms is %s and back', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
    expect(parseDuration(text)).toBeCloseTo(ms, 9);
  });
  it('keeps nanoseconds', () => expect(formatDurationNanos(1_000_000_001n)).toBe('1.000000001s'));
  it.each([
    ['100us', 0.1],
    ['1h30m', 5_400_000],
    ['.5s', 500],
    ['1.s', 1000],
    ['+2m', 120_000],
    ['0', 0],
    ['24h', 86_400_000],
  ])('parses %s', (text, ms) => expect(parseDuration(text)).toBeCloseTo(ms, 9));
  it.each([
    ['', 'invalid duration ""'],
    ['-', 'invalid duration "-"'],
    ['s', 'invalid duration "s"'],
    ['10', 'missing unit in duration "10"'],
    ['1d', 'unknown unit "d" in duration "1d"'],
    ['1m 2s', 'unknown unit "m " in duration "1m 2s"'],
    ['1..2s', 'missing unit'],
  ])('rejects %j', (text, message) => expect(() => parseDuration(text)).toThrow(message));
});

describe('timestamps', () => {
  const epochMs = Date.UTC(2024, 1, 29, 12, 34, 56, 789);
  it('cuts to seconds', () => expect(formatTimestamp(epochMs)).toBe('2024-02-29T12:34:56Z'));
  it('writes microseconds', () =>
    expect(formatMicroTimestamp(epochMs + 0.25)).toBe('2024-02-29T12:34:56.789250Z'));
  it('writes nine digits', () => {
    expect(formatNanoTimestamp(BigInt(epochMs) * 1_000_000n + 5n)).toBe('2024-02-29T12:34:56.789000005Z');
    expect(formatNanoTimestampOfMs(epochMs)).toBe('2024-02-29T12:34:56.789000000Z');
  });
  it.each([
    ['2024-02-29T12:34:56Z', Date.UTC(2024, 1, 29, 12, 34, 56)],
    ['2024-02-29T14:34:56.789+02:00', epochMs],
    ['2024-02-29T12:34:56.789999999Z', epochMs],
    ['1969-12-31T23:59:59.9995Z', -1],
  ])('parses %s', (text, expected) => expect(parseTimestamp(text)).toBe(expected));
  it('parses nanoseconds', () => {
    expect(parseTimestampNanos('1970-01-01T00:00:01.000000005Z')).toBe(1_000_000_005n);
  });
  it.each(['', 'yesterday', '2024-02-29', '2024-13-01T00:00:00Z', '2024-02-29T12:34:56'])(
    'refuses %j',
    (text) => {
      expect(parseTimestamp(text)).toBeUndefined();
    },
  );
});

describe('goQuote', () => {
  const rows: [rule: string, text: string, expected: string][] = [
    ['plain', 'a b', '"a b"'],
    ['escapes', '\\ " \n\t\r\x07\b\f\v', '"\\\\ \\" \\n\\t\\r\\a\\b\\f\\v"'],
    ['control characters', '\x00\x7f', '"\\x00\\x7f"'],
    ['printable Unicode stays', 'é世🙂', '"é世🙂"'],
    ['other Unicode is escaped', '\u200b\u00a0\u{e0001}', '"\\u200b\\u00a0\\U000e0001"'],
  ];
  it.each(rows)('quotes %s', (_rule, text, expected) => expect(goQuote(text)).toBe(expected));
});
