/** Hostile clients of exec, attach and port-forward: each test exceeds one bound. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { settle, systemClock, VirtualClock } from '../async/index.js';
import type { StreamingBackend } from './contracts.js';
import { dialSpdy } from './dial.js';
import { cutText, spdyLimits, streamingClientLimits, streamingLimits, webSocketLimits } from './limits.js';
import { SpdyConnection } from './spdy/connection.js';
import { dataFrame, pingFrame, rstStreamFrame, SpdyFrameReader, synStreamFrame } from './spdy/frames.js';
import { HeaderBlockWriter } from './spdy/header-blocks.js';
import { type SpdyStream, streamWindowBytes } from './spdy/stream.js';
import { serveSpdyPortForward } from './spdy-port-forward.js';
import { TestWire } from './test-sockets.js';
import { WebSocketChannels } from './websocket/channels.js';
import { WebSocketConnection } from './websocket/connection.js';
import { encodeFrame, Opcode, WebSocketFrameReader } from './websocket/frames.js';

const nothing = Buffer.alloc(0);
const frame = (opcode: number, data: Buffer, fin = true): Buffer =>
  Buffer.concat(encodeFrame(opcode, data, { mask: true, fin }));
const repeated = (bytes: Buffer, times: number): Buffer => Buffer.concat(Array(times).fill(bytes));
const heldMemory = (): number => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

describe('a WebSocket client', () => {
  it('cannot fill the memory with fragments of one byte', () => {
    const reader = new WebSocketFrameReader({ fromClient: true });
    const fragments = repeated(frame(Opcode.continuation, Buffer.from('x'), false), 1000);
    expect([...reader.read(frame(Opcode.binary, Buffer.from('x'), false))]).toEqual([]);
    const before = heldMemory();
    let parts = 0;
    for (let round = 0; round < 1000; round++) {
      for (const event of reader.read(fragments)) {
        expect(event).toMatchObject({ kind: 'message', last: false });
        parts++;
      }
    }
    expect(parts).toBe(Math.floor(1_000_001 / webSocketLimits.messagePartBytes));
    // Separate fragments would take a hundred megabytes.
    expect(heldMemory() - before).toBeLessThan(48 << 20);
  }, 30_000);

  it('cannot send an endless message, in fragments or byte by byte', () => {
    const reader = new WebSocketFrameReader({ fromClient: true });
    const part = Buffer.alloc(1 << 20);
    let taken = 0;
    const send = (opcode: number): void => {
      for (const event of reader.read(frame(opcode, part, false))) {
        if (event.kind === 'message') taken += event.data.length;
      }
    };
    send(Opcode.binary);
    while (taken < webSocketLimits.messageBytes) send(Opcode.continuation);
    expect(() => send(Opcode.continuation)).toThrow(/more than 33554432 bytes/);
  });

  it('that pings and does not read gets one pong, for its newest ping', async () => {
    const wire = new TestWire({ peerReads: false });
    const connection = new WebSocketConnection({
      socket: wire,
      head: nothing,
      clock: new VirtualClock(),
      onMessage: () => undefined,
    });
    for (let round = 0; round < 100; round++) {
      await wire.say(repeated(frame(Opcode.ping, Buffer.from(`${round}`.padStart(100))), 1000));
    }
    expect(wire.unheard).toBe(0);
    expect(wire.writableLength).toBeLessThan(wire.writableHighWaterMark + 1000);
    wire.peerReads();
    await settle();
    await expect.poll(() => wire.writableLength).toBe(0);
    const pongs = [...new WebSocketFrameReader({ fromClient: false }).read(Buffer.concat(wire.taken))];
    expect(pongs.at(-1)).toEqual({ kind: 'pong', data: Buffer.from('99'.padStart(100)) });
    wire.destroy();
    await connection.closed;
  });

  it('that writes to a command that does not read must wait', async () => {
    const wire = new TestWire({ peerReads: true });
    const channels = new WebSocketChannels({
      socket: wire,
      head: nothing,
      clock: new VirtualClock(),
      protocol: { encoding: 'binary', jsonStatus: true, closeSignal: true },
      channels: new Map([[0, true]]),
    });
    const message = frame(Opcode.binary, Buffer.alloc(1 << 14));
    for (let sent = 0; sent < 100; sent++) void wire.say(message);
    // The rest stays unread, as in a kernel buffer.
    await expect.poll(() => wire.unheard).toBeLessThan(90);
    await settle();
    expect(100 - wire.unheard).toBeLessThanOrEqual(streamingLimits.windowBytes / (1 << 14) + 2);
    wire.destroy();
    // A reader that never reads does not keep the session open.
    await channels.connection.closed;
  });

  it('that disconnects with several unread messages is detected', async () => {
    const wire = new TestWire({ peerReads: true });
    const channels = new WebSocketChannels({
      socket: wire,
      head: nothing,
      clock: new VirtualClock(),
      protocol: { encoding: 'binary', jsonStatus: true, closeSignal: true },
      channels: new Map([[0, true]]),
    });
    const message = frame(Opcode.binary, Buffer.alloc(2 * streamingLimits.windowBytes));
    await wire.say(repeated(message, 3));
    await settle();
    wire.destroy();
    await channels.connection.closed;
  });

  it('that does not read the last bytes is disconnected, and so is one that does not close', async () => {
    for (const peerReads of [false, true]) {
      const clock = new VirtualClock();
      const wire = new TestWire({ peerReads });
      const connection = new WebSocketConnection({
        socket: wire,
        head: nothing,
        clock,
        onMessage: () => undefined,
      });
      void connection.send(Buffer.alloc(10), true);
      void connection.close();
      await settle();
      const limitMs = peerReads ? streamingLimits.closeLingerMs : streamingLimits.closeDrainMs;
      await clock.advance(limitMs - 1);
      expect(wire.destroyed).toBe(false);
      await clock.advance(1);
      await connection.closed;
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it('that violates the protocol and does not read is disconnected', async () => {
    const clock = new VirtualClock();
    const wire = new TestWire({ peerReads: false });
    const connection = new WebSocketConnection({
      socket: wire,
      head: Buffer.from([0xc1, 0x80, 0, 0, 0, 0]),
      clock,
      onMessage: () => undefined,
    });
    await connection.closed;
    expect(wire.destroyed).toBe(false);
    await clock.advance(streamingLimits.closeLingerMs);
    expect(wire.destroyed).toBe(true);
  });
});

interface SpdyClient {
  readonly wire: TestWire;
  readonly connection: SpdyConnection;
  readonly done: Promise<void>;
  open(id: number, headers: Record<string, string>): Buffer;
  /** How many frames of each kind the server has sent. */
  heard(): Record<string, number>;
  textOf(streamId: number): string;
}

