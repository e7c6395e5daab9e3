/** Whole conversations: bytes thrown at the kubelet's own port, and at the clients of runtimes' sockets and servers. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import * as h2 from '../../src/grpc/h2/frames.js';
import { encodeHeaders } from '../../src/grpc/h2/hpack.js';
import { H2Session, type StreamEnd } from '../../src/grpc/h2/session.js';
import { frameMessage } from '../../src/grpc/message-frames.js';
import { alice, authority, call, type MainServer, startMain } from '../../src/server/main/test-main.js';
import { dialSpdy } from '../../src/streaming/dial.js';
import * as spdy from '../../src/streaming/spdy/frames.js';
import { HeaderBlockWriter } from '../../src/streaming/spdy/header-blocks.js';
import { encodeFrame } from '../../src/streaming/websocket/frames.js';
import { chunksOf, holds, type Target, texts } from '../target.js';

const upgrade = (head: string, ...frames: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from(head.replaceAll('\n', '\r\n')), ...frames]);

const block = new HeaderBlockWriter().write(new Map([['streamtype', 'stdin']]));
const masked = (text: string): Buffer => Buffer.concat(encodeFrame(2, Buffer.from(text), { mask: true }));

/** So long a connection may stay silent before the target hangs up. */
const silenceMs = 15;

/** The main port with everything behind it, spoken to by a client with rights. */
class LivePort implements Target {
  readonly name = 'live-port';
  readonly seeds = [
    ...texts(
      'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET /pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n',
      'POST /run/default/web/app?cmd=ls HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc',
      'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'GET /containerLogs/default/web/app?tailLines=1 HTTP/1.1\r\nHost: a\r\n\r\n',
    ),
    upgrade(
      'POST /exec/default/web/app?command=sh&input=1&output=1 HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: SPDY/3.1\nX-Stream-Protocol-Version: v4.channel.k8s.io\n\n',
      spdy.synStreamFrame(1, block, false),
      spdy.pingFrame(1),
    ),
    upgrade(
      'GET /exec/default/web/app?command=sh&input=1&output=1 HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Protocol: v5.channel.k8s.io\n\n',
      masked('\u0000in'),
      masked('\u00ff\u0000'),
    ),
    upgrade(
      'POST /portForward/default/web HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: SPDY/3.1\nX-Stream-Protocol-Version: portforward.k8s.io\n\n',
      spdy.synStreamFrame(1, block, false),
    ),
  ];
  readonly words = [
    '\r\n',
    'HTTP/1.1',
    'Content-Length: ',
    'Transfer-Encoding: chunked\r\n',
    '%2e%2e/',
    'Connection: Upgrade\r\n',
  ];
  #server: Promise<MainServer> | undefined;
  #inputs = 0;

  async run(input: Buffer): Promise<void> {
    this.#server ??= startMain();
    const server = await this.#server;
    await talk(server.port, input);
    if (++this.#inputs % 25 !== 0) return;
    const { status } = await call(server, 'GET /healthz', { token: 'good' });
    holds(status === 200, `the server still answers, with ${status}`);
  }

  async close(): Promise<void> {
    const server = await this.#server;
    this.#server = undefined;
    await server?.close();
  }
}

async function talk(port: number, input: Buffer): Promise<void> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    ca: authority.pem,
    cert: alice.certificatePem,
    key: alice.keyPem,
  });
  // The server may hang up whenever it likes.
  socket.on('error', () => undefined);
  socket.on('data', () => undefined);
  const closed = once(socket, 'close');
  socket.setTimeout(silenceMs, () => socket.destroy());
  socket.once('secureConnect', () => {
    for (const chunk of input.length > 512 ? [input] : chunksOf(input)) socket.write(chunk);
  });
  await closed;
}

