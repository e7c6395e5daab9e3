import { renameSync, statSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectTcp } from 'node:net';
import path from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { CheckpointContainerResponse, unimplementedCriRuntime } from '../../cri/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import type { KubeApi } from '../../kube-client/index.js';
import type { ServingKeyPair } from '../tls/secure-serving.js';
import {
  alice,
  authority,
  call,
  type MainServer,
  type MainTestOptions,
  otherAuthority,
  serving,
  startMain,
  stranger,
  testApi,
} from './test-main.js';

const open: MainServer[] = [];
const sockets: { destroy(): void }[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of open.splice(0)) await server.close();
});

async function main(test: MainTestOptions = {}): Promise<MainServer> {
  const server = await startMain(test);
  open.push(server);
  return server;
}

const anonymousOn = (): MainTestOptions['config'] => ({
  authentication: {
    anonymous: { enabled: true },
    webhook: { enabled: true, cacheTTL: 120_000 },
    x509: { clientCAFile: '' },
  },
});
const refusals = ({ timeline }: MainServer) =>
  timeline.ofNode().filter(({ what }) => what === 'server.refuse');

describe('authentication', () => {
  it('anonymous requests are rejected when anonymous access is off', async () => {
    const server = await main();
    expect(await call(server, 'GET /pods')).toMatchObject({ status: 401, body: 'Unauthorized' });
    expect(refusals(server)).toMatchObject([
      {
        message: 'GET /pods answered 401',
        because: 'no credential was presented',
        data: { status: 401, remoteAddress: '127.0.0.1' },
      },
    ]);
  });

  it('a bad token does not make its bearer anonymous, and is recorded nowhere', async () => {
    const server = await main({ config: anonymousOn() ?? {} });
    expect((await call(server, 'GET /pods', { token: 'stolen-secret' })).status).toBe(401);
    expect((await call(server, 'GET /pods')).status).toBe(200);
    expect(refusals(server)).toMatchObject([{ because: 'invalid bearer token' }]);
    expect(JSON.stringify(server.timeline.ofNode())).not.toContain('stolen-secret');
  });

  it('an unknown path gives 404 to everybody, without a review', async () => {
    const { api, tokenReviews } = testApi();
    const server = await main({ api });
    for (const place of ['/nonexistent', '/podsfoo', '/', '/spec/', '/healthz/', '/livez']) {
      const reply = await call(server, `GET ${place}`, { token: 'good' });
      expect([place, reply.status, reply.body]).toEqual([place, 404, '404 page not found\n']);
    }
    expect((await call(server, 'GET /logs')).headers.location).toBe('/logs/');
    expect(tokenReviews).toEqual([]);
  });

  it('a certificate names user and groups', async () => {
    const { api, accessReviews } = testApi();
    const server = await main({ api });
    await call(server, 'GET /stats/summary', { as: alice });
    expect(accessReviews.map(({ spec }) => spec)).toEqual([
      {
        user: 'alice',
        groups: ['dev', 'system:authenticated'],
        extra: {
          'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)],
        },
        resourceAttributes: {
          verb: 'get',
          version: 'v1',
          resource: 'nodes',
          subresource: 'stats',
          name: 'node-1',
        },
      },
    ]);
  });

  it.each<[string, () => ServingKeyPair]>([
    ['of another authority', () => stranger],
    [
      'that has expired',
      () => authority.issue({ commonName: 'alice', usage: 'clientAuth', validMs: -60_000 }),
    ],
    ['for servers', () => authority.issue({ commonName: 'alice', usage: 'serverAuth' })],
  ])('a certificate %s is not a credential, but a token beside it is', async (_, make) => {
    const server = await main();
    const as = make();
    expect((await call(server, 'GET /pods', { as })).status).toBe(401);
    expect(refusals(server)[0]?.because).toMatch(/^x509: /);
    expect((await call(server, 'GET /pods', { as, token: 'good' })).status).toBe(200);
  });

  it('a token is reviewed once', async () => {
    const { api, tokenReviews, accessReviews } = testApi();
    const server = await main({ api });
    for (let at = 0; at < 2; at++)
      expect((await call(server, 'GET /pods', { token: 'good' })).status).toBe(200);
    expect([tokenReviews.length, accessReviews.length]).toEqual([1, 1]);
    expect(accessReviews[0]?.spec).toMatchObject({ user: 'bob', groups: ['system:authenticated'] });
  });
});

