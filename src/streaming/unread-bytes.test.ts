import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { UnreadBytes } from './unread-bytes.js';

class Unread extends Readable {
  readonly bytes: UnreadBytes;

  constructor(windowBytes: number) {
    super({ highWaterMark: 1 });
    this.bytes = new UnreadBytes(this, windowBytes);
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    this.bytes.wasRead();
    return chunk;
  }

  override _read(): void {
    this.bytes.isWanted();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.bytes.drop();
    done(error);
  }
}

const byte = Buffer.from('x');
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('bytes that nobody reads', () => {
  it('take no more memory than the window, however small the chunks are', () => {
    const windowBytes = 1 << 20;
    const stream = new Unread(windowBytes);
    const before = process.memoryUsage();
    let added = 0;
    while (stream.bytes.add(byte) === undefined) added++;
    const after = process.memoryUsage();
    expect([added, stream.bytes.length]).toEqual([windowBytes, windowBytes + 1]);
    // Separate chunks would take a hundred times as much.
    const grown = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    expect(grown).toBeLessThan(32 << 20);
  });

  it('make their sender wait until they are read, dropped or released', async () => {
    for (const act of [
      (stream: Unread) => void stream.resume(),
      (stream: Unread) => void stream.destroy(),
      (stream: Unread) => stream.bytes.release(),
      (stream: Unread) => stream.bytes.end(),
    ]) {
      const stream = new Unread(10);
      const room = stream.bytes.add(Buffer.alloc(11));
      expect(room).toBeInstanceOf(Promise);
      act(stream);
      await room;
    }
  });
});

describe('bytes that are read', () => {
  it.each([1, 3, 1000])('arrive unchanged in chunks of %i, then the end', async (size) => {
    const stream = new Unread(64);
    const sent = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251));
    const got = buffer(stream);
    for (let at = 0; at < sent.length; at += size) {
      await stream.bytes.add(sent.subarray(at, at + size));
      if (at % 7 === 0) await nextTurn();
    }
    stream.bytes.end();
    expect((await got).equals(sent)).toBe(true);
  });

  it('arrive after the end, too', async () => {
    const stream = new Unread(64);
    await stream.bytes.add(Buffer.from('last '));
    await stream.bytes.add(Buffer.from('words'));
    stream.bytes.end();
    expect(stream.bytes.add(byte)).toBeUndefined();
    expect((await buffer(stream)).toString()).toBe('last words');
  });
});
