import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { Registry } from '../../metrics/index.js';
import { samples } from '../../metrics/test-samples.js';
import { loopbackStreaming, type StreamingBackend } from '../../streaming/index.js';
import { SpdyConnection } from '../../streaming/spdy/connection.js';
import { encodeFrame, Opcode } from '../../streaming/websocket/frames.js';
import { type WebSocketMessage, WebSocketMessageReader } from '../../streaming/websocket/test-messages.js';
import { createStreamMetrics } from '../metrics.js';
import { serveApi, testKubelet } from './test-kubelet.js';
import { withoutWrapping } from './translated-command.js';
import { tunneledProtocols, tunneledRequest } from './tunnel.js';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const backend: StreamingBackend = {
  async exec({ command: [name] }, { stdin, stdout, resize }) {
    if (name === 'sizes') {
      for await (const { width, height } of resize) {
        stdout?.write(`${width}x${height}`);
        return 0;
      }
    }
    if (name === 'broken') throw new Error('no such file');
    if (name === 'exit') return 3;
    for await (const chunk of stdin ?? []) stdout?.write(chunk);
    stdout?.write('after');
    return 0;
  },
  async attach(_, { stdout }) {
    stdout?.write('attached');
  },
  async portForward(_, port, stream) {
    if (port !== 7) throw new Error(`nobody listens at ${port}`);
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) stream.write(chunk);
    await new Promise<void>((resolve) => stream.end(resolve));
  },
};

let registry: Registry;
/** The subresources of translated requests; each test makes one. */
const translated = (): string[] =>
  Object.entries(samples(registry)).map(([series, count]) => `${/"(.*)"/.exec(series)?.[1]} ${count}`);

async function api(translateStreams = true): Promise<number> {
  registry = new Registry();
  const streaming = loopbackStreaming({ backend, clock: systemClock });
  ends.push(() => streaming.close());
  const kubelet = testKubelet({
    exec: async ({ cmd = [], stdin = false, stdout = false, stderr = false, tty = false }) => ({
      url:
        (await streaming.url({
          kind: 'exec',
          containerId: 'c1',
          command: cmd,
          stdin,
          stdout,
          stderr,
          tty,
        })) ?? '',
    }),
    attach: async ({ stdout = false, stderr = false, tty = false }) => ({
      url:
        (await streaming.url({ kind: 'attach', containerId: 'c1', stdin: false, stdout, stderr, tty })) ?? '',
    }),
    portForward: async ({ port = [] }) => ({
      url: (await streaming.url({ kind: 'portforward', podSandboxId: 's1', ports: port })) ?? '',
    }),
  });
  const listener = await serveApi(kubelet, {
    translateStreams,
    metrics: createStreamMetrics(registry),
  });
  ends.push(() => listener.close());
  return listener.port;
}

interface Client {
  readonly socket: Socket;
  readonly head: string;
  readonly rest: Buffer;
}

