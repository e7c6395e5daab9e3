/** The HTTP client against misbehaving servers; the contract covers a well-behaved one. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cancelled, systemClock } from '../async/index.js';
import type { ConfigMap } from '../kube/types/index.js';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import { ApiError, ApiUnreachable } from './api-error.js';
import { connectKubeApi, type KubeConnection } from './connect.js';
import type { Credentials } from './credentials.js';
import { createApiRequestMetrics } from './metrics.js';
import type { KubeApi, WatchEvent } from './port.js';
import { resources } from './resources.js';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

let server: Server;
let handler: Handler;
let requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
let connections: Set<Socket>;
let connection: KubeConnection;
let api: KubeApi;
let registry: Registry;

const ref = { namespace: 'n', name: 'a' };
const get = (options = {}) => api.get(resources.configMaps, ref, options);
const respond = (response: ServerResponse, code: number, body: unknown, headers = {}): void => {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};
const found: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } };

function connect(credentials?: Credentials): void {
  const { port } = server.address() as AddressInfo;
  connection = connectKubeApi({
    clock: systemClock,
    userAgent: 'test/1',
    access: {
      endpoint: {
        server: new URL(`http://127.0.0.1:${port}/base/`),
        certificateAuthority: undefined,
        insecureSkipTlsVerify: false,
        tlsServerName: undefined,
      },
      user: { clientCertificate: undefined, bearer: { kind: 'token', token: 'secret' } },
      namespace: 'default',
    },
    ...(credentials === undefined ? {} : { credentials }),
    metrics: registry.once(createApiRequestMetrics),
  });
  api = connection.client();
}
/** How many requests were counted and measured, without their durations. */
const counts = (): Record<string, number> =>
  Object.fromEntries(
    Object.entries(samples(registry)).filter(([series]) => !/_sum|exec_plugin|_transport_/.test(series)),
  );

