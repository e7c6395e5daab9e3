/** A GET over HTTP/2, on a connection whose server is known to speak it. */
import { connect } from 'node:http2';
import { emptyBody, readBody } from './body.js';
import type { HttpExchange, SentExchange } from './exchange.js';
import { httpGetLimits } from './limits.js';
import { isRedirect } from './redirects.js';
import { formatHost, headerText } from './request.js';

/** Headers of an HTTP/1.1 connection. HTTP/2 forbids them (RFC 9113, section 8.2.2), and Node throws on them. */
const connectionHeaders = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

export function sendHttp2({ request, socket, body: rule, atBody, done, fail }: SentExchange): void {
  const { url, hostHeader, headers } = request;
  // The socket is connected; a real URL might not parse, such as one of a link-local address with its zone.
  const session = connect(url.scheme === 'http' ? 'http://localhost' : 'https://localhost', {
    createConnection: () => socket,
    // A client must refuse pushes it does not expect.
    settings: { enablePush: false },
    maxSessionMemory: httpGetLimits.sessionMegabytes,
  });
  session.on('error', fail);
  const sent = new Map<string, string | string[]>([
    [':method', 'GET'],
    [':path', url.target],
    [':authority', headerText(hostHeader ?? formatHost(url))],
  ]);
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!connectionHeaders.has(lower))
      sent.set(lower, [...[sent.get(lower) ?? []].flat(), headerText(value)]);
  }
  const stream = session.request(Object.fromEntries(sent));
  let head: Omit<HttpExchange, 'body'> = { status: 0, statusMessage: '', location: undefined };
  const finish = (body: Buffer): void => {
    // A connection that closes ends the stream, even if nothing came.
    if (head.status === 0) fail(new Error('EOF'));
    else done({ ...head, body });
    session.destroy();
  };
  stream.on('response', (response) => {
    atBody();
    const status = Number(response[':status'] ?? 0);
    head = { status, statusMessage: '', location: isRedirect(status) ? response.location : undefined };
    if (rule.limitBytes === 0) finish(emptyBody);
  });
  readBody(stream, rule, finish, fail);
  stream.end();
}
