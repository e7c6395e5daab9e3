/** Reads a response's body up to a limit. */
import type { Readable } from 'node:stream';
import { ByteReader } from '../async/index.js';
import type { BodyRule } from './contracts.js';

export const emptyBody: Buffer = Buffer.alloc(0);

/** Calls `done` or `fail`, both perhaps again when the stream goes on; the caller heeds the first call only. */
export function readBody(
  stream: Readable,
  { limitBytes, atLimit }: BodyRule,
  done: (body: Buffer) => void,
  fail: (error: unknown) => void,
): void {
  const body = new ByteReader();
  let isFull = false;
  stream.on('error', fail);
  stream.on('data', (chunk: Buffer) => {
    if (isFull) return;
    body.push(chunk);
    isFull = body.length >= limitBytes;
    if (!isFull) return;
    if (atLimit === 'fail') fail(new Error(`the response reaches the limit of ${limitBytes} bytes`));
    else done(body.takeAll().subarray(0, limitBytes));
  });
  stream.on('end', () => done(body.takeAll()));
}