describe('authorization', () => {
  const denied = (...subresources: string[]) =>
    testApi(({ resourceAttributes }) => !subresources.includes(resourceAttributes?.subresource ?? ''));

  it('the coarse permission suffices if the fine one is missing', async () => {
    const { api, accessReviews } = denied('pods');
    expect((await call(await main({ api }), 'GET /pods', { as: alice })).status).toBe(200);
    expect(accessReviews.map(({ spec }) => spec.resourceAttributes?.subresource)).toEqual(['pods', 'proxy']);
  });

  it('without both, the refusal names them', async () => {
    const server = await main({ api: denied('configz', 'proxy').api });
    expect(await call(server, 'GET /configz', { as: alice })).toMatchObject({
      status: 403,
      body: 'Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[configz proxy])\n',
    });
    expect(refusals(server)).toMatchObject([
      {
        message: 'GET /configz answered 403',
        because: 'alice may not get to nodes/configz or nodes/proxy',
        data: { user: 'alice' },
      },
    ]);
  });

  it('only some routes have a coarse permission', async () => {
    const { api, accessReviews } = denied('configz');
    expect((await call(await main({ api }), 'GET /flagz', { as: alice })).status).toBe(403);
    expect(accessReviews.length).toBe(1);
  });

  it('without a decision it is an error', async () => {
    const failing = (async () => {
      throw new ApiError({ code: 403, message: 'no' });
    }) as KubeApi['create'];
    const server = await main({ api: { create: failing } });
    expect(await call(server, 'GET /pods', { as: alice })).toMatchObject({
      status: 500,
      body: 'Authorization error (user=alice, verb=get, resource=nodes, subresource=pods)',
    });
  });

  it('HEAD has no verb', async () => {
    const { api, accessReviews } = testApi();
    await call(await main({ api }), 'HEAD /metrics', { as: alice });
    expect(accessReviews[0]?.spec.resourceAttributes?.verb).toBe('');
  });

  it('another spelling of a path needs the same permission', async () => {
    const { api, accessReviews } = testApi();
    const server = await main({ api });
    expect((await call(server, 'GET /%73tats/summary', { as: alice })).status).toBe(500);
    expect(accessReviews[0]?.spec.resourceAttributes?.subresource).toBe('stats');
  });

  it('requires an authorizer', async () => {
    await expect(main({ options: { api: undefined } })).rejects.toThrow('no client provided');
  });
});

