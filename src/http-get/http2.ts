/** A GET over HTTP/2, on a connection that negotiated it. */
import { connect } from 'node:http2';
import type { Socket } from 'node:net';
import type { HttpGetRequest } from './contracts.js';
import type { HttpExchange } from './get.js';
import { httpGetLimits } from './limits.js';
import { isRedirect } from './redirects.js';
import { formatHost, formatUrl } from './request.js';

/** Connection-specific headers, which HTTP/2 forbids. */
const connectionHeaders = new Set(['connection', 'upgrade', 'keep-alive', 'proxy-connection']);

export function sendHttp2(
  { url, hostHeader, headers }: HttpGetRequest,
  socket: Socket,
  limitBytes: number,
  onHeaders: () => void,
): Promise<HttpExchange> {
  return new Promise((resolve, reject) => {
    const session = connect(formatUrl({ ...url, hostname: url.hostname || '127.0.0.1' }), {
      createConnection: () => socket,
      // A client must refuse pushes it does not expect.
      settings: { enablePush: false },
      maxSessionMemory: httpGetLimits.sessionMegabytes,
    });
    session.on('error', reject);
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
    let head: Omit<HttpExchange, 'body'> = { status: 0, location: undefined };
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (): void => {
      resolve({ ...head, body: Buffer.concat(chunks).subarray(0, limitBytes).toString('utf8') });
      session.destroy();
    };
    stream.on('error', reject);
    stream.on('response', (answer) => {
      onHeaders();
      const status = Number(answer[':status'] ?? 0);
      head = { status, location: isRedirect(status) ? answer.location : undefined };
      if (limitBytes === 0) finish();
    });
    stream.on('data', (chunk: Buffer) => {
      if (size >= limitBytes) return;
      chunks.push(chunk);
      size += chunk.length;
      if (size >= limitBytes) finish();
    });
    stream.on('end', finish);
    stream.end();
  });
}
