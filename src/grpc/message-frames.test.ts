import { describe, expect, it } from 'vitest';
import { frameMessage, GrpcMessageReader } from './message-frames.js';

const text = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString();

describe('GrpcMessageReader', () => {
  const whole = Buffer.concat([
    frameMessage(Buffer.from('one')),
    frameMessage(Buffer.from('')),
    frameMessage(Buffer.from('three')),
  ]);

  it.each([1, 2, 3, 5, 6, 7, 100])('returns the messages of chunks of %i bytes', (chunkBytes) => {
    const reader = new GrpcMessageReader(10);
    const messages: (string | undefined)[] = [];
    for (let at = 0; at < whole.length; at += chunkBytes) {
      reader.push(whole.subarray(at, at + chunkBytes));
      for (let next = reader.next(); next !== undefined; next = reader.next()) messages.push(text(next));
    }
    expect(messages).toEqual(['one', '', 'three']);
    expect(reader.isInside).toBe(false);
  });

  it('waits for the rest of a message', () => {
    const reader = new GrpcMessageReader(10);
    reader.push(whole.subarray(0, 6));
    expect(reader.next()).toBeUndefined();
    expect(reader.isInside).toBe(true);
  });

  it('refuses a message that is too large before its bytes arrive', () => {
    const reader = new GrpcMessageReader(2);
    reader.push(whole.subarray(0, 5));
    expect(() => reader.next()).toThrow('grpc: received message larger than max (3 vs. 2)');
  });

  it('refuses a compressed message', () => {
    const reader = new GrpcMessageReader(10);
    reader.push(Buffer.from([1, 0, 0, 0, 0]));
    expect(() => reader.next()).toThrow('compressed');
  });
});
