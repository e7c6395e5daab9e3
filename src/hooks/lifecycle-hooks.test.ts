import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { CriError, type ExecSyncResponse } from '../cri/index.js';
import type { Container, LifecycleHandler, Pod } from '../kube/index.js';
import { Registry } from '../metrics/index.js';
import { Timeline } from '../timeline/index.js';
import { createLifecycleHooks } from './lifecycle-hooks.js';
import { createHookMetrics } from './metrics.js';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
  spec: { containers: [{ name: 'app' }] },
};

const inPod = 'for Container "app" in Pod "web_shop(u1)"';

interface Setting {
  readonly exec?: Partial<ExecSyncResponse> | CriError;
  readonly podIps?: readonly string[];
}

function hooksWith({ exec = {}, podIps = ['127.0.0.1'] }: Setting = {}) {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const registry = new Registry();
  const calls: unknown[] = [];
  const hooks = createLifecycleHooks({
    cri: {
      async execSync(request) {
        calls.push(request);
        if (exec instanceof CriError) throw exec;
        return { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), exitCode: 0, ...exec };
      },
    },
    clock,
    timeline,
    metrics: createHookMetrics(registry),
    podIps: async () => podIps,
  });
  const run = (postStart: LifecycleHandler, more: Partial<Container> = {}, signal?: AbortSignal) =>
    hooks.postStart(pod, { name: 'app', ...more, lifecycle: { postStart } }, 'c1', signal);
  return { clock, timeline, registry, calls, hooks, run };
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('exec hooks', () => {
  it('run in the container without a time limit', async () => {
    const { run, calls } = hooksWith();
    await run({ exec: { command: ['sh', '-c', 'true'] } });
    expect(calls).toEqual([{ containerId: 'c1', cmd: ['sh', '-c', 'true'], timeout: 0 }]);
  });

  it.each<[string, Setting['exec'], string]>([
    [
      "a non-zero exit code fails with the command's output",
      { exitCode: 3, stdout: Buffer.from('out\n'), stderr: Buffer.from('err') },
      `Exec lifecycle hook ([sh -c x]) ${inPod} failed - error: command 'sh -c x' exited with 3: err, message: "out\\nerr"`,
    ],
    [
      'a runtime error fails with its message',
      new CriError('Unknown', 'no such container'),
      `Exec lifecycle hook ([sh -c x]) ${inPod} failed - error: rpc error: code = Unknown desc = no such container, message: ""`,
    ],
  ])('%s', async (_, exec, message) => {
    await expect(
      hooksWith({ exec: exec ?? {} }).run({ exec: { command: ['sh', '-c', 'x'] } }),
    ).rejects.toThrow(message);
  });
});

