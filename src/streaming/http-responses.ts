/** Writes HTTP responses to a socket that Node has handed over for an upgrade. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface Refusal {
  readonly statusCode: number;
  readonly body: string;
  readonly headers?: HeaderList;
}

/** Responds without an upgrade and closes the socket. */
export function refuse(socket: Duplex, { statusCode, body, headers = [] }: Refusal): void {
  socket.end(
    messageHead(statusCode, [
      ['Content-Type', 'text/plain; charset=utf-8'],
      ['Content-Length', String(Buffer.byteLength(body))],
      ['Connection', 'close'],
      ...headers,
    ]) + body,
    () => socket.destroy(),
  );
}

export function switchProtocols(socket: Duplex, headers: HeaderList): void {
  socket.write(messageHead(101, headers));
}

function messageHead(statusCode: number, headers: HeaderList): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode] ?? ''}\r\n${lines.join('')}\r\n`;
}
