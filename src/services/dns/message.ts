/** DNS messages as data: RFC 1035, with the numbers that this room uses. */

export const recordType = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;

export const classIn = 1;

/** How a query came. */
export type DnsTransport = 'udp' | 'tcp';

export const responseCode = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
  /** Of EDNS, RFC 6891 section 6.1.3. */
  badVersion: 16,
} as const;

/** Labels as they came, without the root; compared without regard to the case of ASCII letters. */
export type DnsName = readonly string[];

export interface DnsQuestion {
  readonly name: DnsName;
  readonly type: number;
  readonly class: number;
}

export interface DnsQuery {
  readonly id: number;
  readonly recursionDesired: boolean;
  readonly checkingDisabled: boolean;
  readonly question: DnsQuestion;
  /** EDNS: the largest datagram that the client takes. */
  readonly edns?: { readonly udpBytes: number; readonly version: number; readonly dnssecOk: boolean };
}

export type RecordData =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR' | 'NS'; readonly target: DnsName }
  | {
      readonly type: 'SRV';
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: DnsName;
    }
  | { readonly type: 'TXT'; readonly text: string }
  | {
      readonly type: 'SOA';
      readonly primary: DnsName;
      readonly mailbox: DnsName;
      readonly serial: number;
      readonly negativeSeconds: number;
    };

export interface DnsRecord {
  readonly name: DnsName;
  readonly ttlSeconds: number;
  readonly data: RecordData;
}

export interface DnsAnswer {
  readonly code: number;
  readonly isAuthoritative: boolean;
  readonly answers: readonly DnsRecord[];
  readonly authority: readonly DnsRecord[];
  readonly additional: readonly DnsRecord[];
}

/** A packet that is no message, or none that this server answers. */
export class DnsFormatError extends Error {
  override readonly name = 'DnsFormatError';
}

/** The key under which a name is looked up: in lower case, by ASCII only (RFC 4343). A dot inside a label is not one between two. */
export function nameKey(name: DnsName): string {
  return name
    .map((label) => label.replace(/[A-Z]+/g, (upper) => upper.toLowerCase()).replace(/[.\\]/g, '\\$&'))
    .join('.');
}

export function nameOf(text: string): DnsName {
  return text === '' ? [] : text.split('.');
}
