/** Words network errors as users of Kubernetes know them. */
import { errorText } from '../async/index.js';
import type { SocketAddresses } from './contracts.js';
import { formatHost } from './request.js';

/** Fields that Node adds to socket and name-resolution errors. */
interface SystemError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  EHOSTDOWN: 'host is down',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EINVAL: 'invalid argument',
  EMFILE: 'too many open files',
  EPIPE: 'broken pipe',
};

export const plainHttpText = 'http: server gave HTTP response to HTTPS client';

/** The text for a connection that failed or broke early. */
export function networkErrorText(error: unknown, wanted: string, socket: SocketAddresses): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return errorText(first);
  const { code = '', syscall, address, port, hostname, message }: SystemError = first;
  const word = words[code] ?? message;
  if (isPlainHttp(first)) return plainHttpText;
  if (syscall === 'connect') {
    const to = address === undefined ? wanted : formatHost({ hostname: address, port });
    return `dial tcp ${to}: connect: ${word}`;
  }
  if (syscall === 'getaddrinfo') {
    const why = code === 'ENOTFOUND' ? 'no such host' : word;
    return `dial tcp: lookup ${hostname ?? wanted}: ${why}`;
  }
  if (code.startsWith('HPE_')) {
    return `net/http: HTTP/1.x transport connection broken: malformed HTTP response: ${message}`;
  }
  if (code.startsWith('ERR_SSL_')) {
    return `remote error: tls: ${code.slice('ERR_SSL_'.length).toLowerCase().replaceAll('_', ' ')}`;
  }
  // A connection that the server closed without a response carries no system call.
  if (syscall === undefined) return code === 'ECONNRESET' || code === 'EPIPE' ? 'EOF' : message;
  return `${syscall} tcp ${addressPair(socket)}: ${syscall}: ${word}`;
}

/** The first bytes of a plain HTTP response, read as a TLS record, have an impossible version or length. */
const plainHttpCodes = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
]);

/**
 * A failed write carries only the code EPROTO. The reason is then in the text of OpenSSL (3.0 in
 * Node 20).
 */
export function isPlainHttp({ code = '', message }: SystemError): boolean {
  if (plainHttpCodes.has(code)) return true;
  return code === 'EPROTO' && /wrong version number|packet length too long|http request/i.test(message);
}

function addressPair({ localAddress, localPort, remoteAddress, remotePort }: SocketAddresses): string {
  const local = formatHost({ hostname: localAddress ?? '', port: localPort });
  const remote = formatHost({ hostname: remoteAddress ?? '', port: remotePort });
  return `${local}->${remote}`;
}
