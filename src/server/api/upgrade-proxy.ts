/**
 * Proxies a client to the runtime's streaming server: after the upgrade every byte passes unchanged, both
 * ways.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ByteReader, type Clock, errorText, type Timer } from '../../async/index.js';
import { streamingSocket } from '../../streaming/streaming-socket.js';
import { upgradeProxyLimits as limits } from '../limits.js';
import { isTakenOver, plainError, type RouteResponse } from '../responses.js';
import type { ServerRequest } from '../routes.js';
import { hasHead, isWhole, parseResponseHead, type ResponseHead } from './response-head.js';

/** Headers that are not for the runtime, or that must not be sent twice. */
const ownHeaders = new Set(['authorization', 'content-length', 'transfer-encoding', 'x-forwarded-for']);

/** A backend that has switched protocols. */
export interface SwitchedBackend {
  readonly backend: Socket;
  readonly head: ResponseHead;
  /** Everything received so far, including the head. */
  readonly bytes: Buffer;
}

/** Sends the client's request to `url` and returns the backend's response. */
export function proxyUpgrade(url: string, request: ServerRequest, clock: Clock): Promise<RouteResponse> {
  return upgradeBackend(url, request, clock, ({ backend, bytes }) =>
    takenOver((client, first) => relay(client, first, backend, bytes, clock)),
  );
}

/** Returns the backend's refusal, or what `switched` makes of a backend that switched protocols. */
export async function upgradeBackend(
  url: string,
  request: ServerRequest,
  clock: Clock,
  switched: (backend: SwitchedBackend) => RouteResponse,
): Promise<RouteResponse> {
  if (!request.upgradable) return plainError(500, 'Upgrade request required');
  const target = new URL(url.includes('://') ? url : `http://${url}`);
  let backend: Socket;
  try {
    backend = await dial(target, clock, request.signal);
  } catch (error) {
    return plainError(500, `error dialing backend: ${errorText(error)}`);
  }
  // Until it is taken over, the backend's only owner is a client that may leave.
  const onLeft = (): void => void backend.destroy();
  request.signal?.addEventListener('abort', onLeft, { once: true });
  const owned = (response: RouteResponse): RouteResponse => {
    const { body } = response;
    if (!isTakenOver(body)) return response;
    return takenOver((client, first) => {
      request.signal?.removeEventListener('abort', onLeft);
      return body.takeOver(client, first);
    });
  };
  try {
    backend.write(requestHead(target, request));
    const { head, bytes } = await readHead(backend, clock);
    if (head.statusCode === 101) return owned(switched({ backend, head, bytes }));
    if (head.statusCode < 400) {
      backend.destroy();
      return plainError(500, `invalid upgrade response: status code ${head.statusCode}`);
    }
    const whole = await readRefusal(backend, head, bytes, clock);
    backend.destroy();
    return takenOver((client) => endWith(client, whole));
  } catch (error) {
    backend.destroy();
    return plainError(500, errorText(error));
  }
}

export function takenOver(takeOver: (client: Duplex, first: Buffer) => Promise<void>): RouteResponse {
  return { status: 101, headers: {}, body: { takeOver } };
}

function dial(target: URL, clock: Clock, signal: AbortSignal | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = streamingSocket({ url: target });
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: Error): void => {
      end();
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(new Error('the client has left'));
    const timer = clock.setTimer(limits.dialMs, () => fail(new Error('i/o timeout')));
    signal?.addEventListener('abort', onAbort, { once: true });
    // Stays for the socket's life: after the dial, the close event reports the same.
    socket.on('error', fail);
    socket.once(target.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      end();
      resolve(socket);
    });
  });
}

