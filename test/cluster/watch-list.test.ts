/** How a node gets its objects from a real API server: by streams where the server has them, by lists where it does not. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { CleanupStack, createTempDir, pollUntil } from '../env/index.js';
import { newerEtcdProgram } from '../env/newer-etcd.js';
import { busybox, type Cluster, forever, isReady, podManifest, startCluster } from './cluster.js';

const cleanups = new CleanupStack();
// It may have to be built, which takes longer than a test may.
beforeAll(async () => void (await newerEtcdProgram()));
afterEach(() => cleanups.run());

interface AuditedRequest {
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly code: number;
}

interface AuditedCluster {
  readonly cluster: Cluster;
  /** The node's requests for all objects of a resource. */
  requests(resource: string): AuditedRequest[];
}

async function startAudited({
  etcd,
  args = [],
  featureGates = {},
}: {
  readonly etcd: 'packaged' | 'newer';
  readonly args?: readonly string[];
  readonly featureGates?: Readonly<Record<string, boolean>>;
}): Promise<AuditedCluster> {
  const { path } = await createTempDir('audit', { cleanups });
  const [policy, log] = [join(path, 'policy.yaml'), join(path, 'audit.log')];
  writeFileSync(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n');
  const cluster = await startCluster({
    plane: {
      etcd,
      controllers: false,
      scheduler: false,
      apiServerArgs: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, ...args],
    },
    node: { config: { featureGates } },
  });
  cleanups.defer('cluster', () => cluster.stop());
  await cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace: 'default' },
      data: { a: '1' },
    },
  );
  const user = `system:node:${cluster.node.name}`;
  const requests = (resource: string): AuditedRequest[] =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.includes(user))
      .map((line) => JSON.parse(line))
      .filter(({ user: by, objectRef, stage, verb }) => {
        // A watch is answered when it begins, a list when it is complete.
        const answered = verb === 'watch' ? 'ResponseStarted' : verb === 'list' ? 'ResponseComplete' : '';
        return by.username === user && objectRef?.resource === resource && stage === answered;
      })
      .map(({ verb, requestURI, responseStatus }) => ({
        verb,
        query: new URL(requestURI, 'https://server').searchParams,
        code: responseStatus?.code ?? 0,
      }));
  return { cluster, requests };
}

async function runPod(cluster: Cluster): Promise<void> {
  const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'a' } } }];
  await cluster.apply(
    podManifest('a', {
      nodeName: cluster.node.name,
      automountServiceAccountToken: false,
      containers: [{ name: 'app', image: busybox, command: forever, env }],
    }),
  );
  await cluster.untilPod('a', 'is ready', isReady);
}

it('a server that streams is never asked for a list', async () => {
  const { cluster, requests } = await startAudited({ etcd: 'newer' });
  await runPod(cluster);
  for (const resource of ['pods', 'configmaps', 'nodes', 'services']) {
    await pollUntil(`${resource} are watched`, async () => requests(resource).length > 0 || undefined, {
      timeoutMs: 30_000,
    });
    const [first, ...more] = requests(resource);
    expect([resource, first?.verb, first?.query.get('sendInitialEvents')]).toEqual([
      resource,
      'watch',
      'true',
    ]);
    expect(first?.query.get('resourceVersionMatch')).toBe('NotOlderThan');
    expect(first?.query.get('allowWatchBookmarks')).toBe('true');
    expect(first?.query.has('resourceVersion')).toBe(false);
    expect([resource, more.filter(({ verb }) => verb === 'list')]).toEqual([resource, []]);
  }
  expect(requests('pods').map(({ code }) => code)).toEqual([200]);
  expect(await cluster.kubectl('get', '--raw', '/metrics')).toMatch(
    /apiserver_watch_list_duration_seconds_count\{[^}]*resource="pods"/,
  );
}, 300_000);

it('a server without WatchList refuses, and is listed and watched', async () => {
  const { cluster, requests } = await startAudited({
    etcd: 'newer',
    args: ['--feature-gates=WatchList=false'],
  });
  await runPod(cluster);
  const [refused, list, watch] = requests('pods');
  expect([refused?.verb, refused?.query.get('sendInitialEvents'), refused?.code]).toEqual([
    'watch',
    'true',
    422,
  ]);
  expect([list?.verb, list?.query.get('resourceVersion'), list?.code]).toEqual(['list', '0', 200]);
  expect([watch?.verb, watch?.query.has('sendInitialEvents'), watch?.code]).toEqual(['watch', false, 200]);
  expect(cluster.node.log).not.toContain('sendInitialEvents');
}, 300_000);

it('a server whose etcd is too old refuses within the stream, and is listed and watched', async () => {
  const { cluster, requests } = await startAudited({ etcd: 'packaged' });
  await runPod(cluster);
  expect(requests('pods').map(({ verb, query }) => [verb, query.has('sendInitialEvents')])).toEqual([
    ['watch', true],
    ['list', false],
    ['watch', false],
  ]);
  expect(cluster.node.log).not.toContain('RequestWatchProgress');
}, 300_000);

it('a node without WatchListClient lists and watches', async () => {
  const { cluster, requests } = await startAudited({
    etcd: 'newer',
    featureGates: { WatchListClient: false },
  });
  await runPod(cluster);
  expect(requests('pods').map(({ verb, query }) => [verb, query.has('sendInitialEvents')])).toEqual([
    ['list', false],
    ['watch', false],
  ]);
  expect(cluster.node.log).not.toContain('featureGates.WatchListClient');
}, 300_000);
