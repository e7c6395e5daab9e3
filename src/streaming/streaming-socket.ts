/** Opens the socket to a streaming server, for the streaming client and for the upgrade proxy. */
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { ReadAfterResetSocket } from './read-after-reset-socket.js';

export type StreamingAddress =
  | { readonly socketPath: string }
  | { readonly url: URL; readonly tls?: ConnectionOptions };

/** Connects in the background. The caller listens for `connect`, or `secureConnect` for an https URL, and for `error`. */
export function streamingSocket(address: StreamingAddress): Socket {
  const socket = open(address);
  // Sends a keystroke at once.
  socket.once('connect', () => socket.setNoDelay(true));
  return socket;
}

function open(address: StreamingAddress): Socket {
  if ('socketPath' in address) return new ReadAfterResetSocket().connect(address.socketPath);
  const { url, tls } = address;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol !== 'https:') {
    return new ReadAfterResetSocket().connect({ host, port: Number(url.port || 80) });
  }
  return connectTls({
    host,
    port: Number(url.port || 443),
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...tls,
  });
}
