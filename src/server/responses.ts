/** The responses of handlers, in the forms that clients of the kubelet API know. */
import type { Duplex } from 'node:stream';

export interface RouteResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | StreamedBody | TakenOver;
}

/** Applies back-pressure: the next write waits until this one is done. */
export interface BodySink {
  write(bytes: Buffer): Promise<void>;
}

/** A body of unknown length, sent as it comes. */
export interface StreamedBody {
  /** The signal is aborted when the client has left or the listener closes. */
  readonly stream: (sink: BodySink, signal: AbortSignal) => Promise<void>;
  /** Whether to send the head before the first byte of the body. */
  readonly headAtOnce: boolean;
  /**
   * Turns a failure into a response: sent whole if the head was not sent yet, else its text ends the body.
   */
  readonly failed: (error: unknown) => RouteResponse;
}

/** The handler talks to the client itself from here on; the response's status and headers are ignored. */
export interface TakenOver {
  /**
   * `head` is what the client sent after its request. Resolves when the connection has ended; always closes
   * it.
   */
  readonly takeOver: (client: Duplex, head: Buffer) => Promise<void>;
}

export function isStreamed(body: RouteResponse['body']): body is StreamedBody {
  return typeof body === 'object' && 'stream' in body;
}

export function isTakenOver(body: RouteResponse['body']): body is TakenOver {
  return typeof body === 'object' && 'takeOver' in body;
}

const textType = 'text/plain; charset=utf-8';

export function text(status: number, body: string): RouteResponse {
  return { status, headers: { 'Content-Type': textType }, body };
}

/** Text whose type browsers must not sniff. */
export function plain(status: number, body: string): RouteResponse {
  return { status, headers: { 'Content-Type': textType, 'X-Content-Type-Options': 'nosniff' }, body };
}

export function plainError(status: number, message: string): RouteResponse {
  return plain(status, `${message}\n`);
}

export function json(value: unknown): RouteResponse {
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(value)}\n` };
}

export function redirect(location: string): RouteResponse {
  return { status: 307, headers: { Location: location }, body: '' };
}
