import { describe, expect, it } from 'vitest';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  InvalidQuantity,
  milliQuantityOf,
  parseQuantity,
  quantityMillis,
  quantityMilliValue,
  quantityOf,
  quantityUnits,
  quantityValue,
  scaleQuantity,
  subtractQuantities,
  tryParseQuantity,
} from './quantity.js';

describe('canonical text', () => {
  const rows: [rule: string, input: string | number, canonical: string][] = [
    ['zero drops its suffix', '0Gi', '0'],
    ['negative zero is zero', '-0', '0'],
    ['whole number', '12', '12'],
    ['plus sign is dropped', '+5', '5'],
    ['fraction becomes milli', '0.5', '500m'],
    ['leading point', '.5', '500m'],
    ['trailing point', '5.', '5'],
    ['a thousand milli is one', '1000m', '1'],
    ['micro stays micro', '100u', '100u'],
    ['thousand nano is a micro', '1000n', '1u'],
    ['thousands climb', '1000000', '1M'],
    ['decimal suffixes', '1500k', '1500k'],
    ['exa is not an exponent', '2E', '2E'],
    ['largest binary suffix', '2048Ki', '2Mi'],
    ['fraction of a binary suffix', '1.5Gi', '1536Mi'],
    ['small binary amounts are decimal', '1Ki', '1Ki'],
    ['binary amount below 1024 is decimal', '0.5Ki', '512'],
    ['binary with a fraction of a byte is decimal', '0.0001Ki', '102400u'],
    ['exponent kept', '1e3', '1e3'],
    ['exponent steps by three', '12e4', '120e3'],
    ['upper-case exponent', '5E2', '500'],
    ['negative exponent', '5e-3', '5e-3'],
    ['below a nano rounds up', '0.0000000001', '1n'],
    ['negative', '-1.5', '-1500m'],
    ['numbers are accepted', 0.1, '100m'],
    ['capped at the 64-bit maximum', '100E', '9223372036854775807'],
    ['huge exponent is capped, not computed', '1e999999999', '9223372036854775807'],
    ['tiny exponent rounds up to a nano', '1e-999999999', '1e-9'],
  ];
  it.each(rows)('%s: %s → %s', (_rule, input, canonical) => {
    expect(formatQuantity(parseQuantity(input))).toBe(canonical);
  });
});

describe('rejected texts', () => {
  it.each([
    '',
    ' ',
    '1 ',
    'abc',
    '.',
    '-',
    '1.2.3',
    '1KI',
    '1ki',
    '1mi',
    '1e',
    '1Kim',
    '1i',
    '0x10',
    '1,5',
    '9'.repeat(300),
  ])('%j', (text) => {
    expect(() => parseQuantity(text)).toThrow(InvalidQuantity);
    expect(tryParseQuantity(text)).toBeUndefined();
  });
  it('names the suffix', () => {
    expect(() => parseQuantity('10Mib')).toThrow('"10Mib" is not a quantity');
    expect(() => parseQuantity('10Kn')).toThrow('unknown suffix "Kn"');
  });
});

describe('rounding', () => {
  it.each([
    ['1m', 1n, 1n],
    ['1500m', 2n, 1500n],
    ['-1500m', -2n, -1500n],
    ['100u', 1n, 1n],
    ['1Gi', 1073741824n, 1073741824000n],
  ] as const)('%s is %d whole and %d milli', (text, value, milli) => {
    expect(quantityValue(parseQuantity(text))).toBe(value);
    expect(quantityMilliValue(parseQuantity(text))).toBe(milli);
    expect(quantityUnits(text)).toBe(Number(value));
    expect(quantityMillis(text)).toBe(Number(milli));
  });
  it('counts an absent text as zero', () => {
    expect(quantityUnits(undefined)).toBe(0);
    expect(quantityMillis(undefined)).toBe(0);
  });
});

describe('arithmetic', () => {
  it.each([
    ['sum keeps the first format', '1Gi', '1000000', 'add', '1074741824'],
    ['sum of zero takes the other format', '0', '1Mi', 'add', '1Mi'],
    ['difference', '1', '250m', 'sub', '750m'],
    ['difference below zero', '250m', '1', 'sub', '-750m'],
  ] as const)('%s', (_rule, a, b, operation, expected) => {
    const run = operation === 'add' ? addQuantities : subtractQuantities;
    expect(formatQuantity(run(parseQuantity(a), parseQuantity(b)))).toBe(expected);
  });
  it.each([
    ['1', '1000m', 0],
    ['1Gi', '1G', 1],
    ['999m', '1', -1],
  ])('compare %s with %s', (a, b, expected) => {
    expect(compareQuantities(parseQuantity(a), parseQuantity(b))).toBe(expected);
  });
  it('scales exactly and rounds up', () => {
    expect(formatQuantity(scaleQuantity(parseQuantity('1'), 1n, 3n))).toBe('333333334n');
    expect(formatQuantity(scaleQuantity(parseQuantity('2Gi'), 3n))).toBe('6Gi');
  });
  it('builds from numbers', () => {
    expect(formatQuantity(quantityOf(2048, 'BinarySI'))).toBe('2Ki');
    expect(formatQuantity(milliQuantityOf(250))).toBe('250m');
  });
});
