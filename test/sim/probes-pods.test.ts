/** Probes through the life of pods and agents: sidecars, the end of a pod, a restart of the agent, the network. */
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpGetRequest, HttpGetResponse } from '../../src/http-get/index.js';
import type { Container, Pod, Probe } from '../../src/kube/index.js';
import type { ProbeNetwork } from '../../src/probes/index.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod, type PodShape } from './pods.js';
import { app, count, exec, nodeWith, scripted, shape, silentNetwork, unhealthy } from './probe-script.js';

afterEach(endNodes);

describe('sidecars', () => {
  const sidecar = (probes: Partial<Container>): Container => ({
    name: 'proxy',
    image: 'proxy:1',
    restartPolicy: 'Always',
    ...probes,
  });

  it('let the next one start when their startup probe succeeded', async () => {
    const script = scripted({ up: { exitCode: 1 } });
    const node = await nodeWith(script);
    node.set([
      apiPod(
        'a',
        shape([app({})], { init: [sidecar({ startupProbe: exec('up', { failureThreshold: 99 }) })] }),
      ),
    ]);
    await node.until('the sidecar runs', () => script.machine.running('a').length === 1);
    await node.advance(20 * second);
    expect(script.machine.running('a').map(({ name }) => name)).toEqual(['proxy']);
    expect(node.status('a')?.phase).toBe('Pending');
    delete script.answers.up;
    await node.untilReady('a', 5 * second);
  });

  it('are restarted by their liveness probe and count for readiness', async () => {
    const script = scripted({ live: { exitCode: 1 }, ready: { exitCode: 1 } });
    const node = await nodeWith(script);
    node.set([
      apiPod(
        'a',
        shape([app({})], { init: [sidecar({ livenessProbe: exec('live'), readinessProbe: exec('ready') })] }),
      ),
    ]);
    await node.until('it is killed', () => node.events('a', 'Killing').length === 1);
    expect(node.events('a', 'Killing')[0]?.message).toBe('Init container proxy failed liveness probe');
    expect(node.events('a', 'Unhealthy')[0]?.event?.fieldPath).toBe('spec.initContainers{proxy}');
    expect(node.isReady('a')).toBe(false);
    delete script.answers.live;
    delete script.answers.ready;
    await node.untilReady('a');
    expect(node.container('a', 'proxy')).toMatchObject({ restartCount: 1, ready: true });
    expect(node.container('a', 'app')?.restartCount).toBe(0);
  });
});

describe('a pod that is being stopped', () => {
  it('can become unready, but nothing of it is restarted, and its probes end with it', async () => {
    const script = scripted();
    const node = await nodeWith(script);
    node.set([
      apiPod(
        'a',
        shape([app({ readinessProbe: exec('ready'), livenessProbe: exec('live') })], {
          sim: { 'stop-delay': '20s' },
        }),
      ),
    ]);
    await node.untilReady('a');
    await node.advance(3 * second);
    script.answers.ready = { exitCode: 1 };
    script.answers.live = { exitCode: 1 };
    node.delete('a', 30);
    await node.advance(100);
    const livenessRuns = count(script, 'live');
    expect(node.isReady('a')).toBe(true);
    await node.until('it is unready', () => !node.isReady('a'), 6 * second);
    expect(script.machine.running('a')).toHaveLength(1);
    await node.until('it has stopped', () => script.machine.running('a').length === 0, 20 * second);
    expect(count(script, 'live')).toBe(livenessRuns);
    expect(unhealthy(node).filter((text) => text.startsWith('Liveness'))).toEqual([]);
    const readinessRuns = count(script, 'ready');
    await node.advance(30 * second);
    expect(count(script, 'ready')).toBe(readinessRuns);
    expect(node.kubelet.probeMetricsText()).toBe('');
  });
});

