import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { constants, createDeflate, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { spdyLimits } from '../limits.js';
import { spdyDictionary } from './dictionary.js';
import { SpdyProtocolError } from './frames.js';
import { encodeHeaders, HeaderBlockReader, HeaderBlockWriter } from './header-blocks.js';

const headers = (...entries: [string, string][]): Map<string, string> => new Map(entries);

it('the dictionary is that of SPDY/3', () => {
  expect(spdyDictionary).toHaveLength(1423);
  expect(createHash('sha256').update(spdyDictionary).digest('hex')).toBe(
    '51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02',
  );
});

/** All bytes that the stream has ready; since Node 26 one `read` returns one chunk. */
function takeAll(stream: Readable): Buffer {
  const chunks: Buffer[] = [];
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('header blocks', () => {
  it('of another compressor are parsed', async () => {
    const block = Buffer.from(
      '78f9e3c6a7c202a62346703a2b294a4dcc851625aca9a0800600 0000ffff'.replace(' ', ''),
      'hex',
    );
    expect(await new HeaderBlockReader().read(block)).toEqual(headers(['streamtype', 'error']));
  });

  it('are parsed as they were written, one after another in one stream', async () => {
    const writer = new HeaderBlockWriter();
    const reader = new HeaderBlockReader();
    const blocks = [
      headers(['streamtype', 'error']),
      headers(),
      headers(['port', '80'], ['requestid', '7'], ['streamtype', 'data']),
      headers(['long', 'x'.repeat(4000)]),
      headers(['after', 'ü']),
    ];
    for (const block of blocks) expect(await reader.read(writer.write(block))).toEqual(block);
  });

  it('that are long are written as several zlib blocks', () => {
    const long = headers(['long', 'x'.repeat(200_000)]);
    const options = { dictionary: spdyDictionary, finishFlush: constants.Z_SYNC_FLUSH };
    const inflated = inflateSync(new HeaderBlockWriter().write(long), options);
    expect(inflated.equals(encodeHeaders(long))).toBe(true);
  });

  it('of a real compressor refer to earlier ones', async () => {
    const deflate = createDeflate({ dictionary: spdyDictionary, level: 9 });
    const reader = new HeaderBlockReader();
    for (const block of [headers(['streamtype', 'stdin']), headers(['streamtype', 'stdin'])]) {
      deflate.write(encodeHeaders(block));
      await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
      expect(await reader.read(takeAll(deflate))).toEqual(block);
    }
  });

  it.each<[string, Buffer]>([
    ['that are not zlib', Buffer.from('hello')],
    ['without their dictionary', Buffer.from([0x78, 0xf9, 1, 2, 3, 4, 0, 0, 0])],
    ['with an upper-case name', encodedBlock(headers(['Name', 'v']))],
    ['with a forbidden header', encodedBlock(headers(['host', 'v']))],
    ['that are too short', stored(Buffer.from([0, 0, 0, 1, 0, 0, 0, 9]))],
    ['with too many headers', stored(Buffer.from([0, 0, 0, spdyLimits.headers + 1]))],
    ['of too many bytes', encodedBlock(headers(['long', 'x'.repeat(spdyLimits.headerBlockBytes)]))],
  ])('%s are refused', async (_, block) => {
    await expect(new HeaderBlockReader().read(block)).rejects.toBeInstanceOf(SpdyProtocolError);
  });

  it('that are too large when inflated are refused', async () => {
    const deflate = createDeflate({ dictionary: spdyDictionary, level: 9 });
    deflate.write(Buffer.alloc(spdyLimits.headerBlockBytes * 2000));
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    const block = takeAll(deflate);
    expect(block.length).toBeLessThan(64 * 1024);
    const reader = new HeaderBlockReader();
    await expect(reader.read(block)).rejects.toThrow(/more than/);
    await expect(reader.read(block)).rejects.toThrow(/more than/);
  });
});

function encodedBlock(from: Map<string, string>): Buffer {
  return new HeaderBlockWriter().write(from);
}

function stored(plain: Buffer): Buffer {
  const head = Buffer.from([0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0, 0, 0, 0, 0]);
  head.writeUInt16LE(plain.length, 7);
  head.writeUInt16LE(plain.length ^ 0xffff, 9);
  return Buffer.concat([head, plain, Buffer.from([0, 0, 0, 0xff, 0xff])]);
}
