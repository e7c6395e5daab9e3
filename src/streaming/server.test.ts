import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { settle, systemClock, VirtualClock } from '../async/index.js';
import {
  type LoopbackStreaming,
  loopbackStreaming,
  openPortForward,
  remoteCommand,
  type StreamingBackend,
  type StreamRequest,
  type TerminalSize,
  UpgradeRefused,
} from './index.js';
import { encodeFrame, Opcode } from './websocket/frames.js';
import { type WebSocketMessage, WebSocketMessageReader } from './websocket/test-messages.js';

/** A backend with a few commands and ports. */
const backend: StreamingBackend = {
  async exec({ command: [name, argument] }, { stdin, stdout, stderr, resize }, signal) {
    switch (name) {
      case 'say':
        stdout?.write('out');
        stderr?.write('err');
        return Number(argument);
      case 'cat':
        for await (const chunk of stdin!) stdout?.write(chunk);
        return 0;
      case 'sizes':
        for await (const { width, height } of resize) {
          stdout?.write(`${width}x${height} `);
          if (width === 3) break;
        }
        return 0;
      case 'hang':
        await once(signal, 'abort');
        hung.push('aborted');
        return 0;
      default:
        throw new Error(`no command ${name}`);
    }
  },
  async attach(_, { stdout }) {
    stdout?.write('attached');
  },
  async portForward(_, port, stream) {
    if (port !== 7) throw new Error(`connection refused at ${port}`);
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) stream.write(chunk);
    await new Promise<void>((resolve) => stream.end(resolve));
  },
};
const hung: string[] = [];
const opened: LoopbackStreaming[] = [];

afterEach(async () => {
  for (const streaming of opened.splice(0)) await streaming.close();
});

function open(clock = systemClock, creationTimeoutMs = 30_000): LoopbackStreaming {
  const streaming = loopbackStreaming({ backend, clock, creationTimeoutMs });
  opened.push(streaming);
  return streaming;
}

const exec = (command: string[], more: Partial<StreamRequest> = {}): StreamRequest =>
  ({
    kind: 'exec',
    containerId: 'c',
    command,
    stdin: false,
    stdout: true,
    stderr: true,
    tty: false,
    ...more,
  }) as StreamRequest;

async function run(request: StreamRequest, options: { stdin?: string; sizes?: TerminalSize[] } = {}) {
  const url = (await open().url(request))!;
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const tty = request.kind === 'exec' && request.tty;
  const result = remoteCommand({
    target: { url },
    stdin: options.stdin === undefined ? undefined : Readable.from([options.stdin]),
    stdout,
    stderr: tty ? undefined : stderr,
    tty,
    resize: options.sizes === undefined ? undefined : slowly(options.sizes),
  }).finally(() => {
    stdout.end();
    stderr.end();
  });
  const [end, out, err] = await Promise.allSettled([result, text(stdout), text(stderr)]);
  if (end.status === 'rejected') throw end.reason;
  return { ...end.value, out: textOf(out), err: textOf(err) };
}

function textOf(result: PromiseSettledResult<string>): string {
  return result.status === 'fulfilled' ? result.value : '';
}

async function* slowly(sizes: TerminalSize[]): AsyncGenerator<TerminalSize> {
  for (const size of sizes) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    yield size;
  }
}

