/** Traces of real pods: the agent and containerd send theirs to one collector, and they are parts of one tree. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chosenRelease } from '../env/containerd-programs.js';
import { type CollectedSpan, TraceCollector } from '../env/trace-collector.js';
import { busybox, eventually, forever, manifest, shell, TestNode } from './agent.js';

let collector: TraceCollector;
let node: TestNode;

beforeAll(async () => {
  collector = await new TraceCollector().listen();
  const { endpoint } = collector;
  node = await TestNode.create({
    config: { tracing: { endpoint, samplingRatePerMillion: 1_000_000 } },
    // Keeps what the agent keeps, and begins no trace of its own.
    containerdEnv: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${endpoint}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_SERVICE_NAME: 'containerd',
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    },
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
  const trace = collector.spans.filter(
    ({ traceId, service }) => traceId === root.traceId && service === 'kubelet',
  );
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

// The packaged containerd reads no trace of its caller.
it.runIf(chosenRelease() === 'newer')(
  'what containerd does for the pod is in the same trace, below the call',
  async () => {
    const root = startOf('web')!;
    const ofContainerd = (): CollectedSpan[] =>
      collector.spans.filter(({ traceId, service }) => traceId === root.traceId && service === 'containerd');
    await eventually('containerd sends its spans', async () =>
      ofContainerd().some(({ name }) => name === 'cri.sandbox.run'),
    );
    const call = collector.spans.find(
      ({ name, traceId, service }) =>
        name === 'runtime.v1.RuntimeService/RunPodSandbox' &&
        traceId === root.traceId &&
        service === 'kubelet',
    )!;
    expect(ofContainerd().map(({ parentSpanId }) => parentSpanId)).toContain(call.spanId);
  },
);

it('a request to the read-only port begins a trace of its own', async () => {
  await node.pods();
  await eventually('its span arrives', async () => collector.named('/pods').length > 0);
  expect(collector.named('/pods')[0]).toMatchObject({
    parentSpanId: '',
    attributes: { 'http.route': '/pods', 'http.response.status_code': 200 },
  });
});
