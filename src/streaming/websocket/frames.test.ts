import { describe, expect, it } from 'vitest';
import { webSocketLimits } from '../limits.js';
import { closePayload, encodeFrame, Opcode } from './frames.js';
import { WebSocketMessageReader } from './test-messages.js';

const frame = (opcode: number, data: Buffer, options = {}): Buffer =>
  Buffer.concat(encodeFrame(opcode, data, { mask: true, ...options }));
const read = (bytes: Buffer) => [...new WebSocketMessageReader({ fromClient: true }).read(bytes)];

describe('messages', () => {
  it.each([0, 1, 125, 126, 65_535, 65_536, 200_000])(
    'of %i bytes are parsed as they were written',
    (size) => {
      const data = Buffer.alloc(size, 'ab');
      expect(read(frame(Opcode.binary, data))).toEqual([{ kind: 'message', binary: true, data }]);
    },
  );

  it('are complete for any split of the bytes', () => {
    const all = Buffer.concat([
      frame(Opcode.text, Buffer.from('one')),
      frame(Opcode.ping, Buffer.from('two')),
      frame(Opcode.binary, Buffer.alloc(300, 'x')),
      frame(Opcode.close, closePayload(1000)),
    ]);
    for (const size of [1, 3, 10, all.length]) {
      const reader = new WebSocketMessageReader({ fromClient: true });
      const kinds: string[] = [];
      for (let at = 0; at < all.length; at += size)
        for (const { kind } of reader.read(all.subarray(at, at + size))) kinds.push(kind);
      expect(kinds).toEqual(['message', 'ping', 'message', 'close']);
    }
  });

  it('in fragments may be interrupted by a ping', () => {
    const bytes = Buffer.concat([
      frame(Opcode.binary, Buffer.from('ab'), { fin: false }),
      frame(Opcode.ping, Buffer.alloc(0)),
      frame(Opcode.continuation, Buffer.from('cd'), { fin: false }),
      frame(Opcode.continuation, Buffer.from('ef')),
    ]);
    expect(read(bytes)).toEqual([
      { kind: 'ping', data: Buffer.alloc(0) },
      { kind: 'message', binary: true, data: Buffer.from('abcdef') },
    ]);
  });
});

describe('the reader refuses', () => {
  const huge = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  huge.writeBigUInt64BE(BigInt(webSocketLimits.messageBytes + 1), 2);
  it.each<[string, Buffer, number]>([
    ['no mask', Buffer.concat(encodeFrame(Opcode.text, Buffer.from('a'))), 1002],
    ['reserved bits', Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), 1002],
    ['an unknown opcode', frame(3, Buffer.alloc(0)), 1002],
    ['an unknown control frame', frame(11, Buffer.alloc(0)), 1002],
    ['a fragmented control frame', frame(Opcode.ping, Buffer.alloc(0), { fin: false }), 1002],
    ['a control frame that is too long', frame(Opcode.ping, Buffer.alloc(126)), 1002],
    ['a continuation without a beginning', frame(Opcode.continuation, Buffer.from('a')), 1002],
    ['a message that is too big, by its header', huge, 1009],
  ])('%s', (_, bytes, code) => {
    expect(() => read(bytes)).toThrow(expect.objectContaining({ name: 'WebSocketError', code }));
  });
});