describe('a command over SPDY', () => {
  it('returns stdout, stderr and its exit code', async () => {
    expect(await run(exec(['say', '3']))).toEqual({
      exitCode: 3,
      message: 'command terminated with non-zero exit code: command terminated with exit code 3',
      out: 'out',
      err: 'err',
    });
    expect(await run(exec(['say', '0']))).toEqual({ exitCode: 0, out: 'out', err: 'err' });
  });
  it('reads its input to the end', async () => {
    const big = 'x'.repeat(2_000_000);
    expect((await run(exec(['cat'], { stdin: true }), { stdin: big })).out).toBe(big);
  });
  it('gets the sizes of the terminal', async () => {
    const sizes = [
      { width: 1, height: 10 },
      { width: 2, height: 20 },
      { width: 3, height: 30 },
    ];
    const { out } = await run(exec(['sizes'], { tty: true, stderr: false }), { sizes });
    expect(out).toMatch(/3x30 $/);
  });
  it('that cannot run rejects with the reason', async () => {
    await expect(run(exec(['nonsense']))).rejects.toThrow(
      'Internal error occurred: error executing command in container: no command nonsense',
    );
  });
  it('is aborted when the client disconnects', async () => {
    const url = (await open().url(exec(['hang'])))!;
    const stop = new AbortController();
    const stdout = new PassThrough();
    const session = remoteCommand({
      target: { url },
      stdout,
      stderr: stdout,
      tty: false,
      signal: stop.signal,
    });
    setTimeout(() => stop.abort(), 100);
    await expect(session).rejects.toMatchObject({ name: 'Cancelled' });
    await expect.poll(() => hung.splice(0)).toEqual(['aborted']);
  });
  it('may be an attach', async () => {
    expect(await run({ ...exec([]), kind: 'attach' } as StreamRequest)).toMatchObject({
      exitCode: 0,
      out: 'attached',
    });
  });
  it('is closed when the client does not open its streams', async () => {
    const clock = new VirtualClock();
    const url = (await open(clock, 1000).url(exec(['say', '0'])))!;
    const { socket } = await upgrade(url, {
      Upgrade: 'SPDY/3.1',
      'X-Stream-Protocol-Version': 'v4.channel.k8s.io',
    });
    const closed = once(socket, 'close');
    socket.resume();
    await settle();
    await clock.advance(1000);
    await closed;
  });
});

describe('request paths', () => {
  it('work once', async () => {
    const url = (await open().url(exec(['say', '0'])))!;
    const stdout = new PassThrough().resume();
    const options = { target: { url }, stdout, stderr: stdout, tty: false };
    expect(await remoteCommand(options)).toEqual({ exitCode: 0 });
    await expect(remoteCommand(options)).rejects.toMatchObject({ statusCode: 404 });
  });
  it('expire after a minute, and their number is limited', async () => {
    const clock = new VirtualClock();
    const streaming = open(clock);
    const url = (await streaming.url(exec(['say', '0'])))!;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/exec\/[A-Za-z0-9_-]{8}$/);
    for (let index = 1; index < 1000; index++) await streaming.url(exec(['say', '0']));
    expect(await streaming.url(exec(['say', '0']))).toBeUndefined();
    await clock.advance(60_000);
    expect(await streaming.url(exec(['say', '0']))).toBeDefined();
    await expect(
      remoteCommand({ target: { url }, stdout: new PassThrough(), tty: false }),
    ).rejects.toBeInstanceOf(UpgradeRefused);
  });
  it('refuse invalid requests', async () => {
    const streaming = open();
    const url = async (): Promise<string> => (await streaming.url(exec(['say', '0'])))!;
    expect(await upgrade(await url(), {})).toMatchObject({ statusCode: 400 });
    expect(await upgrade(await url(), { Upgrade: 'SPDY/3.1' })).toMatchObject({ statusCode: 400 });
    const refused = await upgrade(await url(), {
      Upgrade: 'SPDY/3.1',
      'X-Stream-Protocol-Version': 'v9.channel.k8s.io',
    });
    expect(refused.statusCode).toBe(403);
    expect(refused.headers['x-accepted-stream-protocol-versions']).toBe(
      'v4.channel.k8s.io, v3.channel.k8s.io, v2.channel.k8s.io, channel.k8s.io',
    );
    expect(await upgrade(await url(), webSocket('foo'))).toMatchObject({ statusCode: 403 });
    expect(await upgrade(await url(), webSocket('v4.channel.k8s.io'), 'POST')).toMatchObject({
      statusCode: 405,
    });
    expect(
      await upgrade(await url(), { ...webSocket('v4.channel.k8s.io'), 'Sec-WebSocket-Version': '8' }),
    ).toMatchObject({ statusCode: 400 });
    expect(await upgrade(`${await url()}x`, webSocket('v4.channel.k8s.io'))).toMatchObject({
      statusCode: 404,
    });
  });
});

