/** Traces of real pods, as the agent sends them to a collector. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CollectedSpan, TraceCollector } from '../env/trace-collector.js';
import { busybox, eventually, forever, manifest, shell, TestNode } from './agent.js';

let collector: TraceCollector;
let node: TestNode;

beforeAll(async () => {
  collector = await new TraceCollector().listen();
  const { endpoint } = collector;
  node = await TestNode.create({
    config: { tracing: { endpoint, samplingRatePerMillion: 1_000_000 } },
  });
  await node.start();
});
afterAll(async () => {
  await node.stop();
  await collector.close();
});

const startOf = (pod: string): CollectedSpan | undefined =>
  collector.named('startPod').find(({ attributes }) => attributes['k8s.pod.name'] === `${pod}-node1`);

it('the start of a pod is one tree with every call of the runtime', async () => {
  await node.apply(
    'web.yaml',
    manifest('web', {
      spec: {
        containers: [
          {
            name: 'app',
            image: busybox,
            command: forever,
            env: [{ name: 'PASSWORD', value: 'very-secret' }],
            readinessProbe: { exec: { command: shell('true') }, periodSeconds: 1 },
          },
        ],
        volumes: [{ name: 'scratch', emptyDir: {} }],
      },
    }),
  );
  await node.untilReady('web');
  await eventually('the trace arrives', async () => startOf('web') !== undefined);
  const root = startOf('web')!;
  await eventually('with all of its parts', async () =>
    collector.spans.some(({ traceId, name }) => traceId === root.traceId && name === 'pod.ready'),
  );
  const trace = collector.spans.filter(({ traceId }) => traceId === root.traceId);
  const ids = new Set(trace.map(({ spanId }) => spanId));
  for (const span of trace) if (span !== root) expect(ids, span.name).toContain(span.parentSpanId);
  const names = new Set(trace.map(({ name }) => name));
  for (const name of [
    'pod.admit',
    'syncPod',
    'sandbox.create',
    'runtime.v1.RuntimeService/RunPodSandbox',
    'container.start',
    'runtime.v1.RuntimeService/CreateContainer',
    'runtime.v1.RuntimeService/StartContainer',
    'pod.ready',
  ])
    expect(names).toContain(name);
  expect(root.attributes).toMatchObject({ 'nodelet.outcome': 'ready', 'nodelet.source': 'file' });
  expect(
    JSON.stringify(trace, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  ).not.toContain('very-secret');
});

it('a request to the read-only port begins a trace of its own', async () => {
  await node.pods();
  await eventually('its span arrives', async () => collector.named('/pods').length > 0);
  expect(collector.named('/pods')[0]).toMatchObject({
    parentSpanId: '',
    attributes: { 'http.route': '/pods', 'http.response.status_code': 200 },
  });
});
