import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { unimplementedCriRuntime } from '../../cri/index.js';
import {
  loopbackStreaming,
  openPortForward,
  remoteCommand,
  type StreamingBackend,
} from '../../streaming/index.js';
import { alice, authority, type MainServer, startMain, stranger } from './test-main.js';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const backend: StreamingBackend = {
  async exec({ command: [name] }, { stdin, stdout }, signal) {
    if (name === 'hang') {
      stdout?.write('begun');
      await once(signal, 'abort');
      aborted.push(name);
      return 0;
    }
    for await (const chunk of stdin ?? []) stdout?.write(chunk);
    return 3;
  },
  attach: () => Promise.resolve(),
  async portForward(_, __, stream) {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) stream.write(chunk);
    await new Promise<void>((resolve) => stream.end(resolve));
  },
};
const aborted: string[] = [];

async function main(): Promise<MainServer> {
  const streaming = loopbackStreaming({ backend, clock: systemClock });
  ends.push(() => streaming.close());
  const server = await startMain({
    gates: { ExtendWebSocketsToKubelet: true, NodeDeclaredFeatures: true },
    kubelet: {
      runtime: {
        ...unimplementedCriRuntime(),
        exec: async ({ cmd = [], stdin = false, stdout = false, stderr = false, tty = false }) => ({
          url:
            (await streaming.url({
              kind: 'exec',
              containerId: 'c',
              command: cmd,
              stdin,
              stdout,
              stderr,
              tty,
            })) ?? '',
        }),
        portForward: async () => ({
          url: (await streaming.url({ kind: 'portforward', podSandboxId: 's', ports: [] })) ?? '',
        }),
      },
    },
  });
  ends.push(() => server.close());
  return server;
}

const tls = { ca: authority.pem, cert: alice.certificatePem, key: alice.keyPem };
const target = (server: MainServer, place: string) => ({
  url: `https://127.0.0.1:${server.port}${place}`,
  tls,
});

describe('streams over TLS', () => {
  it('a command gets the end of its input, and sends its output and exit code', async () => {
    const server = await main();
    const stdout = new PassThrough();
    const output = text(stdout);
    const big = 'x'.repeat(2_000_000);
    const result = await remoteCommand({
      target: target(server, '/exec/default/web/app?command=cat&input=1&output=1'),
      stdin: Readable.from([Buffer.from(big)]),
      stdout,
      tty: false,
    });
    stdout.end();
    expect(result.exitCode).toBe(3);
    expect((await output) === big).toBe(true);
  });

  it('a client that leaves ends its command, and so does closing the listener', async () => {
    const server = await main();
    for (const leave of ['client', 'listener']) {
      aborted.length = 0;
      const stdout = new PassThrough();
      const gone = new AbortController();
      const command = remoteCommand({
        target: target(server, '/exec/default/web/app?command=hang&output=1'),
        stdout,
        tty: false,
        signal: gone.signal,
      });
      const ended = expect(command).rejects.toThrow();
      await once(stdout, 'data');
      if (leave === 'client') gone.abort();
      else await ends.pop()?.();
      await ended;
      await expect.poll(() => aborted).toEqual(['hang']);
    }
  });

  it('ports are forwarded', async () => {
    const server = await main();
    const forward = await openPortForward({ target: target(server, '/portForward/default/web') });
    const connection = await forward.open(80);
    connection.end('hello');
    expect(await text(connection)).toBe('hello');
    await forward.close();
  });

  const upgrade = async (server: MainServer, headers: string, options: object): Promise<string> => {
    const socket: TLSSocket = connect({
      port: server.port,
      host: '127.0.0.1',
      ca: authority.pem,
      ...options,
    });
    ends.push(() => void socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    socket.write(
      `GET /exec/default/web/app?command=cat&output=1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n\r\n`,
    );
    let seen = '';
    socket.on('data', (chunk) => {
      seen += chunk.toString('latin1');
    });
    await expect.poll(() => seen).toContain('\r\n\r\n');
    return seen;
  };
  const carrier = (token: string) =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

  it('an unauthenticated client cannot upgrade', async () => {
    const server = await main();
    const protocol = 'Sec-WebSocket-Protocol: v5.channel.k8s.io';
    const other = { cert: stranger.certificatePem, key: stranger.keyPem };
    expect(await upgrade(server, protocol, {})).toMatch(/^HTTP\/1.1 401 [\s\S]*\r\n\r\nUnauthorized$/);
    expect(await upgrade(server, protocol, other)).toMatch(/^HTTP\/1.1 401 /);
    expect(await upgrade(server, `${protocol}, ${carrier('bad')}`, {})).toMatch(/^HTTP\/1.1 401 /);
  });

  it('a token among the protocols works, and is not echoed', async () => {
    const server = await main();
    const reply = await upgrade(server, `Sec-WebSocket-Protocol: ${carrier('good')}, v5.channel.k8s.io`, {});
    expect(reply).toMatch(/^HTTP\/1.1 101 [\s\S]*Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n/);
    expect(reply).not.toContain('base64url');
    expect(server.registry.text()).toContain(
      'kubelet_websocket_streaming_requests_total{subresource="exec"} 1',
    );
  });
});
