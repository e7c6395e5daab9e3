/** Amounts with their units, short enough for an axis and a table. */
import type { Unit } from '../judge/figures.js';

const binary = ['B', 'KiB', 'MiB', 'GiB'] as const;

export function amount(value: number, unit: Unit): string {
  switch (unit) {
    case 'bytes': {
      let scaled = value;
      let step = 0;
      while (Math.abs(scaled) >= 1024 && step < binary.length - 1) {
        scaled /= 1024;
        step++;
      }
      return `${short(scaled)} ${binary[step]}`;
    }
    case 'count':
      return short(value);
    case 'ms':
      return `${short(value)} ms`;
    case 'per second':
      return `${short(value)}/s`;
    case 'ms per second':
      return `${short(value)} ms/s`;
  }
}

/** Three digits that mean something. */
function short(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  return Number(text) === 0 ? '0' : text;
}
