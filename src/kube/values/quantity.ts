/** Kubernetes quantities such as `250m` or `1.5Gi`, exact so that sums and comparisons never drift. */

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** An amount in billionths of its unit, and its suffix family. */
export interface Quantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

/** A text that is not a quantity; the message quotes it. */
export class InvalidQuantity extends Error {
  override readonly name = 'InvalidQuantity';
}

const nanosPerUnit = 1_000_000_000n;
const nanosPerMilli = 1_000_000n;
/** Kubernetes caps every amount at a signed 64-bit integer. */
const largestNanos = (2n ** 63n - 1n) * nanosPerUnit;
/** Longer texts say nothing more below the cap, and would only cost time. */
const longestText = 256;

const grammar = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[+-]?\d*)$/;

const decimalExponents = new Map<string, number>([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const decimalSuffixes = new Map<number, string>(
  [...decimalExponents].map(([suffix, power]) => [power, suffix]),
);
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

export const zeroQuantity: Quantity = { nanos: 0n, format: 'DecimalSI' };

/** Parses a quantity; a bare number counts as its decimal text. */
export function parseQuantity(input: string | number): Quantity {
  const text = String(input);
  if (text.length > longestText)
    throw new InvalidQuantity(`quantity is longer than ${longestText} characters`);
  const parts = grammar.exec(text);
  if (parts === null) throw invalid(text);
  const [, sign = '', whole = '', fraction = '', suffix = ''] = parts;
  if (whole === '' && fraction === '') throw invalid(text);
  const { format, multiplier, power } = parseSuffix(suffix, text);
  const digits = BigInt(whole + fraction) * multiplier;
  const nanos = shiftDecimal(digits, power - fraction.length + 9);
  return { nanos: sign === '-' ? -nanos : nanos, format };
}

/** The quantity, or undefined when the text is not one. */
export function tryParseQuantity(input: string | number): Quantity | undefined {
  try {
    return parseQuantity(input);
  } catch (error) {
    if (error instanceof InvalidQuantity) return undefined;
    throw error;
  }
}

/** The canonical text: no fraction, the largest suffix that loses nothing. */
export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  const isWhole = nanos % nanosPerUnit === 0n;
  const units = nanos / nanosPerUnit;
  const isSmall = units > -1024n && units < 1024n;
  if (format === 'BinarySI' && isWhole && !isSmall) return formatBinary(units);
  return formatDecimal(nanos, format === 'DecimalExponent');
}

/** Negative, zero or positive, as `a` is less than, equal to or more than `b`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  if (a.nanos === b.nanos) return 0;
  return a.nanos < b.nanos ? -1 : 1;
}

/** The sum, in the format of the first operand unless that is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** The difference, in the format of the first operand unless that is zero. */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** `quantity × numerator ÷ denominator`, rounded away from zero to a billionth. */
export function scaleQuantity(quantity: Quantity, numerator: bigint, denominator = 1n): Quantity {
  return { nanos: divideAwayFromZero(quantity.nanos * numerator, denominator), format: quantity.format };
}

/** Whole units, rounded away from zero. */
export function quantityValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, nanosPerUnit);
}

/** Thousandths, rounded away from zero. */
export function quantityMilliValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, nanosPerMilli);
}

/** Whole units of a quantity text as a number (0 when absent): bytes of `memory`, for example. */
export function quantityUnits(text: string | number | undefined): number {
  return text === undefined ? 0 : Number(quantityValue(parseQuantity(text)));
}

/** Thousandths of a quantity text as a number (0 when absent): millicores of `cpu`, for example. */
export function quantityMillis(text: string | number | undefined): number {
  return text === undefined ? 0 : Number(quantityMilliValue(parseQuantity(text)));
}

/** A whole number as a quantity; use binary suffixes for bytes, decimal ones for counts. */
export function quantityOf(units: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { nanos: BigInt(units) * nanosPerUnit, format };
}

/** Thousandths as a quantity: `milliQuantityOf(250)` is `250m`. */
export function milliQuantityOf(millis: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { nanos: BigInt(millis) * nanosPerMilli, format };
}

interface Suffix {
  readonly format: QuantityFormat;
  readonly multiplier: bigint;
  readonly power: number;
}

function parseSuffix(suffix: string, text: string): Suffix {
  const decimal = decimalExponents.get(suffix);
  if (decimal !== undefined) return { format: 'DecimalSI', multiplier: 1n, power: decimal };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { format: 'BinarySI', multiplier: 1024n ** BigInt(binary), power: 0 };
  const exponent = /^[eE]([+-]?\d+)$/.exec(suffix);
  if (exponent === null) {
    throw new InvalidQuantity(
      `quantity "${text}" has an unknown suffix "${suffix}"; use one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3`,
    );
  }
  return { format: 'DecimalExponent', multiplier: 1n, power: Number(exponent[1]) };
}

/** `digits × 10^power`, rounded up to a whole and capped; powers far past the cap are not computed. */
function shiftDecimal(digits: bigint, power: number): bigint {
  if (digits === 0n) return 0n;
  if (power > 40) return largestNanos;
  if (power < -2 * longestText) return 1n;
  const shifted =
    power >= 0 ? digits * 10n ** BigInt(power) : divideAwayFromZero(digits, 10n ** BigInt(-power));
  if (shifted > largestNanos) return largestNanos;
  return shifted;
}

function divideAwayFromZero(amount: bigint, divisor: bigint): bigint {
  const quotient = amount / divisor;
  if (amount % divisor === 0n) return quotient;
  return amount < 0n === divisor < 0n ? quotient + 1n : quotient - 1n;
}

function formatBinary(units: bigint): string {
  let mantissa = units;
  let power = 0;
  while (mantissa % 1024n === 0n && power < binarySuffixes.length - 1) {
    mantissa /= 1024n;
    power += 1;
  }
  return `${mantissa}${binarySuffixes[power]}`;
}

function formatDecimal(nanos: bigint, asExponent: boolean): string {
  let mantissa = nanos;
  let power = -9;
  while (mantissa % 1000n === 0n && power < 18) {
    mantissa /= 1000n;
    power += 3;
  }
  if (asExponent) return power === 0 ? `${mantissa}` : `${mantissa}e${power}`;
  return `${mantissa}${decimalSuffixes.get(power)}`;
}

function invalid(text: string): InvalidQuantity {
  return new InvalidQuantity(
    `"${text}" is not a quantity; write a number with an optional suffix, for example 250m, 1.5 or 512Mi`,
  );
}
