/** Tests our WebSocket frames against `ws`: each reads what the other sends, and both refuse the same. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { systemClock } from '../../async/index.js';
import { webSocketLimits } from '../limits.js';
import { WebSocketConnection } from './connection.js';
import { closePayload, encodeFrame, Opcode, WebSocketError } from './frames.js';
import { WebSocketMessageReader } from './test-messages.js';

describe('with ws as the client', () => {
  let server: Server;
  let client: WebSocket;
  let connection: WebSocketConnection;

  /** Sends every message back as one frame. */
  beforeEach(async () => {
    server = createServer();
    server.on('upgrade', (request, socket, head) => {
      const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash('sha1').update(key).digest('base64');
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      const parts: Buffer[] = [];
      connection = new WebSocketConnection({
        socket,
        head,
        clock: systemClock,
        onMessage({ data, binary, last }) {
          parts.push(data);
          return last ? connection.send(Buffer.concat(parts.splice(0)), binary) : undefined;
        },
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await once(client, 'open');
  });
  afterEach(() => {
    client.terminate();
    server.closeAllConnections();
    server.close();
  });

  const response = async (): Promise<{ data: Buffer; binary: boolean }> => {
    const [data, binary] = (await once(client, 'message')) as [Buffer, boolean];
    return { data, binary };
  };

  it.each([0, 1, 125, 126, 127, 65_535, 65_536, 65_537, 300_000])(
    'a message of %i bytes comes back as it was, masked one way and not the other',
    async (size) => {
      const data = Buffer.from(Array.from({ length: size }, (_, index) => index & 0xff));
      client.send(data);
      const { data: back, binary } = await response();
      expect(binary).toBe(true);
      expect(back.equals(data)).toBe(true);
    },
  );

  it.each(['', 'plain', 'ü€😀'.repeat(30_000)])('a text comes back unchanged (%#)', async (text) => {
    client.send(text);
    const { data, binary } = await response();
    expect(binary).toBe(false);
    expect(data.toString() === text).toBe(true);
  });

  it('fragments are one message, even with pings between them', async () => {
    const pongs: string[] = [];
    client.on('pong', (data) => pongs.push(data.toString()));
    client.send('ü€'.slice(0, 1), { fin: false });
    client.ping('one');
    client.send('', { fin: false });
    client.ping('two');
    client.send('€', { fin: true });
    expect((await response()).data.toString()).toBe('ü€');
    expect(pongs).toEqual(['one', 'two']);
  });

  it.each([1000, 1001, 1011, 3000, 4999])('the close code %i is sent back', async (code) => {
    client.close(code, 'a reason');
    const [seen] = await once(client, 'close');
    expect(seen).toBe(code);
    await connection.closed;
    expect(connection.problem).toBeUndefined();
  });

  it('a close without a code is answered', async () => {
    client.close();
    await once(client, 'close');
    await connection.closed;
    expect(connection.problem).toBeUndefined();
  });

  it.each([1000, 1011])('our close code %i arrives', async (code) => {
    const closed = once(client, 'close');
    await connection.close(code);
    expect((await closed)[0]).toBe(code);
  });

  it('a text that is not UTF-8 ends the connection with 1007', async () => {
    client.send(Buffer.from([0xc3, 0x28]), { binary: false });
    const [code] = await once(client, 'close');
    expect(code).toBe(1007);
  });
});

// The types of `ws` omit this class.
const { Receiver } = createRequire(import.meta.url)('ws') as {
  Receiver: new (options: Readonly<Record<string, unknown>>) => Writable;
};
/** The property of `ws` with the close code of an error. */
const codeOf = (error: object): number | undefined =>
  Object.getOwnPropertySymbols(error)
    .map((symbol) => Reflect.get(error, symbol) as unknown)
    .find((value) => typeof value === 'number');

/** The close code with which a server refuses the bytes; undefined when it accepts them. */
async function refusalOfWs(bytes: Buffer): Promise<number | undefined> {
  const receiver = new Receiver({ isServer: true, maxPayload: webSocketLimits.messageBytes });
  receiver.on('message', () => {}).on('conclude', () => {});
  return new Promise((resolve) => {
    receiver.once('error', (error) => resolve(codeOf(error)));
    receiver.write(bytes, (error) => {
      if (!error) setImmediate(() => resolve(undefined));
    });
  });
}

function refusalOfOurs(bytes: Buffer): number | undefined {
  try {
    for (const _ of new WebSocketMessageReader({ fromClient: true }).read(bytes));
    return undefined;
  } catch (error) {
    if (error instanceof WebSocketError) return error.code;
    throw error;
  }
}

describe('a server checks the frames of a client', () => {
  const frame = (opcode: number, data: Buffer | string, fin = true): Buffer =>
    Buffer.concat(encodeFrame(opcode, Buffer.from(data), { fin, mask: true }));
  const withBits = (bytes: Buffer, bits: number): Buffer => {
    const changed = Buffer.from(bytes);
    changed[0] = (changed[0] ?? 0) | bits;
    return changed;
  };
  const head = (...bytes: number[]): Buffer => Buffer.from(bytes);
  const length64 = (length: bigint): Buffer => {
    const bytes = Buffer.alloc(14);
    bytes.set([0x82, 0xff]);
    bytes.writeBigUInt64BE(length, 2);
    return bytes;
  };
  const close = (...parts: (Buffer | string)[]): Buffer =>
    frame(Opcode.close, Buffer.concat(parts.map((part) => Buffer.from(part))));

  it.each<[rule: string, bytes: Buffer, code: number | undefined]>([
    ['a masked frame is valid', frame(Opcode.binary, 'a'), undefined],
    ['a frame without a mask', Buffer.concat(encodeFrame(Opcode.binary, Buffer.from('a'))), 1002],
    ['RSV1', withBits(frame(Opcode.binary, 'a'), 0x40), 1002],
    ['RSV2', withBits(frame(Opcode.binary, 'a'), 0x20), 1002],
    ['RSV3', withBits(frame(Opcode.binary, 'a'), 0x10), 1002],
    ['RSV1 on a ping', withBits(frame(Opcode.ping, ''), 0x40), 1002],
    [
      'RSV1 on a continuation',
      Buffer.concat([frame(Opcode.text, 'a', false), withBits(frame(0, 'b'), 0x40)]),
      1002,
    ],
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode): [string, Buffer, number] => [
      `the unknown opcode ${opcode}`,
      frame(opcode, ''),
      1002,
    ]),
    ['a continuation without a beginning', frame(Opcode.continuation, 'a'), 1002],
    [
      'a new message inside another',
      Buffer.concat([frame(Opcode.text, 'a', false), frame(Opcode.text, 'b')]),
      1002,
    ],
    ['a ping in fragments', frame(Opcode.ping, '', false), 1002],
    ['a close in fragments', frame(Opcode.close, '', false), 1002],
    ['a ping of 125 bytes is valid', frame(Opcode.ping, Buffer.alloc(125)), undefined],
    ['a ping of 126 bytes', frame(Opcode.ping, Buffer.alloc(126)), 1002],
    ['an unsolicited pong is valid', frame(Opcode.pong, 'x'), undefined],
    [
      'a ping between fragments is right',
      Buffer.concat([frame(1, 'a', false), frame(9, ''), frame(0, 'b')]),
      undefined,
    ],
    [
      'a length of 16 bits that 7 would hold is taken',
      Buffer.concat([head(0x82, 0xfe, 0, 1, 0, 0, 0, 0), Buffer.from('a')]),
      undefined,
    ],
    ['a length beyond the largest message', length64(BigInt(webSocketLimits.messageBytes) + 1n), 1009],
    ['a length beyond 2^53', length64(2n ** 60n), 1009],
    ['text that is UTF-8', frame(Opcode.text, 'ü€😀'), undefined],
    ['text with a lone byte', frame(Opcode.text, head(0x61, 0xff)), 1007],
    ['text with an overlong form', frame(Opcode.text, head(0xc0, 0xaf)), 1007],
    ['text with a surrogate', frame(Opcode.text, head(0xed, 0xa0, 0x80)), 1007],
    ['truncated text', frame(Opcode.text, head(0xe2, 0x82)), 1007],
    [
      'text cut inside a character by a fragment is right',
      Buffer.concat([frame(1, head(0xe2, 0x82), false), frame(0, head(0xac))]),
      undefined,
    ],
    ['binary data may be anything', frame(Opcode.binary, head(0xff, 0xc0)), undefined],
    ['a close without a code is valid', close(), undefined],
    ['a close with a code and a reason is valid', close(closePayload(1000), 'bye'), undefined],
    ['a close of one byte', close(head(3)), 1002],
    ['a close with a reason that is not UTF-8', close(closePayload(1000), head(0xc3, 0x28)), 1007],
    ...[1000, 1003, 1007, 1011, 1014, 3000, 4999].map((code): [string, Buffer, undefined] => [
      `the close code ${code} is right`,
      close(closePayload(code)),
      undefined,
    ]),
    ...[0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535].map((code): [string, Buffer, number] => [
      `the close code ${code}`,
      close(closePayload(code)),
      1002,
    ]),
  ])('%s', async (_, bytes, code) => {
    expect({ ours: refusalOfOurs(bytes), ws: await refusalOfWs(bytes) }).toEqual({ ours: code, ws: code });
  });
});
