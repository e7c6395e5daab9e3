/** Formats amounts of resources for people: bytes in the largest unit that fits, anything else as a quantity. */
import { tryParseQuantity } from '../../kube/index.js';

const units = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** In cores, bytes or pieces; 0 for what is no quantity. */
export function amountOf(quantity: string): number {
  const parsed = tryParseQuantity(quantity);
  return parsed === undefined ? 0 : Number(parsed.nanos) / 1e9;
}

export function amountText(resource: string, quantity: string): string {
  if (!/^(memory|ephemeral-storage|hugepages-.*)$/.test(resource)) return quantity;
  const amount = amountOf(quantity);
  let value = Math.abs(amount);
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  // One digit after the point, where it says something.
  const text = String(Math.round(value * 10) / 10);
  return `${amount < 0 ? '-' : ''}${text}${units[unit]}`;
}