describe('port-forward over SPDY', () => {
  it('carries many connections, errors of failed ones, and independent ends', async () => {
    const url = (await open().url({ kind: 'portforward', podSandboxId: 'p', ports: [] }))!;
    const ports = await openPortForward({ target: { url } });
    const failing = await ports.open(8);
    failing.write('anybody?');
    await expect(text(failing)).rejects.toThrow(
      'error forwarding port 8 to pod p, uid : connection refused at 8',
    );
    const words = Array.from({ length: 50 }, (_, index) => `${index}`.repeat(10_000));
    const responses = await Promise.all(
      words.map(async (word) => {
        const connection = await ports.open(7);
        connection.end(word);
        return text(connection);
      }),
    );
    expect(responses).toEqual(words);
    await expect(ports.open(0)).rejects.toThrow(/reset the stream/);
    await ports.close();
  });
});

describe('a command over WebSocket', () => {
  it('with binary channels sends an empty message, the output and a JSON status', async () => {
    const client = await connect(exec(['say', '3']), 'v4.channel.k8s.io');
    const messages = await client.messages();
    expect(messages[0]?.toString('hex')).toBe('01');
    expect(messages.slice(1).map(String)).toEqual([
      '\x01out',
      '\x02err',
      expect.stringContaining('"ExitCode","message":"3"'),
    ]);
    expect(client.protocol).toBe('v4.channel.k8s.io');
    expect(client.closeCode()).toBe(1000);
  });
  it('with base64 channels sends text', async () => {
    const client = await connect(exec(['cat'], { stdin: true }), 'v4.base64.channel.k8s.io');
    client.sendText(`0${Buffer.from('abc').toString('base64')}`);
    await expect
      .poll(() => client.seen.map(String))
      .toEqual(['1', `1${Buffer.from('abc').toString('base64')}`]);
    client.end();
  });
  it('without a protocol sends failures as text, and no status on success', async () => {
    expect((await (await connect(exec(['say', '0']), undefined)).messages()).map(String)).toEqual([
      '\x01',
      '\x01out',
      '\x02err',
    ]);
    const failed = await (await connect(exec(['say', '2']), 'channel.k8s.io')).messages();
    expect(String(failed.at(-1))).toBe('\x03command terminated with exit code 2');
  });
  it('of version 5 closes its input with a close signal', async () => {
    const client = await connect(exec(['cat'], { stdin: true }), 'v5.channel.k8s.io');
    client.send(Buffer.from('\x00abc'));
    client.send(Buffer.from([0xff, 0]));
    const messages = await client.messages();
    expect(messages.slice(1).map(String)).toEqual(['\x01abc', '\x03{"metadata":{},"status":"Success"}']);
  });
  it('ends at an invalid close signal', async () => {
    const client = await connect(exec(['hang'], { stdin: true }), 'v5.channel.k8s.io');
    client.send(Buffer.from([0xff]));
    await client.messages();
    expect(client.closeCode()).toBe(1002);
    await expect.poll(() => hung.splice(0)).toEqual(['aborted']);
  });
  it('answers pings and accepts fragmented messages', async () => {
    const client = await connect(exec(['cat'], { stdin: true }), 'v5.channel.k8s.io');
    client.socket.write(
      Buffer.concat(encodeFrame(Opcode.binary, Buffer.from('\x00ab'), { fin: false, mask: true })),
    );
    client.socket.write(Buffer.concat(encodeFrame(Opcode.ping, Buffer.from('?'), { mask: true })));
    client.socket.write(Buffer.concat(encodeFrame(Opcode.continuation, Buffer.from('cd'), { mask: true })));
    await expect.poll(() => client.seen.map(String)).toEqual(['\x01', '\x01abcd']);
    expect(client.pongs.map(String)).toEqual(['?']);
    client.end();
  });
  it('ends at an unmasked frame', async () => {
    const client = await connect(exec(['hang']), 'v4.channel.k8s.io');
    client.socket.write(Buffer.concat(encodeFrame(Opcode.binary, Buffer.from('\x00ab'))));
    await client.messages();
    expect(client.closeCode()).toBe(1002);
    await expect.poll(() => hung.splice(0)).toEqual(['aborted']);
  });
});

