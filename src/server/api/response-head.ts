/** Parses as much of a raw HTTP response as an upgrade needs: its status, and where its head and body end. */

export interface ResponseHead {
  readonly statusCode: number;
  /** Including the blank line. */
  readonly headBytes: number;
  /** Undefined: until the end of the connection, unless it is chunked. */
  readonly contentLength: number | undefined;
  readonly chunked: boolean;
  /** By lower-case name; the first value of a repeated one. */
  readonly headers: ReadonlyMap<string, string>;
}

export type ParsedHead = ResponseHead | 'incomplete' | 'malformed';

const blankLine = Buffer.from('\r\n\r\n');

/** Whether the head is complete, given that it was not in the first `knownBytes`. */
export function hasHead(bytes: Buffer, knownBytes: number): boolean {
  return bytes.indexOf(blankLine, Math.max(0, knownBytes - blankLine.length)) >= 0;
}

export function parseResponseHead(bytes: Buffer): ParsedHead {
  const end = bytes.indexOf(blankLine);
  if (end < 0) return 'incomplete';
  const [statusLine = '', ...headerLines] = bytes.toString('latin1', 0, end).split('\r\n');
  const [, code] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine) ?? [];
  if (code === undefined) return 'malformed';
  let contentLength: number | undefined;
  let chunked = false;
  const headers = new Map<string, string>();
  for (const line of headerLines) {
    const colon = line.indexOf(':');
    if (colon <= 0) return 'malformed';
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (!headers.has(name)) headers.set(name, value);
    if (name === 'content-length' && /^\d+$/.test(value)) contentLength = Number(value);
    if (name === 'transfer-encoding' && value.toLowerCase() === 'chunked') chunked = true;
  }
  return { statusCode: Number(code), headBytes: end + blankLine.length, contentLength, chunked, headers };
}

/** Whether the response is complete. */
export function isWhole(head: ResponseHead, bytes: Buffer): boolean {
  if (head.chunked) return bytes.subarray(-5).toString('latin1') === '0\r\n\r\n';
  return head.contentLength !== undefined && bytes.length >= head.headBytes + head.contentLength;
}
