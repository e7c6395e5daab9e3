/** Hostile servers and clients of a gRPC socket: each test exceeds one bound. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  clientPreface,
  flags,
  frame,
  frameTypes,
  Http2FrameReader,
  maxFrameBytes,
  settingsFrame,
} from './h2/frames.js';
import { encodeHeaders } from './h2/hpack.js';
import { H2Session, type StreamEnd } from './h2/session.js';
import { grpcClientLimits, grpcServerLimits } from './limits.js';
import { MessageType, type MethodInfo } from './protobuf/codec.js';
import { type GrpcServer, serveGrpc } from './server.js';

let dir: string;
let socketPath: string;
const ends: (() => Promise<unknown> | unknown)[] = [];

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'nodelet-grpc-'));
  socketPath = path.join(dir, 's.sock');
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(dir, { recursive: true });
});

/** The client side of a connection to a server that the test plays. */
async function hostileServer(): Promise<{
  readonly socket: Socket;
  readonly answered: Promise<StreamEnd>;
  readonly session: H2Session;
}> {
  const server: Server = createServer().listen(socketPath);
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const session = new H2Session({
    server: socketPath,
    streamWindowBytes: 65_535,
    connectionWindowBytes: 1 << 20,
  });
  const answered = new Promise<StreamEnd>((resolve) => {
    const block = encodeHeaders({ ':method': 'POST', ':path': '/x' });
    session.open(block, Buffer.from('hello'), { headers() {}, data() {}, ended: resolve }, false);
  });
  const [socket] = (await accepted) as [Socket];
  socket.on('error', () => {});
  ends.push(
    () => server.close(),
    () => session.destroy(),
    () => socket.destroy(),
  );
  return { socket, answered, session };
}

const nothing = Buffer.alloc(0);
const headersBegun = frame(frameTypes.headers, 0, 1, nothing);
const repeated = (bytes: Buffer, times: number): Buffer => Buffer.concat(Array(times).fill(bytes));