beforeEach(async () => {
  requests = [];
  registry = new Registry();
  connections = new Set();
  handler = (_, response) => respond(response, 200, found);
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      requests.push({ method: request.method!, url: request.url!, headers: request.headers, body });
      handler(request, response, body);
    });
  });
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  connect();
});
afterEach(async () => {
  connection.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('requests', () => {
  it('carry the credentials and the object, below the server’s path', async () => {
    await get();
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/base/api/v1/namespaces/n/configmaps/a' });
    expect(requests[0]?.headers).toMatchObject({
      authorization: 'Bearer secret',
      'user-agent': 'test/1',
      accept: 'application/json',
      'accept-encoding': 'identity',
    });
    const { host } = connection;
    expect(counts()).toEqual({
      [`rest_client_requests_total{code="200",method="GET",host="${host}"}`]: 1,
      [`rest_client_request_duration_seconds_count{verb="GET",host="${host}"}`]: 1,
      [`rest_client_request_size_bytes_count{verb="GET",host="${host}"}`]: 1,
      [`rest_client_response_size_bytes_count{verb="GET",host="${host}"}`]: 1,
      [`rest_client_rate_limiter_duration_seconds_count{verb="GET",host="${host}"}`]: 1,
    });
  });
  it('are counted by their bytes, by what had them sent again, and by the connections that they share', async () => {
    let answers = 0;
    handler = (_, response) =>
      answers++ === 0
        ? respond(response, 429, { kind: 'Status' }, { 'retry-after': '0' })
        : respond(response, 200, found);
    await api.create(resources.configMaps, { ...found, data: { a: 'ö' } });
    connection.client();
    const { host } = connection;
    const body = requests[1]?.body ?? '';
    expect(samples(registry)).toMatchObject({
      [`rest_client_request_retries_total{code="429",verb="POST",host="${host}"}`]: 1,
      [`rest_client_request_size_bytes_sum{verb="POST",host="${host}"}`]: 2 * Buffer.byteLength(body),
      [`rest_client_response_size_bytes_sum{verb="POST",host="${host}"}`]:
        JSON.stringify({ kind: 'Status' }).length + JSON.stringify(found).length,
      rest_client_transport_cache_entries: 1,
      'rest_client_transport_create_calls_total{result="miss"}': 1,
      'rest_client_transport_create_calls_total{result="hit"}': 1,
    });
    connection.close();
    expect(samples(registry)).toMatchObject({ rest_client_transport_cache_entries: 0 });
  });
  it.each([
    ['merge', 'application/merge-patch+json'],
    ['strategic', 'application/strategic-merge-patch+json'],
    ['json', 'application/json-patch+json'],
  ] as const)('a %s patch says what it is', async (type, contentType) => {
    await api.patch(
      resources.pods,
      ref,
      { type, body: [] },
      { subresource: 'status', fieldManager: 'kubelet' },
    );
    expect(requests[0]).toMatchObject({
      method: 'PATCH',
      url: '/base/api/v1/namespaces/n/pods/a/status?fieldManager=kubelet',
      headers: { 'content-type': contentType },
    });
  });
  it('add the kind to an object from a list', async () => {
    await api.update(resources.configMaps, { metadata: ref });
    expect(JSON.parse(requests[0]!.body)).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  });
  it('in sequence use one connection', async () => {
    for (let n = 0; n < 5; n++) await get();
    expect(connections.size).toBe(1);
  });
  it('in parallel stay below the connection limit', async () => {
    let most = 0;
    handler = (_, response) => {
      most = Math.max(most, connections.size);
      setTimeout(() => respond(response, 200, found), 5);
    };
    await Promise.all(Array.from({ length: 60 }, () => get()));
    expect(most).toBeLessThanOrEqual(24);
  });
});

describe('error responses', () => {
  it('become errors with the server’s message', async () => {
    const details = { name: 'a', kind: 'configmaps' };
    handler = (_, response) =>
      respond(response, 404, {
        kind: 'Status',
        code: 404,
        reason: 'NotFound',
        message: 'configmaps "a" not found',
        details,
      });
    const error: unknown = await get().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'configmaps "a" not found',
      details,
    });
  });
  it('from a proxy do, too', async () => {
    handler = (_, response) => void response.writeHead(502).end('<html>bad gateway</html>');
    await expect(get()).rejects.toMatchObject({
      code: 502,
      message: 'the server responded with 502: <html>bad gateway</html>',
    });
  });
  it('with Retry-After are retried then', async () => {
    handler = (_, response) =>
      requests.length < 3
        ? respond(response, 429, {}, { 'retry-after': '0' })
        : respond(response, 200, found);
    await get();
    expect(requests).toHaveLength(3);
  });
  it('for credentials are retried once with newer ones', async () => {
    connection.close();
    let token = 'old';
    let held = { bearerToken: token };
    connect({
      current: async () => (held.bearerToken === token ? held : { bearerToken: token }),
      refused: () => {
        token = 'new';
        held = { bearerToken: token };
      },
    });
    handler = ({ headers }, response) =>
      headers.authorization === 'Bearer new' ? respond(response, 200, found) : respond(response, 401, {});
    await get();
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
  });
  it('for the same credentials are final', async () => {
    handler = (_, response) => respond(response, 401, {});
    await expect(get()).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' });
    expect(requests).toHaveLength(1);
  });
});

