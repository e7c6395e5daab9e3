/** IPv4 addresses as numbers, and ranges of them. */
import { isIPv4 } from 'node:net';

export interface Ipv4Range {
  /** In canonical form: `10.96.0.0/16`. */
  readonly text: string;
  readonly first: number;
  readonly last: number;
}

/** Undefined when the text is no IPv4 address. */
export function ipv4Number(text: string): number | undefined {
  if (!isIPv4(text)) return undefined;
  return text.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

export function ipv4Text(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
}

/** Undefined when the text is no range of IPv4 addresses such as `10.96.0.0/16`; host bits are cleared. */
export function parseIpv4Range(text: string): Ipv4Range | undefined {
  const [, address = '', bits = ''] = /^([\d.]{7,15})\/(\d{1,2})$/.exec(text) ?? [];
  const number = ipv4Number(address);
  const prefix = Number(bits);
  if (number === undefined || bits === '' || prefix > 32) return undefined;
  const size = 2 ** (32 - prefix);
  const first = Math.floor(number / size) * size;
  return { text: `${ipv4Text(first)}/${prefix}`, first, last: first + size - 1 };
}

export function isInRange({ first, last }: Ipv4Range, address: string): boolean {
  const number = ipv4Number(address);
  return number !== undefined && number >= first && number <= last;
}