describe('port-forward over WebSocket', () => {
  const request = (ports: number[]): StreamRequest => ({ kind: 'portforward', podSandboxId: 'p', ports });
  it('sends the port first on its two channels', async () => {
    const client = await connect(request([7, 8]), 'v4.channel.k8s.io');
    client.send(Buffer.from('\x00abc'));
    await expect.poll(() => client.seen.some((message) => String(message) === '\x00abc')).toBe(true);
    const byChannel = (channel: number): Buffer[] =>
      client.seen.filter((message) => message[0] === channel).map((message) => message.subarray(1));
    expect([0, 1, 2, 3].map((channel) => byChannel(channel)[0]?.readUInt16LE())).toEqual([7, 7, 8, 8]);
    expect(String(byChannel(3)[1])).toMatch(/error forwarding port 8/);
    client.end();
  });
  it('requires ports', async () => {
    const url = (await open().url(request([])))!;
    expect(await upgrade(url, webSocket('v4.channel.k8s.io'))).toMatchObject({ statusCode: 400 });
  });
});

function webSocket(protocol: string | undefined): Record<string, string> {
  return {
    Upgrade: 'websocket',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version': '13',
    ...(protocol === undefined ? {} : { 'Sec-WebSocket-Protocol': protocol }),
  };
}

interface UpgradeResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly socket: Socket;
}

/** Requests an upgrade and returns the response. */
function upgrade(url: string, headers: Record<string, string>, method?: string): Promise<UpgradeResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method: method ?? (headers.Upgrade === 'websocket' ? 'GET' : 'POST'),
      agent: false,
      headers: { ...headers, ...(headers.Upgrade === undefined ? {} : { Connection: 'Upgrade' }) },
    });
    request.on('upgrade', (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ statusCode: 101, headers: response.headers, socket: socket as Socket });
    });
    request.on('response', (response) => {
      response.resume();
      resolve({ statusCode: response.statusCode!, headers: response.headers, socket: response.socket });
    });
    request.on('error', reject);
    request.end();
  });
}

async function connect(request: StreamRequest, protocol: string | undefined) {
  const url = (await open().url(request))!;
  const { socket, headers, statusCode } = await upgrade(url, webSocket(protocol));
  expect(statusCode).toBe(101);
  expect(headers['sec-websocket-accept']).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  const reader = new WebSocketMessageReader({ fromClient: false });
  const seen: Buffer[] = [];
  const pongs: Buffer[] = [];
  let close: Extract<WebSocketMessage, { kind: 'close' }> | undefined;
  const ended = once(socket, 'close');
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    for (const message of reader.read(chunk)) {
      if (message.kind === 'message') seen.push(message.data);
      else if (message.kind === 'pong') pongs.push(message.data);
      else if (message.kind === 'close') {
        close = message;
        socket.end();
      }
    }
  });
  const send = (opcode: number, data: Buffer): void =>
    void socket.write(Buffer.concat(encodeFrame(opcode, data, { mask: true })));
  return {
    protocol: headers['sec-websocket-protocol'],
    socket,
    seen,
    pongs,
    closeCode: () => close?.code,
    send: (data: Buffer) => send(Opcode.binary, data),
    sendText: (data: string) => send(Opcode.text, Buffer.from(data)),
    end: () => socket.destroy(),
    /** All messages, once the server has closed. */
    messages: async () => {
      await ended;
      return seen;
    },
  };
}