/** A server on a socket that answers everybody with the input of the moment. */
class Answerer {
  readonly #dir = mkdtempSync(path.join(tmpdir(), 'nodelet-fuzz-'));
  readonly socketPath = path.join(this.#dir, 's');
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  answer: Buffer = Buffer.alloc(0);

  constructor() {
    this.#server = createServer((socket) => {
      this.#open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#open.delete(socket));
      socket.once('data', () => socket.end(this.answer));
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(this.socketPath);
    await once(this.#server, 'listening');
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    rmSync(this.#dir, { recursive: true });
  }
}

/** The runtime's side of a gRPC connection. */
class H2Peer implements Target {
  readonly name = 'h2-session';
  readonly seeds = [
    Buffer.concat([
      h2.settingsFrame([[3, 100]]),
      h2.frame(h2.frameTypes.headers, h2.flags.endHeaders, 1, encodeHeaders({ ':status': '200' })),
      h2.frame(h2.frameTypes.data, 0, 1, frameMessage(Buffer.from('hi'))),
      h2.frame(
        h2.frameTypes.headers,
        h2.flags.endHeaders | h2.flags.endStream,
        1,
        encodeHeaders({ 'grpc-status': '0' }),
      ),
    ]),
    Buffer.concat([
      h2.frame(h2.frameTypes.headers, 0, 1, encodeHeaders({ ':status': '200' })),
      h2.frame(h2.frameTypes.continuation, h2.flags.endHeaders, 1, encodeHeaders({ a: 'b' })),
      h2.frame(h2.frameTypes.ping, 0, 0, Buffer.alloc(8)),
      h2.numberFrame(h2.frameTypes.resetStream, 1, 8),
    ]),
    Buffer.concat([
      h2.numberFrame(h2.frameTypes.windowUpdate, 0, 2 ** 31 - 1),
      h2.frame(h2.frameTypes.goAway, 0, 0, Buffer.alloc(8)),
    ]),
  ];
  #answerer: Promise<Answerer> | undefined;

  async run(input: Buffer): Promise<void> {
    this.#answerer ??= new Answerer().listen();
    const answerer = await this.#answerer;
    answerer.answer = input;
    const session = new H2Session({
      server: answerer.socketPath,
      streamWindowBytes: 65_536,
      connectionWindowBytes: 131_072,
    });
    let ends = 0;
    await new Promise<StreamEnd>((resolve) => {
      session.open(
        encodeHeaders({ ':method': 'POST', ':path': '/x' }),
        frameMessage(Buffer.from('q')),
        {
          headers: () => undefined,
          data: () => undefined,
          ended: (end) => {
            ends++;
            resolve(end);
          },
        },
        true,
      );
    });
    session.destroy();
    await new Promise((resolve) => setImmediate(resolve));
    holds(ends === 1, 'a call ends once');
  }

  async close(): Promise<void> {
    const answerer = await this.#answerer;
    this.#answerer = undefined;
    await answerer?.close();
  }
}

/** What the runtime's streaming server answers to a request for an upgrade, and says after it. */
class UpgradeAnswer implements Target {
  readonly name = 'upgrade-answer';
  readonly seeds = [
    upgrade(
      'HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: SPDY/3.1\nX-Stream-Protocol-Version: v4.channel.k8s.io\n\n',
      spdy.pingFrame(1),
      spdy.settingsFrame(1000),
      spdy.goAwayFrame(0),
    ),
    upgrade('HTTP/1.1 403 Forbidden\nContent-Length: 2\n\nno'),
    upgrade('HTTP/1.1 500 x\nTransfer-Encoding: chunked\n\n2\r\nno\r\n0\r\n\r\n'),
  ];
  readonly words = ['\r\n', 'HTTP/1.1 101 ', 'Upgrade: ', 'Connection: '];
  #answerer: Promise<Answerer> | undefined;

  /** Whatever the other side says, the caller is told by an error. */
  readonly refuses = (error: unknown): boolean => error instanceof Error;

  async run(input: Buffer): Promise<void> {
    this.#answerer ??= new Answerer().listen();
    const answerer = await this.#answerer;
    answerer.answer = input;
    const { connection } = await dialSpdy({
      target: { socketPath: answerer.socketPath, path: '/exec' },
      protocols: ['v4.channel.k8s.io'],
      signal: AbortSignal.timeout(5_000),
    });
    await connection.close();
  }

  async close(): Promise<void> {
    const answerer = await this.#answerer;
    this.#answerer = undefined;
    await answerer?.close();
  }
}

export const liveTargets: readonly Target[] = [new LivePort(), new H2Peer(), new UpgradeAnswer()];