describe('servers that do not respond', () => {
  it('nothing listens: nothing was sent', async () => {
    await new Promise((resolve) => server.close(resolve));
    const error: unknown = await get().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiUnreachable);
    expect(error).toMatchObject({ unanswered: 'not-sent' });
    expect(String(error)).toContain('ECONNREFUSED');
    server.listen(0, '127.0.0.1');
  });
  it('a response that never comes ends with the call’s timeout', async () => {
    handler = () => undefined;
    await expect(get({ timeoutMs: 50 })).rejects.toMatchObject({
      unanswered: 'unknown',
      message: /no response within 0.05 s/,
    });
    const { host } = connection;
    expect(counts()).toMatchObject({
      [`rest_client_requests_total{code="<error>",method="GET",host="${host}"}`]: 1,
    });
  });
  it('a response that never ends does, too', async () => {
    handler = (_, response) => void response.writeHead(200).write('{');
    await expect(get({ timeoutMs: 50 })).rejects.toThrow('no response within');
  });
  it('a connection cut in the response leaves the outcome unknown', async () => {
    handler = (request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"half":');
      setTimeout(() => request.socket.destroy(), 20);
    };
    await expect(api.create(resources.configMaps, found)).rejects.toMatchObject({ unanswered: 'unknown' });
  });
  it('a read on a connection that the server had closed is retried, a write is not', async () => {
    await get();
    const closeThen: Handler = (request, response) => {
      if (requests.length === 2 || requests.length === 4) request.socket.destroy();
      else respond(response, 200, found);
    };
    handler = closeThen;
    await get();
    expect(requests).toHaveLength(3);
    await expect(api.create(resources.configMaps, found)).rejects.toBeInstanceOf(ApiUnreachable);
    expect(requests).toHaveLength(4);
  });
  it('an abort ends the call at once', async () => {
    handler = () => undefined;
    const stop = new AbortController();
    const call = get({ signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    await expect(call).rejects.toBeInstanceOf(Cancelled);
  });
  it('text that is not JSON is not a response', async () => {
    handler = (_, response) => void response.writeHead(200).end('hello');
    await expect(get()).rejects.toThrow('not JSON');
  });
});

describe('watches', () => {
  const line = (name: string, padding = 0): string =>
    `${JSON.stringify({ type: 'ADDED', object: { metadata: { name }, data: { padding: 'x'.repeat(padding) } } })}\n`;
  const watch = async (take = Number.POSITIVE_INFINITY): Promise<WatchEvent<ConfigMap>[]> => {
    const events: WatchEvent<ConfigMap>[] = [];
    for await (const event of api.watch(resources.configMaps, { resourceVersion: '5' })) {
      events.push(event);
      if (events.length >= take) break;
    }
    return events;
  };
  it('end when the server ends them', async () => {
    handler = (_, response) => void response.writeHead(200).end(`${line('a')}${line('b')}`);
    expect(await watch()).toHaveLength(2);
    expect(requests[0]?.url).toBe('/base/api/v1/configmaps?watch=true&resourceVersion=5&timeoutSeconds=600');
    const { host } = connection;
    // A watch is counted, but how long it lasted is not measured.
    expect(counts()).toEqual({
      [`rest_client_requests_total{code="200",method="GET",host="${host}"}`]: 1,
      [`rest_client_rate_limiter_duration_seconds_count{verb="GET",host="${host}"}`]: 1,
    });
  });
  it('close the connection when the reader stops', async () => {
    handler = (_, response) => void response.writeHead(200).write(line('a'));
    await watch(1);
    await expect.poll(() => connections.size).toBe(0);
  });
  it('that are rejected say why', async () => {
    handler = (_, response) =>
      respond(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' });
    await expect(watch()).rejects.toMatchObject({ code: 403, reason: 'Forbidden', message: 'no' });
  });
  it('that are cut fail', async () => {
    handler = (request, response) => {
      response.writeHead(200).write(line('a'));
      setTimeout(() => request.socket.destroy(), 20);
    };
    await expect(watch()).rejects.toBeInstanceOf(ApiUnreachable);
  });
  it('are cut when connections are reset, while calls finish', async () => {
    let release = (): void => undefined;
    handler = ({ url }, response) => {
      if (url?.includes('watch=true')) response.writeHead(200).write(line('a'));
      else release = () => respond(response, 200, found);
    };
    const call = get();
    const watching = watch();
    watching.catch(() => undefined);
    await expect.poll(() => requests.length).toBe(2);
    connection.resetConnections();
    await expect(watching).rejects.toBeInstanceOf(ApiUnreachable);
    release();
    expect(await call).toEqual(found);
    await expect.poll(() => connections.size).toBe(0);
  });
  it('are closed when silent while a call times out, and only then', async () => {
    const bodies: ServerResponse[] = [];
    handler = ({ url }, response) => {
      if (!url?.includes('watch=true')) return;
      response.writeHead(200).write(line('a'));
      bodies.push(response);
    };
    const [silent, speaking] = [watch(), watch(3)];
    silent.catch(() => undefined);
    await expect.poll(() => bodies.length).toBe(2);
    const unanswered = get({ timeoutMs: 300 });
    unanswered.catch(() => undefined);
    await expect.poll(() => requests.length).toBe(3);
    bodies[1]?.write(line('b'));
    await expect(unanswered).rejects.toThrow('no response within 0.3 s');
    await expect(silent).rejects.toBeInstanceOf(ApiUnreachable);
    bodies[1]?.write(line('c'));
    expect(await speaking).toHaveLength(3);
  });
  it('apply back-pressure while their reader is busy', async () => {
    let written = 0;
    handler = (_, response) => {
      response.writeHead(200);
      const write = (): void => {
        while (written < 20_000) {
          written++;
          if (!response.write(line(`o${written}`, 8192))) {
            response.once('drain', write);
            return;
          }
        }
        response.end();
      };
      write();
    };
    const events = api.watch(resources.configMaps)[Symbol.asyncIterator]();
    await events.next();
    await new Promise((resolve) => setTimeout(resolve, 200));
    // 160 MB wait at the server, except for what the sockets buffer.
    expect(written).toBeLessThan(10_000);
    await events.return?.();
  });
});