interface ForwardOptions {
  readonly backend?: Partial<StreamingBackend>;
  readonly clock?: VirtualClock;
  readonly peerReads?: boolean;
}

function portForwardClient({ backend, clock, peerReads = true }: ForwardOptions = {}): SpdyClient {
  const wire = new TestWire({ peerReads });
  const never = (): Promise<never> => new Promise(() => {});
  const { connection, done } = serveSpdyPortForward({
    backend: { exec: never, attach: never, portForward: never, ...backend },
    request: { kind: 'portforward', podSandboxId: 'p', ports: [] },
    connection: { socket: wire, head: nothing, clock: clock ?? systemClock },
    creationTimeoutMs: streamingLimits.creationMs,
    clock: clock ?? systemClock,
  });
  const blocks = new HeaderBlockWriter();
  const frames = () => [...new SpdyFrameReader().read(Buffer.concat(wire.taken))];
  return {
    wire,
    connection,
    done,
    open: (id, headers) => synStreamFrame(id, blocks.write(new Map(Object.entries(headers))), false),
    heard: () => {
      const counts: Record<string, number> = {};
      for (const { kind } of frames()) counts[kind] = (counts[kind] ?? 0) + 1;
      return counts;
    },
    textOf: (streamId) =>
      frames()
        .flatMap((each) => (each.kind === 'data' && each.streamId === streamId ? [String(each.bytes)] : []))
        .join(''),
  };
}

const pairHeaders = (streamtype: string, requestid: number | string): Record<string, string> => ({
  streamtype,
  port: '80',
  requestid: String(requestid),
});

