/** Passes a request of the page on to the node, with the credentials of whoever runs the page, and its answer back. */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { type Clock, errorText } from '../async/index.js';
import { relay } from '../server/api/upgrade-proxy.js';
import { type RouteResponse, text } from '../server/responses.js';
import type { ServerRequest } from '../server/routes.js';
import { streamingSocket } from '../streaming/streaming-socket.js';
import type { NodeEndpoint, NodeTarget } from './contracts.js';
import { podExecPath } from './exec-path.js';
import { pageLimits } from './limits.js';
import { refusedTerminal } from './refused-terminal.js';
import { keyProtocolPrefix } from './sessions.js';

/** `segments` are those of the path at the node. */
export async function askNode(
  target: NodeTarget,
  segments: readonly string[],
  { query, signal }: ServerRequest,
): Promise<RouteResponse> {
  const path = nodePath(segments, query);
  let answer: IncomingMessage;
  try {
    const request = requestTo(await target.endpoint(), path, { method: 'GET', ...(signal && { signal }) });
    answer = await answerOf(request);
  } catch (error) {
    return unreachable(target, error);
  }
  const { statusCode = 502 } = answer;
  const type = answer.headers['content-type'] ?? '';
  return {
    // 401 is the page's own word for a browser that it does not know.
    status: statusCode === 401 ? 403 : statusCode,
    // The node says what a pod made it say: no browser is to take it for a page.
    headers: {
      'Content-Type': type.startsWith('application/json') ? 'application/json' : 'text/plain; charset=utf-8',
    },
    body: {
      headAtOnce: true,
      async stream(sink, left) {
        const onLeft = (): void => void answer.destroy();
        left.addEventListener('abort', onLeft, { once: true });
        // A message without an encoding yields buffers.
        for await (const chunk of answer) await sink.write(chunk as Buffer);
      },
      // The page sees that the stream has ended, and asks again.
      failed: () => text(502, ''),
    },
  };
}

/** Connects a WebSocket of the page with the node; the two talk to each other from then on. */
export async function openNode(
  target: NodeTarget,
  segments: readonly string[],
  { headers, query, signal }: ServerRequest,
  clock: Clock,
): Promise<RouteResponse> {
  const passed: Record<string, string> = { Connection: 'Upgrade', Upgrade: 'websocket' };
  for (const name of ['sec-websocket-key', 'sec-websocket-version'] as const) {
    const value = headers[name];
    if (typeof value === 'string') passed[name] = value;
  }
  const protocols = (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith(keyProtocolPrefix));
  if (protocols.length > 0) passed['sec-websocket-protocol'] = protocols.join(', ');
  try {
    const endpoint = await target.endpoint();
    const apiServer = endpoint.kind === 'https' ? endpoint.apiServer : undefined;
    const [place, path] =
      endpoint.kind === 'https' && apiServer !== undefined
        ? [{ ...endpoint, url: apiServer }, podExecPath(segments, query)]
        : [endpoint, nodePath(segments, query)];
    const request = requestTo(place, path, {
      method: 'GET',
      headers: passed,
      ...(signal && { signal }),
    });
    const upgraded = await upgradeOf(request);
    if (upgraded.kind === 'refused') return refusedTerminal(headers, upgraded.response);
    const { head, socket, answer } = upgraded;
    const lines = [`HTTP/1.1 101 Switching Protocols`];
    for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2)
      lines.push(`${answer.rawHeaders[at]}: ${answer.rawHeaders[at + 1]}`);
    const first = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]);
    return {
      status: 101,
      headers: {},
      body: { takeOver: (client, fromClient) => relay(client, fromClient, socket, first, clock) },
    };
  } catch (error) {
    return refusedTerminal(headers, unreachable(target, error));
  }
}

function nodePath(segments: readonly string[], query: URLSearchParams): string {
  const asked = query.toString();
  return `/${segments.map(encodeURIComponent).join('/')}${asked === '' ? '' : `?${asked}`}`;
}

function unreachable({ name }: NodeTarget, error: unknown): RouteResponse {
  return text(502, `${name} does not answer: ${errorText(error)}`);
}

function requestTo(endpoint: NodeEndpoint, path: string, given: RequestOptions): ClientRequest {
  const headers = { 'Accept-Encoding': 'identity', ...given.headers };
  if (endpoint.kind === 'socket') {
    const { socketPath } = endpoint;
    return httpRequest({ ...given, headers, path, createConnection: () => streamingSocket({ socketPath }) });
  }
  const { url, tls } = endpoint;
  return httpsRequest({
    ...given,
    headers: { ...headers, ...endpoint.headers },
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : url.port,
    path: `${url.pathname.replace(/\/$/, '')}${path}`,
    createConnection: () => streamingSocket({ url, tls }),
  });
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const timer = limitAnswer(request);
    request.once('response', (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    request.once('close', () => clearTimeout(timer));
    request.on('error', reject);
    request.end();
  });
}

type UpgradedNode =
  | {
      readonly kind: 'open';
      readonly answer: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
    }
  | { readonly kind: 'refused'; readonly response: RouteResponse };

const longestRefusalBytes = 4096;

function upgradeOf(request: ClientRequest): Promise<UpgradedNode> {
  return new Promise((resolve, reject) => {
    const timer = limitAnswer(request);
    request.once('upgrade', (answer, socket, head) => {
      clearTimeout(timer);
      resolve({ kind: 'open', answer, socket, head });
    });
    request.once('response', (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const tell = (): void => {
        const said = Buffer.concat(chunks).toString('utf8', 0, longestRefusalBytes).trim();
        resolve({
          kind: 'refused',
          response: text(answer.statusCode === 401 ? 403 : (answer.statusCode ?? 502), said),
        });
        request.destroy();
      };
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > longestRefusalBytes) tell();
      });
      answer.once('end', tell).once('error', tell);
    });
    request.once('close', () => clearTimeout(timer));
    request.on('error', reject);
    request.end();
  });
}

function limitAnswer(request: ClientRequest): NodeJS.Timeout {
  return setTimeout(() => request.destroy(new Error('it took too long to answer')), pageLimits.answerMs);
}