/** The client's request with the backend's path. */
export function requestHead(
  target: URL,
  { method, rawHeaders = [], remoteAddress }: Pick<ServerRequest, 'method' | 'rawHeaders' | 'remoteAddress'>,
): string {
  const lines = [`${method} ${target.pathname}${target.search} HTTP/1.1`];
  const forwardedFor: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    if (name.toLowerCase() === 'x-forwarded-for') forwardedFor.push(value);
    if (!ownHeaders.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  if (remoteAddress !== undefined) forwardedFor.push(remoteAddress);
  if (forwardedFor.length > 0) lines.push(`X-Forwarded-For: ${forwardedFor.join(', ')}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Reads until there is enough, the connection ends (`ended`), or the time is up. Leaves the rest unread. */
function readUntil<T>(
  socket: Socket,
  clock: Clock,
  timeoutMs: number,
  first: Buffer,
  take: (bytes: Buffer, ended: boolean, knownBytes: number) => T | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const read = new ByteReader();
    read.push(first);
    let knownBytes = 0;
    const stop = (): void => {
      timer.cancel();
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
    };
    const attempt = (ended: boolean): void => {
      let taken: T | undefined;
      try {
        taken = take(read.peekAll(), ended, knownBytes);
      } catch (error) {
        stop();
        reject(error);
        return;
      }
      if (taken === undefined) return;
      stop();
      resolve(taken);
    };
    const onData = (chunk: Buffer): void => {
      knownBytes = read.length;
      read.push(chunk);
      attempt(false);
    };
    const onEnd = (): void => attempt(true);
    const timer = clock.setTimer(timeoutMs, () => attempt(true));
    socket.on('data', onData).once('end', onEnd).once('close', onEnd);
  });
}

function readHead(backend: Socket, clock: Clock): Promise<{ head: ResponseHead; bytes: Buffer }> {
  return readUntil(backend, clock, limits.headMs, Buffer.alloc(0), (bytes, ended, knownBytes) => {
    // Avoids rescanning the known part with every byte.
    const head = hasHead(bytes, knownBytes) ? parseResponseHead(bytes) : 'incomplete';
    if (head === 'malformed') throw new Error('malformed HTTP response');
    if (head !== 'incomplete') return { head, bytes };
    if (ended) throw new Error('unexpected EOF');
    if (bytes.length > limits.headBytes) throw new Error('the head of the response is too long');
    return undefined;
  });
}

function readRefusal(backend: Socket, head: ResponseHead, first: Buffer, clock: Clock): Promise<Buffer> {
  if (isWhole(head, first)) return Promise.resolve(first);
  return readUntil(backend, clock, limits.refusalMs, first, (bytes, ended) =>
    ended || bytes.length > limits.refusalBytes || isWhole(head, bytes) ? bytes : undefined,
  );
}

function endWith(client: Duplex, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    client.once('close', resolve);
    client.end(bytes, () => resolve());
  });
}

/**
 * When one side ends, the other is ended after its last byte and both are closed: half-closing is up to the
 * protocols above.
 */
export function relay(
  client: Duplex,
  fromClient: Buffer,
  backend: Duplex,
  fromBackend: Buffer,
  clock: Clock,
): Promise<void> {
  client.write(fromBackend);
  if (fromClient.length > 0) backend.write(fromClient);
  return new Promise((resolve) => {
    let limit: Timer | undefined;
    const close = (): void => {
      limit?.cancel();
      client.destroy();
      backend.destroy();
      resolve();
    };
    let clientEnded = false;
    let backendEnded = false;
    /** Closes both sides when all is sent, or soon after one has ended and the other has its last bytes. */
    const settle = (): void => {
      limit?.cancel();
      const waiting =
        (backendEnded && !client.writableFinished) ||
        (clientEnded && !backendEnded && !backend.writableFinished);
      if (clientEnded && backendEnded && !waiting) close();
      else limit = clock.setTimer(waiting ? limits.drainMs : limits.lingerMs, close);
    };
    const onBackendEnd = (): void => {
      if (backendEnded) return;
      backendEnded = true;
      // Closing a client that still sends gives it an error, and it loses what it was sent before.
      client.unpipe(backend).resume();
      client.end(settle);
      settle();
    };
    backend.once('end', onBackendEnd).once('close', onBackendEnd);
    client.once('end', () => {
      clientEnded = true;
      if (!backendEnded) backend.end(settle);
      settle();
    });
    client.once('close', close);
    client.pipe(backend, { end: false });
    backend.pipe(client, { end: false });
  });
}