describe('a client that forwards ports over SPDY', () => {
  it('is told once that a stream is already open, however often it opens it', async () => {
    const client = portForwardClient();
    await client.wire.say(client.open(1, pairHeaders('error', 'again')));
    for (let id = 3; id < 4000; id += 2) {
      await client.wire.say(client.open(id, pairHeaders('error', 'again')));
    }
    await expect.poll(() => client.heard()['rst-stream']).toBe(1999);
    expect(client.textOf(1)).toBe(
      'error processing stream for request again: the error stream is already open',
    );
    expect(client.connection.streamCount).toBe(1);
    client.wire.destroy();
    await client.done;
  });

  it('may use request ids up to a maximum length', async () => {
    const client = portForwardClient();
    await client.wire.say(client.open(1, pairHeaders('error', 'x'.repeat(spdyLimits.requestIdChars))));
    await client.wire.say(client.open(3, pairHeaders('error', 'y'.repeat(spdyLimits.requestIdChars + 1))));
    await expect.poll(() => client.heard()).toMatchObject({ 'syn-reply': 1, 'rst-stream': 1 });
    client.wire.destroy();
    await client.done;
  });

  it('may have a limited number of half-open pairs, for a limited time', async () => {
    const clock = new VirtualClock();
    const client = portForwardClient({ clock });
    let id = -1;
    for (let pair = 0; pair < spdyLimits.halfPairs + 10; pair++) {
      id += 2;
      await client.wire.say(client.open(id, pairHeaders('error', pair)));
    }
    const accepted = spdyLimits.halfPairs;
    await expect.poll(() => client.heard()).toMatchObject({ 'syn-reply': accepted, 'rst-stream': 10 });
    await clock.advance(streamingLimits.creationMs);
    await settle();
    expect(client.textOf(1)).toBe('(request=0) timed out waiting for streams');
    await client.wire.say(client.open(id + 2, pairHeaders('error', 'more')));
    await expect.poll(() => client.heard()['syn-reply']).toBe(accepted + 1);
    client.wire.destroy();
    await client.done;
    expect(clock.pendingTimers).toBe(0);
  });

  it('may have a limited number of connections to the pod, and may reset their streams', async () => {
    let open = 0;
    let most = 0;
    const client = portForwardClient({
      backend: {
        async portForward(_podSandboxId, _port, _stream, signal) {
          most = Math.max(most, ++open);
          if (!signal.aborted) await once(signal, 'abort');
          open--;
        },
      },
    });
    let id = -1;
    const openPair = async (): Promise<void> => {
      id += 4;
      await client.wire.say(
        Buffer.concat([
          client.open(id - 2, pairHeaders('error', id)),
          client.open(id, pairHeaders('data', id)),
        ]),
      );
    };
    for (let pair = 0; pair < 100; pair++) {
      await openPair();
      await client.wire.say(Buffer.concat([rstStreamFrame(id - 2, 5), rstStreamFrame(id, 5)]));
    }
    await expect.poll(() => open).toBe(0);
    expect(most).toBeLessThan(10);
    for (let pair = 0; pair < spdyLimits.streams / 2 + 5; pair++) await openPair();
    await expect.poll(() => open).toBe(spdyLimits.streams / 2);
    expect(most).toBe(spdyLimits.streams / 2);
    client.wire.destroy();
    await client.done;
    expect(open).toBe(0);
  });

  it('gets a failure text of limited length', async () => {
    const client = portForwardClient({
      backend: { portForward: () => Promise.reject(new Error('x'.repeat(1 << 20))) },
    });
    await client.wire.say(
      Buffer.concat([client.open(1, pairHeaders('error', 0)), client.open(3, pairHeaders('data', 0))]),
    );
    await expect.poll(() => client.textOf(1).length).toBeGreaterThan(0);
    expect(Buffer.byteLength(client.textOf(1))).toBeLessThanOrEqual(streamingLimits.errorTextBytes);
    client.wire.destroy();
    await client.done;
  });

  it('cannot block the connection with data on a stream that nobody reads', async () => {
    const client = portForwardClient();
    await client.wire.say(client.open(1, pairHeaders('error', 0)));
    const data = Buffer.concat(dataFrame(1, Buffer.alloc(2 * streamWindowBytes), false));
    await client.wire.say(Buffer.concat([data, data, pingFrame(1)]));
    await expect.poll(() => client.heard().ping).toBe(1);
    client.wire.destroy();
    await client.done;
  });
});

function spdyServer(wire: TestWire, onStream: (stream: SpdyStream) => void): SpdyConnection {
  return new SpdyConnection({ socket: wire, head: nothing, role: 'server', clock: systemClock, onStream });
}

