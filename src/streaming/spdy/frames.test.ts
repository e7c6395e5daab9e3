import { describe, expect, it } from 'vitest';
import { spdyLimits } from '../limits.js';
import {
  dataFrame,
  goAwayFrame,
  pingFrame,
  rstStreamFrame,
  type SpdyFrame,
  SpdyFrameReader,
  SpdyProtocolError,
  settingsFrame,
  synReplyFrame,
  synStreamFrame,
  windowUpdateFrame,
} from './frames.js';

const block = Buffer.from('block');

const frames: [name: string, bytes: Buffer, frame: SpdyFrame][] = [
  ['SYN_STREAM', synStreamFrame(1, block, false), { kind: 'syn-stream', streamId: 1, fin: false, block }],
  [
    'SYN_STREAM with FIN',
    synStreamFrame(3, block, true),
    { kind: 'syn-stream', streamId: 3, fin: true, block },
  ],
  ['SYN_REPLY', synReplyFrame(5, block), { kind: 'syn-reply', streamId: 5, fin: false, block }],
  ['RST_STREAM', rstStreamFrame(7, 5), { kind: 'rst-stream', streamId: 7, status: 5 }],
  ['PING', pingFrame(9), { kind: 'ping', id: 9 }],
  ['GOAWAY', goAwayFrame(11), { kind: 'go-away', status: 0 }],
  ['SETTINGS', settingsFrame(1024), { kind: 'settings', initialWindowBytes: 1024 }],
  ['WINDOW_UPDATE', windowUpdateFrame(13, 77), { kind: 'window-update', streamId: 13, deltaBytes: 77 }],
  [
    'DATA',
    Buffer.concat(dataFrame(15, Buffer.from('abc'), false)),
    { kind: 'data', streamId: 15, bytes: Buffer.from('abc'), fin: false },
  ],
  [
    'an empty DATA with FIN',
    Buffer.concat(dataFrame(17, Buffer.alloc(0), true)),
    { kind: 'data', streamId: 17, bytes: Buffer.alloc(0), fin: true },
  ],
];

describe('frames', () => {
  it.each(frames)('%s is parsed as it was written', (_, bytes, frame) => {
    expect([...new SpdyFrameReader().read(bytes)]).toEqual([frame]);
  });

  it('are complete for any split of the bytes', () => {
    const all = Buffer.concat(frames.map(([, bytes]) => bytes));
    for (const size of [1, 2, 3, 7, 11, all.length]) {
      const reader = new SpdyFrameReader();
      const read: SpdyFrame[] = [];
      for (let at = 0; at < all.length; at += size) read.push(...reader.read(all.subarray(at, at + size)));
      expect(merged(read)).toEqual(frames.map(([, , frame]) => frame));
    }
  });

  it('have the bytes of the protocol', () => {
    expect(synStreamFrame(1, Buffer.alloc(0), false).toString('hex')).toBe(
      '80030001' + '0000000a' + '00000001' + '00000000' + '0000',
    );
    expect(Buffer.concat(dataFrame(3, Buffer.from('a'), true)).toString('hex')).toBe(
      '0000000301000001' + '61',
    );
  });

  it('yield data before the frame is complete', () => {
    const reader = new SpdyFrameReader();
    const head = Buffer.from('00000001' + '01ffffff', 'hex');
    expect([...reader.read(Buffer.concat([head, Buffer.from('ab')]))]).toEqual([
      { kind: 'data', streamId: 1, bytes: Buffer.from('ab'), fin: false },
    ]);
    expect([...reader.read(Buffer.from('c'))]).toHaveLength(1);
  });
});

describe('the reader refuses', () => {
  const long = Buffer.from('8003000100000000', 'hex');
  long.writeUIntBE(spdyLimits.controlFrameBytes + 1, 5, 3);
  it.each([
    ['another version', Buffer.from('80020001000000000', 'hex'), /version 2/],
    ['an unknown type', Buffer.from('8003000500000000', 'hex'), /unknown type 5/],
    ['a control frame that is too long', long, /control frame of/],
    ['a SYN_STREAM that is too short', Buffer.from('80030001000000040000000100', 'hex'), /too short/],
    ['a RST_STREAM for stream 0', Buffer.from('800300030000000800000000' + '00000001', 'hex'), /stream 0/],
    [
      'SETTINGS that promise more than there is',
      Buffer.from('8003000400000004' + '00000009', 'hex'),
      /too short/,
    ],
  ])('%s', (_, bytes, message) => {
    const read = (): SpdyFrame[] => [...new SpdyFrameReader().read(bytes)];
    expect(read).toThrow(SpdyProtocolError);
    expect(read).toThrow(message);
  });
});

/** Joins the parts of data frames. */
function merged(read: readonly SpdyFrame[]): SpdyFrame[] {
  const result: SpdyFrame[] = [];
  for (const frame of read) {
    const last = result.at(-1);
    if (frame.kind === 'data' && last?.kind === 'data' && last.streamId === frame.streamId) {
      result[result.length - 1] = { ...frame, bytes: Buffer.concat([last.bytes, frame.bytes]) };
    } else result.push(frame);
  }
  return result;
}
