import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer as createNetServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeHeaders, type Headers } from './hpack.js';
import { H2Session, type H2Stream, type StreamEnd } from './session.js';

let dir: string;
let socketPath: string;
let server: Http2Server | Server | undefined;
let session: H2Session;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'h2-'));
  socketPath = path.join(dir, 's.sock');
});
afterEach(() => {
  session.destroy();
  server?.close();
  rmSync(dir, { recursive: true });
});

async function serve(
  response: (stream: ServerHttp2Stream) => void,
  settings: Parameters<typeof createServer>[0] = {},
): Promise<Http2Server> {
  const made = createServer(settings, undefined);
  made.on('stream', response);
  await new Promise<void>((listening) => made.listen(socketPath, listening));
  server = made;
  session = new H2Session({
    server: socketPath,
    streamWindowBytes: 1024 * 1024,
    connectionWindowBytes: 16 * 1024 * 1024,
  });
  return made;
}

interface Answered extends StreamEnd {
  readonly headers: Headers[];
  readonly body: Buffer;
}

const block = encodeHeaders({
  ':method': 'POST',
  ':scheme': 'http',
  ':path': '/x',
  ':authority': 'localhost',
});

function call(body = Buffer.from('hello')): { stream: H2Stream; answered: Promise<Answered> } {
  const headers: Headers[] = [];
  const chunks: Buffer[] = [];
  let stream: H2Stream | undefined;
  const answered = new Promise<Answered>((resolve) => {
    stream = session.open(
      block,
      body,
      {
        headers: (received) => void headers.push(received),
        data: (chunk) => void chunks.push(Buffer.from(chunk)),
        ended: (end) => resolve({ ...end, headers, body: Buffer.concat(chunks) }),
      },
      true,
    );
  });
  return { stream: stream!, answered };
}

/** Sends the request body back, then trailers. */
function echo(stream: ServerHttp2Stream): void {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-words': 'größer' }));
    stream.end(Buffer.concat(chunks));
  });
}

describe('H2Session', () => {
  it('reads headers, body and trailers', async () => {
    await serve(echo);
    const { headers, body, resetCode } = await call().answered;
    expect(body.toString()).toBe('hello');
    expect(headers).toMatchObject([
      { ':status': '200', 'content-type': 'application/grpc' },
      { 'grpc-status': '0' },
    ]);
    expect(resetCode).toBe(0);
  });
  it('sends and receives more than the flow-control windows of both sides', async () => {
    await serve(echo);
    const large = Buffer.alloc(5 * 1024 * 1024, 'abcdefg');
    const { body } = await call(large).answered;
    expect(body.equals(large)).toBe(true);
  });
  it('makes more calls at once than the server accepts concurrently', async () => {
    await serve(echo, { settings: { maxConcurrentStreams: 3 } });
    await call().answered;
    const bodies = Array.from({ length: 40 }, (_, n) => Buffer.from(`call ${n}`));
    const responses = await Promise.all(bodies.map((body) => call(body).answered));
    expect(responses.map(({ body }) => body.toString())).toEqual(bodies.map(String));
  });
  it('reports the code of RST_STREAM', async () => {
    await serve((stream) => {
      stream.on('error', () => undefined);
      stream.close(11);
    });
    expect((await call().answered).resetCode).toBe(11);
  });
  it('a cancelled call ends on the server, and other calls go on', async () => {
    const closed: number[] = [];
    await serve((stream) => {
      if (closed.length > 0) return echo(stream);
      stream.on('error', () => undefined);
      stream.on('close', () => closed.push(stream.rstCode));
    });
    const { stream } = call();
    stream.cancel();
    await expect.poll(() => closed).toContain(8);
    expect((await call(Buffer.from('third')).answered).body.toString()).toBe('third');
  });
  it('after GOAWAY, calls in flight end and no new call is made', async () => {
    let end = (): void => undefined;
    const made = await serve((stream) => {
      end = () => {
        stream.respond({ ':status': 200 });
        stream.end('late');
      };
      stream.session?.goaway(0);
    });
    const { answered } = call();
    await expect.poll(() => session.isUsable).toBe(false);
    end();
    expect((await answered).body.toString()).toBe('late');
    made.close();
  });
  it('a lost connection ends all calls', async () => {
    await serve((stream) => stream.session?.destroy());
    const { error, resetCode, headers } = await call().answered;
    expect([resetCode, headers, session.isUsable]).toEqual([0, [], false]);
    expect(error?.message ?? '').not.toContain('code');
  });
  it('reports the system error of a missing socket', async () => {
    session = new H2Session({
      server: socketPath,
      streamWindowBytes: 65_535,
      connectionWindowBytes: 100_000,
    });
    expect((await call().answered).error).toMatchObject({ code: 'ENOENT', syscall: 'connect' });
  });
  it('closes the connection of a server that does not speak HTTP/2', async () => {
    const plain = createNetServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((listening) => plain.listen(socketPath, listening));
    server = plain;
    session = new H2Session({
      server: socketPath,
      streamWindowBytes: 65_535,
      connectionWindowBytes: 100_000,
    });
    expect((await call().answered).error?.message).toMatch(/above the maximum of 16384/);
  });
});
