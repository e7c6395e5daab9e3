/** Traces that reach a real API server: its spans of a node's requests point at the spans of the node. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CleanupStack, createTempDir, pollUntil } from '../env/index.js';
import { type CollectedSpan, TraceCollector } from '../env/trace-collector.js';
import { type Cluster, isReady, podManifest, startCluster } from './cluster.js';

const cleanups = new CleanupStack();
const collector = new TraceCollector();
let cluster: Cluster;

beforeAll(async () => {
  const { endpoint } = await collector.listen();
  cleanups.defer('collector', () => collector.close());
  const { path } = await createTempDir('tracing', { cleanups });
  const file = join(path, 'tracing.yaml');
  const tracing = { endpoint, samplingRatePerMillion: 1_000_000 };
  const head = { apiVersion: 'apiserver.config.k8s.io/v1beta1', kind: 'TracingConfiguration' };
  writeFileSync(file, JSON.stringify({ ...head, ...tracing }));
  cluster = await startCluster({
    plane: { apiServerArgs: [`--tracing-config-file=${file}`] },
    node: { config: { tracing } },
  });
  cleanups.defer('cluster', () => cluster.stop());
  await cluster.apply(podManifest('web', { nodeName: cluster.node.name }));
  await cluster.untilPod('web', 'is ready', isReady);
}, 300_000);
afterAll(() => cleanups.run());

const byAgent = ({ service }: CollectedSpan): boolean => service === 'kubelet';
const targetOf = ({ attributes }: CollectedSpan): string =>
  String(attributes['http.target'] ?? attributes['url.path'] ?? '');

/** The server's span of a request and the node's span of the same, once both have arrived. */
function untilPair(
  method: string,
  path: RegExp,
): Promise<{ readonly server: CollectedSpan; readonly client: CollectedSpan }> {
  return pollUntil(
    `${method} ${path} is traced on both sides`,
    async () => {
      for (const client of collector.spans.filter(byAgent)) {
        if (client.name !== `HTTP ${method}` || !path.test(String(client.attributes['url.path']))) continue;
        const server = collector.spans.find(
          (span) =>
            span.service === 'apiserver' &&
            (span.links.includes(client.traceId) || span.traceId === client.traceId) &&
            path.test(targetOf(span).split('?')[0] ?? ''),
        );
        if (server !== undefined) return { server, client };
      }
      return undefined;
    },
    {
      timeoutMs: 60_000,
      detail: () =>
        collector.spans
          .filter((span) => span.links.length > 0 || byAgent(span))
          .slice(-30)
          .map((span) => `${span.service} ${span.name} ${targetOf(span)} ${span.links.join()}`)
          .join('\n'),
    },
  );
}

describe('the API server', () => {
  it.each([
    ['PATCH', /^\/api\/v1\/namespaces\/default\/pods\/web\/status$/],
    ['POST', /^\/api\/v1\/namespaces\/default\/serviceaccounts\/default\/token$/],
  ])('knows by whom %s %s was asked', async (method, path) => {
    const { server, client } = await untilPair(method, path);
    expect(server.service).toBe('apiserver');
    // A node is not trusted with traces of the server: its own span is linked, and not the parent.
    expect(server.links).toContain(client.traceId);
    expect(server.traceId).not.toBe(client.traceId);
    expect(client.attributes['http.response.status_code']).toBeGreaterThanOrEqual(200);
  });

  it('links every step of the start of a pod to the one trace of it', async () => {
    const { client } = await untilPair('PATCH', /\/pods\/web\/status$/);
    const root = await pollUntil(
      'the start of the pod is traced',
      async () =>
        collector.spans.find(
          ({ name, attributes }) => name === 'startPod' && attributes['k8s.pod.name'] === 'web',
        ),
      { timeoutMs: 60_000 },
    );
    const linked = collector.spans.filter(
      ({ service, links }) => service === 'apiserver' && links.includes(root.traceId),
    );
    expect(collector.spans.some(({ traceId }) => traceId === client.traceId)).toBe(true);
    expect(linked.length).toBeGreaterThan(0);
  });

  it('a request without a trace of ours has no link', () => {
    const ours = new Set(collector.spans.filter(byAgent).map(({ traceId }) => traceId));
    const strangers = collector.spans.filter(
      (span) => span.service === 'apiserver' && targetOf(span).includes('/leases/kube-'),
    );
    for (const { links } of strangers) expect(links.filter((id) => ours.has(id))).toEqual([]);
  });
});