describe('closes the connection of a server', () => {
  it.each<[string, () => Buffer, RegExp]>([
    [
      'with a header block that is too long',
      () =>
        Buffer.concat([
          headersBegun,
          repeated(frame(frameTypes.continuation, 0, 1, Buffer.alloc(maxFrameBytes)), 5),
        ]),
      /header block that is too long/,
    ],
    [
      'with too many empty CONTINUATION frames',
      () => Buffer.concat([headersBegun, repeated(frame(frameTypes.continuation, 0, 1, nothing), 2000)]),
      /header block that is too long/,
    ],
    [
      'that ignores flow control',
      () => repeated(frame(frameTypes.data, 0, 1, Buffer.alloc(maxFrameBytes)), 5),
      /more data than the flow-control window/,
    ],
    [
      'that sets a maximum frame size of one byte',
      () => settingsFrame([[5, 1]]),
      /SETTINGS_MAX_FRAME_SIZE 1/,
    ],
    [
      'that sets an initial window above 2^31-1',
      () => settingsFrame([[4, 2 ** 31]]),
      /SETTINGS_INITIAL_WINDOW_SIZE 2147483648/,
    ],
    [
      'with a frame above the maximum size',
      () => frame(frameTypes.data, 0, 1, Buffer.alloc(grpcClientLimits.frameBytes + 1)),
      /above the maximum of 16384/,
    ],
  ])('%s', async (_, bytes, reason) => {
    const { socket, answered } = await hostileServer();
    socket.resume();
    socket.write(bytes());
    expect((await answered).error?.message).toMatch(reason);
  });

  it.each([
    ['PING', frame(frameTypes.ping, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', settingsFrame([])],
  ])('that sends %s and does not read the acknowledgements', async (_, asked) => {
    const { socket, answered, session } = await hostileServer();
    socket.pause();
    const burst = repeated(asked, 10_000);
    const flood = async (): Promise<void> => {
      while (session.isUsable) {
        if (socket.write(burst)) continue;
        await new Promise<void>((resolve) => {
          socket.once('drain', resolve).once('close', resolve);
        });
      }
    };
    const [end] = await Promise.all([answered, flood()]);
    expect(end.error?.message).toMatch(/does not read the acknowledgements/);
  });

  it('but not of one that sends byte by byte', () => {
    const reader = new Http2FrameReader();
    const whole = frame(frameTypes.headers, flags.endHeaders, 1, Buffer.alloc(5000, 'x'));
    const frames = [...whole].flatMap((byte) => [...reader.push(Buffer.from([byte]))]);
    expect(frames).toEqual([
      { type: frameTypes.headers, flags: flags.endHeaders, streamId: 1, payload: Buffer.alloc(5000, 'x') },
    ]);
  });
});

describe('a client of a served socket', () => {
  async function serve(): Promise<GrpcServer> {
    const server = await serveGrpc([], { socketPath });
    ends.push(() => server.close());
    return server;
  }

  it('that opens all connections and sends nothing does not block others', async () => {
    await serve();
    const silent = Array.from({ length: 2 * grpcServerLimits.connections }, () =>
      connect(socketPath)
        .on('error', () => {})
        .resume(),
    );
    ends.push(() => {
      for (const socket of silent) socket.destroy();
    });
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const session = connectHttp2('http://localhost', { createConnection: () => connect(socketPath) });
    ends.push(() => session.destroy());
    const stream = session.request({ ':method': 'POST', ':path': '/nothing' });
    const [headers] = (await once(stream, 'response')) as [Record<string, string>];
    expect(headers['grpc-status']).toBe('12');
    await expect
      .poll(() => silent.filter(({ closed }) => !closed).length)
      .toBeLessThan(grpcServerLimits.connections);
  });

  it('learns how many concurrent calls it may make', async () => {
    await serve();
    const session = connectHttp2(`http://localhost`, {
      createConnection: () => connect(socketPath),
    });
    ends.push(() => session.destroy());
    const [settings] = (await once(session, 'remoteSettings')) as [{ maxConcurrentStreams: number }];
    expect(settings.maxConcurrentStreams).toBe(grpcServerLimits.calls);
  });

  it('that cannot be accepted is told of, more than once, until one can', async () => {
    const server = await serve();
    // Nothing else makes the machine refuse a connection on demand: the listening socket is told so itself.
    const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): Partial<Server>[] };
    const listening = handles.call(process).find((handle) => handle.address?.() === socketPath);
    expect(server.failure()).toBeUndefined();
    listening?.emit?.('error', new Error('accept ENOBUFS'));
    listening?.emit?.('error', new Error('accept ENOMEM'));
    expect(server.failure()?.message).toBe('accept ENOMEM');
    const socket = connect(socketPath).on('error', () => {});
    ends.push(() => socket.destroy());
    await expect.poll(() => server.failure()).toBeUndefined();
  });

  it('that fails while the server closes does not keep it from closing', async () => {
    const nothingMessage = new MessageType<object>('Nothing', []);
    const call: MethodInfo<object, object> = {
      path: '/test.Service/Call',
      request: nothingMessage,
      response: nothingMessage,
      serverStreaming: false,
    };
    let called: () => void = () => {};
    const isCalled = new Promise<void>((resolve) => {
      called = resolve;
    });
    const implementation = {
      call: () => {
        called();
        return new Promise<object>(() => {});
      },
    };
    const server = await serveGrpc([{ methods: { call }, implementation }], {
      socketPath,
      closeGraceMs: 60_000,
    });
    const socket = connect(socketPath)
      .on('error', () => {})
      .resume();
    const headers = encodeHeaders({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': call.path,
      ':authority': 'localhost',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    socket.write(
      Buffer.concat([
        clientPreface,
        settingsFrame([]),
        frame(frameTypes.headers, flags.endHeaders, 1, headers),
        frame(frameTypes.data, flags.endStream, 1, Buffer.alloc(5)),
      ]),
    );
    await isCalled;
    const closed = server.close();
    // It goes with an error: INTERNAL_ERROR, after stream 1.
    socket.write(frame(frameTypes.goAway, 0, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, 2])));
    await expect(closed).resolves.toBeUndefined();
    expect(existsSync(socketPath)).toBe(false);
  });
});