async function webSocket(port: number, target: string, protocol: string): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1' });
  ends.push(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(
    `GET ${target} HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );
  let bytes = Buffer.alloc(0);
  while (!bytes.includes('\r\n\r\n')) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    bytes = Buffer.concat([bytes, chunk]);
  }
  socket.pause();
  const at = bytes.indexOf('\r\n\r\n') + 4;
  return { socket, head: bytes.toString('latin1', 0, at), rest: bytes.subarray(at) };
}

function send(socket: Socket, ...bytes: (number | string)[]): void {
  const data = Buffer.concat(
    bytes.map((item) => (typeof item === 'number' ? Buffer.from([item]) : Buffer.from(item))),
  );
  for (const part of encodeFrame(Opcode.binary, data, { mask: true })) socket.write(part);
}

/** All messages until the connection ends: channel and text, or the close code. */
async function messages({ socket, rest }: Client): Promise<string[]> {
  const reader = new WebSocketMessageReader({ fromClient: false });
  const seen: string[] = [];
  const take = (message: WebSocketMessage): void => {
    if (message.kind === 'message') seen.push(`${message.data[0]}:${message.data.subarray(1).toString()}`);
    if (message.kind === 'close') seen.push(`close ${message.code}`);
  };
  for (const message of reader.read(rest)) take(message);
  for await (const chunk of socket) for (const message of reader.read(chunk as Buffer)) take(message);
  return seen;
}

/** Joins consecutive messages of one channel: where a stream is split is up to the carrier. */
function joined(seen: readonly string[]): string[] {
  const result: string[] = [];
  for (const message of seen) {
    const [channel = ''] = message.split(':', 1);
    const last = result.at(-1);
    if (/^\d+$/.test(channel) && last?.startsWith(`${channel}:`) === true) result.pop();
    result.push(
      last?.startsWith(`${channel}:`) === true ? last + message.slice(channel.length + 1) : message,
    );
  }
  return result;
}

const v5 = 'v5.channel.k8s.io';
const accepted = /^HTTP\/1.1 101 [\s\S]*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/;

describe('a command of a WebSocket client that can close its input', () => {
  it('gets its input and the end of it, and sends its output and exit status', async () => {
    const client = await webSocket(
      await api(),
      '/exec/default/web/app?command=cat&input=1&output=1',
      `v4.channel.k8s.io, ${v5}`,
    );
    expect(client.head).toMatch(accepted);
    expect(client.head).toContain(`Sec-WebSocket-Protocol: ${v5}\r\n`);
    send(client.socket, 0, 'abc');
    send(client.socket, 255, 0);
    const seen = await messages(client);
    expect(seen[0]).toBe('1:');
    expect(joined(seen)).toEqual(['1:abcafter', '3:{"metadata":{},"status":"Success"}', 'close 1000']);
    expect(translated()).toEqual(['exec 1']);
  });

  it('sends an exit code', async () => {
    const client = await webSocket(await api(), '/exec/default/web/app?command=exit&output=1', v5);
    const [status = ''] = (await messages(client)).filter((message) => message.startsWith('3:'));
    expect(JSON.parse(status.slice(2))).toMatchObject({
      message: 'command terminated with non-zero exit code: command terminated with exit code 3',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
  });

  it('reports a failure of the runtime once', async () => {
    const client = await webSocket(await api(), '/exec/default/web/app?command=broken&output=1', v5);
    const [status = ''] = (await messages(client)).filter((message) => message.startsWith('3:'));
    expect(JSON.parse(status.slice(2))).toMatchObject({
      message: 'Internal error occurred: error executing command in container: no such file',
      code: 500,
    });
    expect(withoutWrapping('other', 'attach')).toBe('other');
  });

  it('gets the terminal size', async () => {
    const client = await webSocket(await api(), '/exec/default/web/app?command=sizes&output=1&tty=1', v5);
    send(client.socket, 4, '{"Width":80,"Height":24}');
    expect(await messages(client)).toContain('1:80x24');
  });

  it.each([
    ['alone', [255]],
    ['for a channel that is none', [255, 9]],
  ])('ends with a close signal %s', async (_, signal) => {
    const client = await webSocket(await api(), '/exec/default/web/app?command=cat&input=1&output=1', v5);
    send(client.socket, ...signal);
    expect((await messages(client)).filter((message) => message.includes('Success'))).toEqual([]);
  });

  it('attaches', async () => {
    const client = await webSocket(await api(), '/attach/default/web/app?output=1', v5);
    expect(await messages(client)).toContain('1:attached');
    expect(translated()).toEqual(['attach 1']);
  });

  it('is left to the runtime without the gate', async () => {
    const client = await webSocket(await api(false), '/exec/default/web/app?command=exit&output=1', 'foo');
    expect(client.head).toMatch(/^HTTP\/1.1 403 /);
    expect(translated()).toEqual([]);
  });
});

describe('SPDY inside a WebSocket', () => {
  it('offers the runtime what the client offers', () => {
    expect(tunneledProtocols('SPDY/3.1+portforward.k8s.io, v4.channel.k8s.io')).toEqual([
      'portforward.k8s.io',
    ]);
    const request = tunneledRequest(
      {
        method: 'GET',
        path: '/',
        query: new URLSearchParams(),
        headers: {},
        rawHeaders: [
          'Host',
          'a',
          'Upgrade',
          'websocket',
          'Connection',
          'Upgrade',
          'Sec-WebSocket-Key',
          'k',
          'X-A',
          'b',
        ],
      },
      ['portforward.k8s.io'],
    );
    expect(request.method).toBe('POST');
    expect(request.rawHeaders).toEqual(
      ['Host', 'a', 'X-A', 'b', 'Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1'].concat(
        'X-Stream-Protocol-Version',
        'portforward.k8s.io',
      ),
    );
  });

  const tunnel = async () => {
    const client = await webSocket(await api(), '/portForward/default/web', 'SPDY/3.1+portforward.k8s.io');
    expect(client.head).toMatch(accepted);
    expect(client.head).toContain('Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n');
    const reader = new WebSocketMessageReader({ fromClient: false });
    const codes: (number | undefined)[] = [];
    const { socket } = client;
    const inside = new Duplex({
      read: () => void socket.resume(),
      write: (chunk: Buffer, _, done) => {
        for (const part of encodeFrame(Opcode.binary, chunk, { mask: true })) socket.write(part);
        done();
      },
    });
    const take = (bytes: Buffer): void => {
      for (const message of reader.read(bytes)) {
        if (message.kind === 'message') inside.push(message.data);
        if (message.kind === 'close') codes.push(message.code);
      }
    };
    take(client.rest);
    socket.on('data', take).on('close', () => inside.push(null));
    const spdy = new SpdyConnection({
      socket: inside,
      head: Buffer.alloc(0),
      role: 'client',
      clock: systemClock,
    });
    return { spdy, socket, codes };
  };
  const pair = async (spdy: SpdyConnection, port: string, requestid: string) => {
    const headers = (streamtype: string) => new Map(Object.entries({ streamtype, port, requestid }));
    const errors = await spdy.open(headers('error'));
    let complaint = '';
    errors
      .on('error', () => {})
      .on('data', (chunk) => {
        complaint += chunk;
      })
      .end();
    const data = await spdy.open(headers('data'));
    data.on('error', () => {});
    return { complaint: () => complaint, data };
  };

  it('forwards ports, whatever happens to one of them', async () => {
    const { spdy } = await tunnel();
    const closed = await pair(spdy, '9', '0');
    await expect.poll(closed.complaint).toContain('nobody listens at 9');
    const { data } = await pair(spdy, '7', '1');
    const big = 'x'.repeat(300_000);
    let seen = '';
    data.on('data', (chunk) => {
      seen += chunk;
    });
    data.end(big);
    await once(data, 'end');
    expect(seen).toBe(big);
    expect(translated()).toEqual(['portforward 1']);
    spdy.destroy(new Error('done'));
  });

  it('ends with a text', async () => {
    const { socket, codes } = await tunnel();
    for (const part of encodeFrame(Opcode.text, Buffer.from('hello'), { mask: true })) socket.write(part);
    await once(socket, 'close');
    expect(codes).toEqual([1002]);
  });

  it('closes properly when the runtime ends', async () => {
    const { socket, codes } = await tunnel();
    await ends[0]?.();
    await once(socket, 'close');
    expect(codes).toEqual([1000]);
  });
});