describe('routes', () => {
  it.each<[string, number, RegExp, Record<string, string>?]>([
    ['PUT /exec/default/web/app', 405, /^405: Method Not Allowed$/],
    ['GET /run/default/web/app', 405, /^405: Method Not Allowed$/],
    ['GET /pods', 406, /^406: Not Acceptable[\s\S]*application\/json/, { Accept: 'text/plain' }],
    ['POST /checkpoint/default/web/app', 406, /^406: Not Acceptable/, { Accept: 'text/plain' }],
    ['GET /stats/container', 404, /^404: Page Not Found$/],
    ['GET /stats/', 404, /^404: Page Not Found$/],
    ['GET /healthz', 200, /^ok$/],
    ['GET /healthz/log', 200, /^ok$/],
    ['GET /healthz?verbose&exclude=zzz', 200, /no matches for "zzz"/],
    ['GET /pods', 200, /"kind":"PodList"/],
    ['GET /runningpods/', 200, /"name":"web"/],
    [
      'GET /configz',
      200,
      /^\{"kubeletconfig":\{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io\/v1beta1"/,
    ],
    ['GET /metrics', 200, /kubelet_http_requests_total/],
    ['GET /metrics/resource', 200, /^resource_scrape_error 1$/m],
    ['GET /metrics/cadvisor', 200, /^container_scrape_error 1$/m],
    ['GET /stats/summary', 500, /^Internal Error: this node keeps no statistics$/],
    ['GET /debug/pprof/cmdline', 200, /node/],
    ['GET /debug/pprof/goroutine', 404, /^Unknown profile\n$/],
    ['GET /debug/pprof/', 200, /<a href="profile">/],
    ['GET /debug/pprof/profile?seconds=301', 400, /^seconds: at most 300\n$/],
    ['GET /debug/pprof/profile?seconds=0.1&format=cpuprofile', 200, /^\{"nodes":/],
    ['GET /debug/pprof/heap?seconds=0.1&format=heapprofile', 200, /^\{"head":/],
    ['GET /debug/flags/v', 405, /^flags endpoint is disabled.\n$/],
    ['POST /checkpoint/default/nope/app', 404, /^pod does not exist$/],
    ['POST /checkpoint/default/web/nope', 404, /^container nope does not exist$/],
    ['POST /checkpoint/default/web/app?timeout=abc', 404, /^cannot parse value of timeout parameter$/],
    [
      'POST /checkpoint/default/web/app',
      500,
      /^checkpointing of default\/web\/app failed \(.*CheckpointContainer/,
    ],
    ['GET /statusz', 406, /NotAcceptable/, { Accept: 'application/json' }],
    [
      'GET /statusz',
      200,
      /"uptimeSeconds":/,
      { Accept: 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz' },
    ],
    ['GET /statusz', 200, /^\nkubelet statusz\n/],
    [
      'GET /statusz',
      200,
      /"paths":\["\/configz","\/debug","\/flagz","\/healthz","\/metrics"\]/,
      { Accept: 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz' },
    ],
    ['GET /flagz', 200, /^\nkubelet flagz\n[\s\S]*node-ip.{1,2}10.0.0.1\nv.{1,2}2\n$/],
  ])('%s is %i', async (target, status, body, headers = {}) => {
    const reply = await call(await main(), target, { as: alice, headers });
    expect(reply.body).toMatch(body);
    expect(reply.status).toBe(status);
  });

  const given = /^\{"kind":"Pod","apiVersion":"v1","metadata":\{"name":"web".*"status":\{\}\}\n$/;
  it.each<[target: string, status: number, body: RegExp]>([
    [
      'GET /allocatedPods',
      200,
      /^\{"kind":"PodList",.*"items":\[\{"metadata":\{"name":"web".*"status":\{\}\}\]\}\n$/,
    ],
    ['GET /allocatedPods/', 200, /^\{"kind":"PodList"/],
    ['GET /allocatedPods/default/web', 200, given],
    ['GET /allocatedPods/default/web/uid-1', 200, given],
    ['GET /allocatedPods/default/web/uid-2', 404, /^pod not found$/],
    ['GET /allocatedPods/other/web', 404, /^pod not found$/],
    ['GET /allocatedPods/default', 404, /^404: Page Not Found$/],
    ['POST /allocatedPods', 405, /^405: Method Not Allowed$/],
  ])('%s with its gate is %i', async (target, status, body) => {
    const gates = { KubeletAllocatedPodsEndpoint: true };
    const reply = await call(await main({ gates }), target, { as: alice });
    expect(reply.body).toMatch(body);
    expect(reply.status).toBe(status);
  });

  it('GET /allocatedPods without its gate is not there', async () => {
    expect((await call(await main(), 'GET /allocatedPods', { as: alice })).status).toBe(404);
  });

  it('POST /stats/summary with an invalid type', async () => {
    const headers = { 'Content-Type': 'invalid/content/type' };
    const reply = await call(await main(), 'POST /stats/summary', { as: alice, headers });
    expect([reply.status, reply.body]).toEqual([500, expect.stringContaining('parse form failed')]);
  });

  it('returns the requested summary', async () => {
    const asked: unknown[] = [];
    const summary = { node: { nodeName: 'node-1', startTime: null }, pods: [] };
    const stats = {
      summary: async (options: unknown) => {
        asked.push(options);
        return summary;
      },
      measured: async () => ({
        summary,
        pods: [],
        cgroups: new Map<string, string>(),
        memoryLimits: { nodeBytes: undefined, podsBytes: undefined },
      }),
      measuredNode: () => Promise.reject(new Error('nobody asks')),
      scrape: async () => ({ parts: [] }),
    };
    const server = await main({ kubelet: { stats } });
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect(JSON.parse((await call(server, 'GET /stats/summary', { as: alice })).body)).toEqual(summary);
    await call(server, 'GET /stats/summary?only_cpu_and_memory=true', { as: alice });
    await call(server, 'GET /stats/summary?only_cpu_and_memory=1', { as: alice });
    await call(server, 'POST /stats/summary', { as: alice, headers: form, body: 'only_cpu_and_memory=true' });
    expect(asked).toEqual([false, true, false, true].map((onlyCpuAndMemory) => ({ onlyCpuAndMemory })));
    expect((await call(server, 'GET /metrics/resource', { as: alice })).body).toContain(
      'resource_scrape_error 0',
    );
  });

  it('sets the verbosity', async () => {
    const set: number[] = [];
    const server = await main({ options: { setVerbosity: (verbosity) => void set.push(verbosity) } });
    const put = (body: string) => call(server, 'PUT /debug/flags/v', { as: alice, body });
    expect(await put('4')).toMatchObject({
      status: 200,
      body: 'successfully set klog.logging.verbosity to 4\n',
    });
    expect((await put('x')).status).toBe(400);
    expect((await call(server, 'GET /debug/flags/v', { as: alice })).status).toBe(406);
    expect(set).toEqual([4]);
  });

  it('writes a checkpoint', async () => {
    const asked: { location?: string; timeout?: number }[] = [];
    const runtime = {
      ...unimplementedCriRuntime(),
      checkpointContainer: async (request: { location?: string; timeout?: number }) => {
        asked.push(request);
        writeFileSync(request.location ?? '', 'memory', { mode: 0o644 });
        return CheckpointContainerResponse.create({});
      },
    };
    const server = await main({ kubelet: { runtime } });
    const reply = await call(server, 'POST /checkpoint/default/web/app?timeout=1&timeout=7', { as: alice });
    const { items } = JSON.parse(reply.body) as { items: string[] };
    expect(items[0]).toMatch(
      /\/checkpoints\/checkpoint-web_default-app-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.tar$/,
    );
    expect(asked).toEqual([{ containerId: 'c1', location: items[0], timeout: 7 }]);
    expect(statSync(items[0] ?? '').mode & 0o777).toBe(0o600);
  });

  it('exposes nothing of the pods when debugging is off', async () => {
    const server = await main({ config: { enableDebuggingHandlers: false } });
    const ask = async (target: string) => {
      const { status, body } = await call(server, target, { as: alice });
      return [status, body];
    };
    for (const target of ['POST /exec/x', 'GET /logs/', 'GET /runningpods/', 'GET /containerLogs/a/b/c']) {
      expect(await ask(target)).toEqual([405, 'Debug endpoints are disabled.\n']);
    }
    for (const target of ['GET /configz', 'GET /flagz', 'POST /checkpoint/a/b/c', 'PUT /debug/flags/v']) {
      expect(await ask(target)).toEqual([404, '404 page not found\n']);
    }
    expect((await ask('GET /pods'))[0]).toBe(200);
  });

  it('statusz names the paths that are served', async () => {
    const server = await main({ gates: { ComponentFlagz: false } });
    const { body } = await call(server, 'GET /statusz', { as: alice });
    expect(body).toMatch(/Paths.{1,2}\/configz \/debug \/healthz \/metrics\n$/);
  });

  it('names the disabled handler', async () => {
    const server = await main({ config: { enableSystemLogHandler: false, enableProfilingHandler: false } });
    expect((await call(server, 'GET /logs/x', { as: alice })).body).toBe('logs endpoint is disabled.\n');
    expect((await call(server, 'GET /debug/pprof/heap', { as: alice })).body).toBe(
      'profiling endpoint is disabled.\n',
    );
  });

  it('counts the results of the health checks, and restarts the counts on request', async () => {
    const server = await main();
    await call(server, 'GET /healthz', { as: alice });
    const counted = 'kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 1';
    expect((await call(server, 'GET /metrics/slis', { as: alice })).body).toContain(counted);
    expect(await call(server, 'DELETE /metrics/slis', { as: alice })).toMatchObject({
      status: 200,
      body: 'metrics reset\n',
    });
    const { body } = await call(server, 'GET /metrics/slis', { as: alice });
    expect(body).not.toContain('kubernetes_healthchecks_total{');
    expect(body).toMatch(/^process_start_time_seconds \d/m);
  });

  it('counts requests by few labels', async () => {
    const server = await main();
    for (const target of ['PATCH /metrics', 'GET /metrics/slis', 'GET /portForward/default/nope']) {
      await call(server, target, { as: alice });
    }
    const { body } = await call(server, 'GET /metrics', { as: alice });
    for (const labels of [
      'method="other",path="metrics",server_type="readwrite",long_running="false"',
      'method="GET",path="other",server_type="readwrite",long_running="false"',
      'method="GET",path="portForward",server_type="readwrite",long_running="false"',
    ]) {
      expect(body).toContain(`kubelet_http_requests_total{${labels}} 1`);
    }
  });
});

describe('TLS', () => {
  const shown = (server: MainServer): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connectTls(
        { port: server.port, host: '127.0.0.1', ca: [authority.pem, otherAuthority.pem] },
        () => {
          const { subject } = socket.getPeerCertificate();
          socket.destroy();
          resolve(String(subject.CN));
        },
      );
      socket.on('error', reject);
    });

  it('fails with an alert while there is no certificate, works as soon as there is one, and with the next one', async () => {
    let current: ServingKeyPair | undefined;
    const server = await main({ certificate: () => current });
    await expect(shown(server)).rejects.toThrow(/internal error/i);
    expect(server.timeline.ofNode()).toContainEqual(
      expect.objectContaining({ because: 'no serving certificate available for the kubelet' }),
    );
    current = serving;
    expect(await shown(server)).toBe('node-1');
    current = otherAuthority.issue({ commonName: 'node-1-new', usage: 'serverAuth' });
    expect(await shown(server)).toBe('node-1-new');
  });

  it.each([
    ['VersionTLS12', 'TLSv1.1', false],
    ['VersionTLS13', 'TLSv1.2', false],
    ['VersionTLS13', 'TLSv1.3', true],
  ] as const)('%s with a client of %s', async (tlsMinVersion, version, works) => {
    const server = await main({ config: { tlsMinVersion } });
    const tls = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const outcome = await call(server, 'GET /healthz', { as: alice, tls }).then(
      ({ status }) => status === 200,
      () => false,
    );
    expect(outcome).toBe(works);
  });

  it('uses the configured cipher suites', async () => {
    const server = await main({ config: { tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] } });
    const ask = (ciphers: string) =>
      call(server, 'GET /healthz', { as: alice, tls: { maxVersion: 'TLSv1.2', ciphers } });
    expect((await ask('ECDHE-ECDSA-AES256-GCM-SHA384')).status).toBe(200);
    await expect(ask('ECDHE-ECDSA-AES128-GCM-SHA256')).rejects.toThrow();
  });

  it('accepts new authorities, also on open connections', async () => {
    const server = await main();
    expect((await call(server, 'GET /pods', { as: stranger })).status).toBe(401);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    sockets.push(agent);
    const kept = { as: alice, tls: { agent } };
    expect((await call(server, 'GET /pods', kept)).status).toBe(200);
    const bundle = path.join(server.dir, 'new.pem');
    writeFileSync(bundle, otherAuthority.pem);
    renameSync(bundle, server.caFile);
    await expect
      .poll(async () => (await call(server, 'GET /pods', { as: stranger })).status, { timeout: 5000 })
      .toBe(200);
    expect((await call(server, 'GET /pods', { as: alice })).status).toBe(401);
    expect((await call(server, 'GET /pods', kept)).status).toBe(401);
    writeFileSync(server.caFile, 'broken');
    await expect
      .poll(
        () =>
          server.timeline
            .ofNode()
            .map(({ message }) => message)
            .join(),
        { timeout: 5000 },
      )
      .toContain('stays in use');
    expect((await call(server, 'GET /pods', { as: stranger })).status).toBe(200);
  });
});

describe('malicious clients', () => {
  const limits = { headersMs: 300, requestMs: 400, inactivityMs: 500 };
  const raw = async (
    server: MainServer,
  ): Promise<{ socket: TLSSocket; seen: () => string; closed: Promise<void> }> => {
    const socket = connectTls({
      port: server.port,
      host: '127.0.0.1',
      ca: authority.pem,
      cert: alice.certificatePem,
      key: alice.keyPem,
    });
    sockets.push(socket);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    return { socket, seen: () => text, closed };
  };
  const stillServes = async (server: MainServer) =>
    expect((await call(server, 'GET /healthz', { as: alice })).status).toBe(200);

  it('send endless headers', async () => {
    const server = await main({ options: { limits } });
    const { socket, seen, closed } = await raw(server);
    socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(1_100_000)}\r\n\r\n`);
    await closed;
    expect(seen()).toMatch(/^HTTP\/1.1 431 /);
    await stillServes(server);
  });

  it('send them slowly', async () => {
    const server = await main({ options: { limits } });
    const { socket, seen, closed } = await raw(server);
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
    await closed;
    expect(seen()).toMatch(/^(HTTP\/1.1 408 |$)/);
    await stillServes(server);
  });

  it('send no HTTP, no TLS, or nothing at all', async () => {
    const server = await main({ options: { limits } });
    const { socket, seen, closed } = await raw(server);
    socket.write('\0\0\0 hello\r\n\r\n');
    await closed;
    expect(seen()).toMatch(/^HTTP\/1.1 400 /);
    const plain = connectTcp(server.port, '127.0.0.1');
    sockets.push(plain);
    plain.on('error', () => {});
    const gone = new Promise((resolve) => plain.once('close', resolve));
    plain.write('GET / HTTP/1.1\r\n\r\n');
    await gone;
    sockets.push(connectTcp(server.port, '127.0.0.1'));
    await stillServes(server);
  });

  it('send a body that is too long', async () => {
    const server = await main();
    const { socket, seen, closed } = await raw(server);
    socket.write('POST /stats/summary HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n');
    await expect.poll(seen).toMatch(/^HTTP\/1.1 413 /);
    socket.end();
    await closed;
    await stillServes(server);
  });

  it('do not keep the port open', async () => {
    const server = await main();
    await raw(server);
    sockets.push(connectTcp(server.port, '127.0.0.1').on('error', () => {}));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const begun = Date.now();
    await open.pop()?.close();
    expect(Date.now() - begun).toBeLessThan(2000);
  });
});