describe('sleep hooks', () => {
  it('wait for their duration', async () => {
    const { run, clock } = hooksWith();
    let done = false;
    const running = run({ sleep: { seconds: 5 } }).then(() => {
      done = true;
    });
    await clock.advance(4_999);
    expect(done).toBe(false);
    await clock.advance(1);
    await running;
  });

  it('of zero seconds end at once', async () => {
    await hooksWith().run({ sleep: { seconds: 0 } });
  });

  it('that are cut short fail and are counted', async () => {
    const { run, registry, clock } = hooksWith();
    const end = new AbortController();
    const running = run({ sleep: { seconds: 5 } }, {}, end.signal);
    end.abort();
    await expect(running).rejects.toThrow(
      `Sleep lifecycle hook (5) ${inPod} failed - error: container terminated before sleep hook finished`,
    );
    expect(registry.text()).toContain('kubelet_sleep_action_terminated_early_total 1');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('httpGet hooks', () => {
  it.each([200, 404, 500])('succeed with status %d', async (status) => {
    const port = await serve((_, response) => response.writeHead(status).end('x'.repeat(100_000)));
    await hooksWith().run({ httpGet: { port, path: '/' } });
  });

  it('speak HTTP/1 whatever protocol a probe would speak', async () => {
    const versions: string[] = [];
    const port = await serve((request, response) => {
      versions.push(request.httpVersion);
      response.end();
    });
    await hooksWith().run({ httpGet: { port, path: '/', protocol: 'HTTP2' } });
    expect(versions).toEqual(['1.1']);
  });

  it("send the query, the headers and the hook's User-Agent", async () => {
    const seen: IncomingMessage[] = [];
    const port = await serve((request, response) => {
      seen.push(request);
      response.end();
    });
    await hooksWith().run({
      httpGet: {
        port,
        path: '/a/b?c=d&e',
        httpHeaders: [
          { name: 'X-Two', value: '1' },
          { name: 'x-two', value: '2' },
          { name: 'Host', value: 'shop.example' },
        ],
      },
    });
    const [request] = seen;
    expect(request?.url).toBe('/a/b?c=d&e');
    expect(request?.headers).toMatchObject({
      'x-two': '1, 2',
      host: 'shop.example',
      accept: '*/*',
      'user-agent': 'kube-lifecycle/1.37',
    });
  });

  it('follow redirects on the same host only, ten at most', async () => {
    let hops = 0;
    const port = await serve((request, response) => {
      hops++;
      const to = request.url === '/away' ? 'http://192.0.2.1/' : '/again';
      response.writeHead(302, { location: to }).end();
    });
    const { run } = hooksWith();
    await run({ httpGet: { port, path: '/away' } });
    expect(hops).toBe(1);
    await expect(run({ httpGet: { port, path: '/again' } })).rejects.toThrow('stopped after 10 redirects');
    expect(hops).toBe(11);
  });

  it('over HTTPS are retried without credentials if the server speaks plain HTTP', async () => {
    const seen: IncomingMessage[] = [];
    const port = await serve((request, response) => {
      seen.push(request);
      response.end();
    });
    const { run, timeline, registry } = hooksWith();
    const httpHeaders = [{ name: 'Authorization', value: 'secret' }];
    await run({ httpGet: { port, path: '/x', scheme: 'HTTPS', httpHeaders } });
    expect(seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([['/x', undefined]]);
    expect(timeline.ofPod('u1').map(({ event, message }) => [event?.reason, message])).toEqual([
      [
        'LifecycleHTTPFallback',
        `request to HTTPS lifecycle hook 127.0.0.1:${port} got HTTP response, retry with HTTP succeeded`,
      ],
    ]);
    expect(registry.text()).toContain('kubelet_lifecycle_handler_http_fallbacks_total 1');
  });

  it('fail if nothing listens', async () => {
    const port = await serve(() => {});
    await new Promise((resolve) => servers.pop()?.close(resolve));
    await expect(hooksWith().run({ httpGet: { port, path: '/x' } })).rejects.toThrow(
      `HTTP lifecycle hook (/x) ${inPod} failed - error: Get "http://127.0.0.1:${port}/x": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
  });

  it('fail if the pod has no address', async () => {
    await expect(hooksWith({ podIps: [] }).run({ httpGet: { port: 1, path: '/' } })).rejects.toThrow(
      'failed to find networking container',
    );
  });

  it('end when the signal aborts', async () => {
    const port = await serve(() => {});
    const end = new AbortController();
    const running = hooksWith().run({ httpGet: { port, path: '/' } }, {}, end.signal);
    setTimeout(() => end.abort(), 20);
    await expect(running).rejects.toThrow('HTTP lifecycle hook (/)');
  });
});

it.each<[string, LifecycleHandler]>([
  ['no handler', {}],
  ['a tcpSocket, which is not a hook', { tcpSocket: { port: 80 } }],
])('a hook with %s cannot run', async (_, handler) => {
  await expect(hooksWith().run(handler)).rejects.toThrow('Cannot run handler: invalid handler: ');
});

it('preStop uses its own handler', async () => {
  const { hooks, calls } = hooksWith();
  const container = { name: 'app', lifecycle: { preStop: { exec: { command: ['bye'] } } } };
  await hooks.postStart(pod, container, 'c1');
  await hooks.preStop(pod, container, 'c1');
  expect(calls).toEqual([{ containerId: 'c1', cmd: ['bye'], timeout: 0 }]);
});