describe('an agent that starts again', () => {
  const readyPod = (shapeOf: PodShape): Pod =>
    apiPod('a', {
      ...shapeOf,
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  const probed = shape([app({ readinessProbe: exec('ready') })]);

  it('leaves a ready pod ready until its probe fails often enough', async () => {
    const script = scripted();
    const first = await nodeWith(script);
    first.set([apiPod('a', probed)]);
    await first.untilReady('a');
    await first.stop();
    await script.machine.time.advance(minute);
    script.answers.ready = { exitCode: 1 };
    const runs = count(script, 'ready');
    const node = await startNode({ machine: script.machine });
    node.set([readyPod(probed)]);
    await node.until('there is a status', () => node.status('a') !== undefined);
    expect(node.isReady('a')).toBe(true);
    await node.until('it is unready', () => !node.isReady('a'), 10 * second);
    expect(count(script, 'ready') - runs).toBeGreaterThanOrEqual(3);
    expect(unhealthy(node).length).toBeGreaterThanOrEqual(3);
  });

  it('does not probe the startup of what had started', async () => {
    const script = scripted();
    const withStartup = shape([app({ startupProbe: exec('up'), livenessProbe: exec('live') })]);
    const first = await nodeWith(script);
    first.set([apiPod('a', withStartup)]);
    await first.untilReady('a');
    const status = first.status('a')!;
    await first.stop();
    await script.machine.time.advance(minute);
    const runs = count(script, 'up');
    script.answers.up = { exitCode: 1 };
    const node = await startNode({ machine: script.machine });
    node.set([{ ...apiPod('a', withStartup), status }]);
    await node.advance(30 * second);
    expect(count(script, 'up')).toBe(runs);
    expect(node.container('a')).toMatchObject({ started: true, ready: true, restartCount: 0 });
    expect(count(script, 'live')).toBeGreaterThan(20);
  });

  it('spreads the first probes over their period', async () => {
    const script = scripted();
    const node = await startNode({ machine: script.machine });
    const pods = Array.from({ length: 20 }, (_, index) =>
      apiPod(`p${index}`, shape([app({ livenessProbe: exec(`live${index}`, { periodSeconds: 20 }) })])),
    );
    node.set(pods);
    await node.until('all run', () => script.machine.running().length === 20);
    await node.advance(5 * second);
    const early = new Set(script.commands).size;
    expect(early).toBeLessThan(12);
    await node.advance(36 * second);
    expect(new Set(script.commands).size).toBe(20);
  });
});

describe('probes through the network', () => {
  const answering = (answer: (request: HttpGetRequest) => HttpGetResponse): ProbeNetwork => ({
    ...silentNetwork,
    http: async (request) => answer(request),
  });

  it('go to the address of the pod and a named port', async () => {
    const script = scripted();
    const urls: HttpGetRequest['url'][] = [];
    const node = await nodeWith(script, {
      kubelet: {
        probeNetwork: answering((request) => {
          urls.push(request.url);
          return { status: 200, body: '' };
        }),
      },
    });
    const probe: Probe = { httpGet: { path: '/ready?now', port: 'web' }, periodSeconds: 1 };
    const ports = [{ name: 'web', containerPort: 8080 }];
    node.set([apiPod('a', shape([app({ readinessProbe: probe }, { ports })]))]);
    await node.untilReady('a');
    expect(urls[0]).toEqual({
      scheme: 'http',
      hostname: node.status('a')?.podIP,
      port: 8080,
      target: '/ready?now',
    });
  });

  it('warn of a redirect to elsewhere and count it as success', async () => {
    const script = scripted();
    const node = await nodeWith(script, {
      kubelet: {
        probeNetwork: answering(() => ({ status: 302, body: '<a href="http://0.0.0.0/">Found</a>.\n\n' })),
      },
    });
    node.set([apiPod('a', shape([app({ livenessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } })]))]);
    await node.untilReady('a');
    await node.advance(10 * second);
    expect(node.events('a', 'ProbeWarning')[0]?.message).toBe(
      'Liveness probe warning: Probe terminated redirects, Response body: <a href="http://0.0.0.0/">Found</a>.\n\n',
    );
    expect(node.events('a', 'Killing')).toEqual([]);
  });

  it('tcp and grpc speak of the pod address', async () => {
    const script = scripted();
    const node = await nodeWith(script, {
      kubelet: {
        probeNetwork: {
          ...silentNetwork,
          tcp: async ({ host, port }) => {
            throw new Error(`dial tcp ${host}:${port}: connect: connection refused`);
          },
          grpc: async () => ({ kind: 'status', status: 'NOT_SERVING' }),
        },
      },
    });
    node.set([
      apiPod(
        'a',
        shape([
          app({
            readinessProbe: { tcpSocket: { port: 81 }, periodSeconds: 1 },
            livenessProbe: { grpc: { port: 82 }, periodSeconds: 1 },
          }),
        ]),
      ),
    ]);
    await node.until('both failed', () => new Set(unhealthy(node)).size === 2);
    const ip = node.status('a')?.podIP;
    expect(new Set(unhealthy(node))).toEqual(
      new Set([
        `Readiness probe failed: dial tcp ${ip}:81: connect: connection refused`,
        'Liveness probe failed: service unhealthy (responded with "NOT_SERVING")',
      ]),
    );
  });
});

describe('metrics of probes', () => {
  it('count results while the probe lives', async () => {
    const script = scripted();
    const node = await nodeWith(script);
    node.set([apiPod('a', shape([app({ readinessProbe: exec('ready') })]))]);
    await node.untilReady('a');
    script.answers.ready = { exitCode: 1 };
    await node.until('it is unready', () => !node.isReady('a'));
    const text = node.kubelet.probeMetricsText();
    expect(text).toMatch(
      /^prober_probe_total\{probe_type="Readiness",result="successful",container="app",pod="a",namespace="default",pod_uid="uid-of-a"\} \d+$/m,
    );
    expect(text).toMatch(/^prober_probe_total\{probe_type="Readiness",result="failed",.*\} \d+$/m);
    expect(text).toMatch(
      /^prober_probe_duration_seconds_count\{probe_type="Readiness",container="app",pod="a",namespace="default"\} \d+$/m,
    );
    expect(node.kubelet.registry.text()).not.toContain('prober_probe');
  });
});