describe('a SPDY peer', () => {
  it('that sends pings and does not read gets a limited number of answers, then reading stops', async () => {
    const wire = new TestWire({ peerReads: false });
    const connection = spdyServer(wire, (stream) => stream.accept());
    const pings = repeated(pingFrame(1), 1000);
    for (let round = 0; round < 100; round++) void wire.say(pings);
    await settle();
    await expect.poll(() => wire.unheard).toBeGreaterThan(50);
    expect(wire.writableLength).toBeLessThan(
      wire.writableHighWaterMark + (spdyLimits.waitingReplies + 10) * 12,
    );
    wire.peerReads();
    await expect.poll(() => wire.unheard).toBe(0);
    wire.destroy();
    await connection.closed;
  });

  it('may open a limited number of streams', async () => {
    const wire = new TestWire({ peerReads: true });
    const connection = spdyServer(wire, (stream) => stream.accept());
    const blocks = new HeaderBlockWriter();
    for (let id = 1; id < 2 * spdyLimits.streams + 20; id += 2) {
      await wire.say(synStreamFrame(id, blocks.write(new Map()), false));
    }
    await expect.poll(() => connection.streamCount).toBe(spdyLimits.streams);
    wire.destroy();
    await connection.closed;
  });

  it('can fill only a limited buffer with unread data of all streams', async () => {
    const wire = new TestWire({ peerReads: true });
    const streams: SpdyStream[] = [];
    const connection = spdyServer(wire, (stream) => {
      stream.accept();
      streams.push(stream);
    });
    const blocks = new HeaderBlockWriter();
    const count = 100;
    for (let index = 0; index < count; index++) {
      await wire.say(synStreamFrame(2 * index + 1, blocks.write(new Map()), false));
    }
    for (let index = 0; index < count; index++) {
      void wire.say(Buffer.concat(dataFrame(2 * index + 1, Buffer.alloc(streamWindowBytes), false)));
    }
    const held = (): number => streams.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
    await expect.poll(held).toBeGreaterThan(spdyLimits.heldBytes - streamWindowBytes);
    await settle();
    expect(held()).toBeLessThanOrEqual(spdyLimits.heldBytes + streamWindowBytes);
    for (const stream of streams) stream.resume();
    await expect.poll(() => wire.unheard + held()).toBe(0);
    wire.destroy();
    await connection.closed;
  });

  it('that disconnects while its data is unread is detected', async () => {
    const wire = new TestWire({ peerReads: true });
    const connection = spdyServer(wire, (stream) => stream.accept());
    await wire.say(synStreamFrame(1, new HeaderBlockWriter().write(new Map()), false));
    void wire.say(Buffer.concat(dataFrame(1, Buffer.alloc(4 * streamWindowBytes), false)));
    await settle();
    wire.destroy();
    await connection.closed;
  });

  it('that disconnects before its streams have begun is detected', async () => {
    const wire = new TestWire({ peerReads: true });
    const connection = spdyServer(wire, (stream) => stream.accept());
    const window = Buffer.alloc(2 * streamWindowBytes);
    // One chunk: a thread inflates the header block, and the data is handled after that.
    const opened = synStreamFrame(1, new HeaderBlockWriter().write(new Map()), false);
    const data = Buffer.concat(dataFrame(1, window, false));
    void wire.say(Buffer.concat([opened, data, data]));
    await expect.poll(() => wire.readableLength, { interval: 0 }).toBe(0);
    wire.destroy();
    await connection.closed;
  });

  it('that sends a control frame byte by byte takes no more memory', () => {
    const reader = new SpdyFrameReader();
    const whole = synStreamFrame(1, Buffer.alloc(spdyLimits.controlFrameBytes - 10), false);
    let copiedBytes = 0;
    const { concat } = Buffer;
    const { copy } = Buffer.prototype;
    Buffer.concat = (list, ...rest) => {
      copiedBytes += list.reduce((sum, { length }) => sum + length, 0);
      return concat(list, ...rest);
    };
    Buffer.prototype.copy = function (this: Buffer, ...to: Parameters<typeof copy>) {
      const bytes = copy.apply(this, to);
      copiedBytes += bytes;
      return bytes;
    };
    const kinds: string[] = [];
    try {
      for (const byte of whole) for (const { kind } of reader.read(Buffer.from([byte]))) kinds.push(kind);
    } finally {
      Buffer.concat = concat;
      Buffer.prototype.copy = copy;
    }
    expect(kinds).toEqual(['syn-stream']);
    expect(copiedBytes).toBeLessThan(4 * whole.length);
  });
});

it('the client gives up when the server does not answer the upgrade request', async () => {
  const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clock = new VirtualClock();
  const accepted = once(server, 'connection');
  const dialed = dialSpdy({
    target: { url: `http://127.0.0.1:${port}/exec/x` },
    protocols: ['v4.channel.k8s.io'],
    signal: undefined,
    clock,
  });
  const refused = expect(dialed).rejects.toThrow('no response within 60 s');
  await accepted;
  await clock.advance(streamingClientLimits.upgradeMs);
  await refused;
  expect(clock.pendingTimers).toBe(0);
  server.close();
});

it('an error text is cut between characters', () => {
  const limit = streamingLimits.errorTextBytes;
  expect(cutText('x'.repeat(limit))).toBe('x'.repeat(limit));
  expect(cutText('ü'.repeat(limit))).toMatch(/^ü+�?…$/);
  expect(Buffer.byteLength(cutText('€'.repeat(limit)))).toBeLessThanOrEqual(limit);
});
