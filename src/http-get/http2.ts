/** A GET over HTTP/2, on a connection that negotiated it. */
import { connect } from 'node:http2';
import { emptyBody, readBody } from './body.js';
import type { HttpExchange, SentExchange } from './exchange.js';
import { httpGetLimits } from './limits.js';
import { isRedirect } from './redirects.js';
import { formatHost, formatUrl } from './request.js';

/** Connection-specific headers, which HTTP/2 forbids. */
const connectionHeaders = new Set(['connection', 'upgrade', 'keep-alive', 'proxy-connection']);

export function sendHttp2({ request, socket, body: rule, atBody, done, fail }: SentExchange): void {
  const { url, hostHeader, headers } = request;
  const session = connect(formatUrl({ ...url, hostname: url.hostname || '127.0.0.1' }), {
    createConnection: () => socket,
    // A client must refuse pushes it does not expect.
    settings: { enablePush: false },
    maxSessionMemory: httpGetLimits.sessionMegabytes,
  });
  session.on('error', fail);
  const sent: Record<string, string | string[]> = {
    ':method': 'GET',
    ':path': url.target,
    ':authority': hostHeader ?? formatHost(url),
  };
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!connectionHeaders.has(lower)) sent[lower] = [...[sent[lower] ?? []].flat(), value];
  }
  const stream = session.request(sent);
  let head: Omit<HttpExchange, 'body'> = { status: 0, statusMessage: '', location: undefined };
  const finish = (body: Buffer): void => {
    done({ ...head, body });
    session.destroy();
  };
  stream.on('response', (answer) => {
    atBody();
    const status = Number(answer[':status'] ?? 0);
    head = { status, statusMessage: '', location: isRedirect(status) ? answer.location : undefined };
    if (rule.limitBytes === 0) finish(emptyBody);
  });
  readBody(stream, rule, finish, fail);
  stream.end();
}
