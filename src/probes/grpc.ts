/**
 * Runs a gRPC health check on a connection of its own. It uses HTTP/2 directly: a general client keeps
 * abandoned sockets until the kernel drops them.
 */
import type { ClientHttp2Session, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { Cancelled, errorText, type Timer } from '../async/index.js';
import { formatHost, httpGetLimits } from '../http-get/index.js';
import { type GrpcCheck, type GrpcHealthResult, type ProbeCallLimits, probeUserAgent } from './contracts.js';
import { grpcStatusOf, healthRequest, healthStatus } from './grpc-messages.js';

const method = '/grpc.health.v1.Health/Check';
/** A server that refuses may be about to start, so the probe retries until its timeout. */
const retryMs = 1_000;
const deadlineExceeded = 4;

export async function grpcHealth(asked: GrpcCheck, limits: ProbeCallLimits): Promise<GrpcHealthResult> {
  const { clock, timeoutMs, signal } = limits;
  // Loaded on first use.
  const { connect } = await import('node:http2');
  const tls = asked.isTls === true ? await import('node:tls') : undefined;
  if (signal.aborted) throw new Cancelled();
  const address = formatHost({ hostname: asked.host || '127.0.0.1', port: asked.port });

  return new Promise<GrpcHealthResult>((resolve, reject) => {
    let isConnected = false;
    let drop: () => void = () => {};
    let retry: Timer | undefined;
    const end = (settle: () => void): void => {
      expiry.cancel();
      retry?.cancel();
      signal.removeEventListener('abort', onAbort);
      settle();
      drop();
    };
    const answer = (value: GrpcHealthResult): void => end(() => resolve(value));
    const onAbort = (): void => end(() => reject(new Cancelled()));
    const expiry = clock.setTimer(timeoutMs, () =>
      answer(
        isConnected
          ? { kind: 'rpc-error', code: deadlineExceeded, message: 'context deadline exceeded' }
          : { kind: 'no-connection' },
      ),
    );
    signal.addEventListener('abort', onAbort, { once: true });

    const attempt = (): void => {
      const to = { host: asked.host || '127.0.0.1', port: asked.port, noDelay: true };
      let session: ClientHttp2Session | undefined;
      let isOver = false;
      drop = () => {
        isOver = true;
        session?.destroy();
        socket.destroy();
      };
      const lost = (): void => {
        if (isOver) return;
        drop();
        if (isConnected) answer({ kind: 'rpc-error', code: 14, message: 'error reading from server: EOF' });
        else retry = clock.setTimer(retryMs, attempt);
      };
      const speakOn = (connection: Socket): void => {
        const opened = connect(`${tls === undefined ? 'http' : 'https'}://${address}`, {
          createConnection: () => connection,
          // A client must refuse pushes it does not expect.
          settings: { enablePush: false },
          maxSessionMemory: httpGetLimits.sessionMegabytes,
        });
        session = opened;
        opened.on('error', lost);
        opened.on('close', lost);
        // Until it sends its settings, the server may be anything.
        opened.once('remoteSettings', () => {
          isConnected = true;
          check(opened, asked.service, timeoutMs, answer);
        });
      };
      const socket = tls === undefined ? connectTcp(to) : dialTls(tls, to, speakOn, lost);
      if (tls === undefined) speakOn(socket);
    };
    try {
      attempt();
    } catch (error) {
      answer({ kind: 'dial-error', message: errorText(error) });
    }
  });
}

/** Anything but HTTP/2 is not spoken here. HTTP/2 must not begin on a socket that may be destroyed while it connects. */
function dialTls(
  tls: typeof import('node:tls'),
  to: { readonly host: string; readonly port: number; readonly noDelay: boolean },
  ready: (socket: Socket) => void,
  lost: () => void,
): Socket {
  // A probe checks that the container responds, not its identity.
  const socket = tls.connect({ ...to, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', lost);
  socket.on('close', lost);
  socket.once('secureConnect', () => (socket.alpnProtocol === 'h2' ? ready(socket) : lost()));
  return socket;
}

function check(
  session: ClientHttp2Session,
  service: string,
  timeoutMs: number,
  done: (answer: GrpcHealthResult) => void,
): void {
  const stream = session.request({
    ':method': 'POST',
    ':path': method,
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': probeUserAgent,
    'grpc-timeout': `${timeoutMs}m`,
  });
  const chunks: Buffer[] = [];
  let head: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
  let trailers: IncomingHttpHeaders = {};
  stream.on('response', (headers) => {
    head = headers;
  });
  stream.on('trailers', (headers) => {
    trailers = headers;
  });
  stream.on('data', (chunk: Buffer) => {
    // A health response has a few bytes; the rest of a longer one is dropped.
    if (chunks.length < 64) chunks.push(chunk);
  });
  stream.on('error', (error) => done({ kind: 'rpc-error', code: 13, message: errorText(error) }));
  stream.on('end', () => {
    const { code, message } = grpcStatusOf(head, trailers);
    if (code !== 0) done({ kind: 'rpc-error', code, message });
    else done({ kind: 'status', status: healthStatus(Buffer.concat(chunks)) });
  });
  stream.end(healthRequest(service));
}
