/** Go and Kubernetes text formats: durations, string literals and RFC 3339 instants. */

const nanosPerMs = 1_000_000n;
const nanosPerSecond = 1_000_000_000n;

/** Milliseconds as a Go duration: `0s`, `512ms`, `1.234s`, `1m20s`, `5m0s`. */
export function formatDuration(durationMs: number): string {
  return formatDurationNanos(BigInt(Math.round(durationMs * 1e6)));
}

/** Nanoseconds as a Go duration. */
export function formatDurationNanos(durationNanos: bigint): string {
  if (durationNanos === 0n) return '0s';
  const sign = durationNanos < 0n ? '-' : '';
  const nanos = durationNanos < 0n ? -durationNanos : durationNanos;
  if (nanos < 1_000n) return `${sign}${nanos}ns`;
  if (nanos < nanosPerMs) return `${sign}${decimal(nanos, 3)}µs`;
  if (nanos < nanosPerSecond) return `${sign}${decimal(nanos, 6)}ms`;
  const seconds = nanos / nanosPerSecond;
  const hours = seconds / 3600n;
  const minutes = (seconds / 60n) % 60n;
  const rest = `${decimal(nanos % (60n * nanosPerSecond), 9)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${rest}`;
  return minutes > 0n ? `${sign}${minutes}m${rest}` : `${sign}${rest}`;
}

/** `value ÷ 10^digits` without trailing zeros. */
function decimal(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  const whole = text.slice(0, -digits);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** A Go duration such as `1h30m` or `100us`, in milliseconds. */
export function parseDuration(text: string): number {
  const unsigned = text.replace(/^[+-]/, '');
  if (unsigned === '0') return 0;
  if (unsigned === '') throw new Error(`invalid duration "${text}"; write for example 10s, 1m30s or 500ms`);
  const part = /(\d+\.?\d*|\.\d+)([^\d.]*)/y;
  let totalMs = 0;
  while (part.lastIndex < unsigned.length) {
    const match = part.exec(unsigned);
    if (match === null) throw new Error(`invalid duration "${text}"; write for example 10s, 1m30s or 500ms`);
    const [, amount = '', unit = ''] = match;
    if (unit === '') throw new Error(`missing unit in duration "${text}"; add one of ns, us, ms, s, m, h`);
    const factor = unitMs.get(unit);
    if (factor === undefined) {
      throw new Error(`unknown unit "${unit}" in duration "${text}"; use one of ns, us, ms, s, m, h`);
    }
    totalMs += Number(amount) * factor;
  }
  return text.startsWith('-') ? -totalMs : totalMs;
}

/** `2006-01-02T15:04:05Z`, the form of object timestamps; fractions of a second are cut. */
export function formatTimestamp(epochMs: number): string {
  const second = Math.floor(epochMs / 1000);
  // Many objects are told of the same moment and keep its text: they share it.
  if (second !== lastTimestamp.second) {
    lastTimestamp = { second, text: new Date(second * 1000).toISOString().replace('.000Z', 'Z') };
  }
  return lastTimestamp.text;
}

let lastTimestamp: { readonly second: number; readonly text: string } = { second: Number.NaN, text: '' };

/** `2006-01-02T15:04:05.000000Z`, the form of leases and event times. */
export function formatMicroTimestamp(epochMs: number): string {
  const micros = Math.floor((epochMs - Math.floor(epochMs)) * 1000);
  return `${new Date(Math.floor(epochMs)).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

/** `2006-01-02T15:04:05.000000000Z`: always nine fractional digits. */
export function formatNanoTimestamp(epochNanos: bigint): string {
  let fraction = epochNanos % nanosPerSecond;
  if (fraction < 0n) fraction += nanosPerSecond;
  const seconds = (epochNanos - fraction) / nanosPerSecond;
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, -5);
  return `${text}.${fraction.toString().padStart(9, '0')}Z`;
}

/** Nine fractional digits from milliseconds. */
export function formatNanoTimestampOfMs(epochMs: number): string {
  return formatNanoTimestamp(BigInt(Math.round(epochMs * 1e3)) * 1000n);
}

const timestampGrammar =
  /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Parses an RFC 3339 instant into nanoseconds since the epoch; undefined if it is not one. */
export function parseTimestampNanos(text: string): bigint | undefined {
  const match = timestampGrammar.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '', fraction = '', zone = ''] = match;
  const epochMs = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(epochMs)) return undefined;
  return BigInt(epochMs) * nanosPerMs + BigInt(fraction.padEnd(9, '0'));
}

/** Parses an RFC 3339 instant into milliseconds since the epoch; undefined if it is not one. */
export function parseTimestamp(text: string): number | undefined {
  const nanos = parseTimestampNanos(text);
  if (nanos === undefined) return undefined;
  const wholeMs = nanos / nanosPerMs;
  return Number(nanos < 0n && nanos % nanosPerMs !== 0n ? wholeMs - 1n : wholeMs);
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);

/** A Go string literal: printable characters unchanged, the rest escaped. */
export function goQuote(text: string): string {
  let quoted = '"';
  for (const character of text) {
    quoted +=
      escapes.get(character) ??
      (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character) ? character : hex(character));
  }
  return `${quoted}"`;
}

function hex(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // An unpaired surrogate is no character; use Unicode's replacement character.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
