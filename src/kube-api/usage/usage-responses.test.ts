import { beforeEach, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/types/index.js';
import { resources } from '../../kube-client/resources.js';
import { Discovery } from '../http/discovery.js';
import { ApiHandler } from '../http/handler.js';
import { openApiResponses } from '../http/openapi-responses.js';
import { ServedApi } from '../server.js';
import { tablePrinter } from '../tables/printer.js';
import type { MeasuredUsage, NodeUsage } from './contracts.js';
import { usageKinds } from './usage-kinds.js';
import { usageResponses } from './usage-responses.js';

const atMs = Date.UTC(2030, 0, 1);
const usage = (more: Partial<MeasuredUsage> = {}): MeasuredUsage => ({
  atMs,
  windowMs: 15_062,
  cpuNanoCores: 1_234_567,
  memoryBytes: 3 * 1024 * 1024,
  ...more,
});

let handler: ApiHandler;
let measured: { node: NodeUsage['node']; pods: Map<string, Map<string, MeasuredUsage>> };

beforeEach(async () => {
  const api = new ServedApi({ clock: new VirtualClock(atMs) });
  const kinds = [...api.kinds, ...usageKinds];
  measured = { node: usage({ cpuNanoCores: 2e9 }), pods: new Map() };
  const reader = { nodeName: 'vm', read: () => Promise.resolve(measured) };
  handler = new ApiHandler({
    api,
    discovery: new Discovery({ kinds, posted: [], serverAddress: '127.0.0.1:6443' }),
    printer: tablePrinter,
    others: [
      openApiResponses({ kinds, kubernetesVersion: 'v1.37.1' }),
      usageResponses({ api, reader, printer: tablePrinter }),
    ],
  });
  for (const name of ['vm', 'gone']) await api.create(resources.nodes, { metadata: { name } }, undefined);
  for (const namespace of ['default', 'other']) {
    await api.create(resources.namespaces, { metadata: { name: namespace } }, undefined);
    await api.create(resources.serviceAccounts, { metadata: { name: 'default' } }, namespace);
  }
  const pod = async (
    name: string,
    namespace: string,
    annotations?: Record<string, string>,
  ): Promise<string> => {
    const object = {
      metadata: { name, labels: { app: name }, ...(annotations === undefined ? {} : { annotations }) },
      spec: { containers: [{ name: 'app', image: 'busybox' }] },
    };
    // The server completes what a new pod lacks.
    const created = await api.create(resources.pods, object as unknown as Pod, namespace);
    return created.metadata.uid;
  };
  const web = await pod('web', 'default');
  await pod('new', 'default');
  await pod('static', 'default', { 'kubernetes.io/config.mirror': 'hash' });
  const far = await pod('far', 'other');
  measured.pods.set(
    web,
    new Map([
      ['app', usage()],
      ['side', usage({ atMs: atMs - 5_000, windowMs: 60_000, cpuNanoCores: 0, memoryBytes: 1000 })],
    ]),
  );
  measured.pods.set('hash', new Map([['app', usage()]]));
  measured.pods.set(far, new Map([['app', usage()]]));
});

const root = '/apis/metrics.k8s.io/v1beta1';

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of any response.
async function ask(target: string, accept = '', method = 'GET'): Promise<{ status: number; body: any }> {
  const [path = '', query = ''] = target.split('?');
  const response = await handler.handle({
    method,
    path,
    query: new URLSearchParams(query),
    headers: { accept },
    user: { name: 'owner', groups: ['system:masters'] },
  });
  return { status: response.status, body: JSON.parse(String(response.body)) };
}

it('a pod has the usage of its containers, and the time of the earliest of them', async () => {
  expect(await ask(`${root}/namespaces/default/pods/web`)).toEqual({
    status: 200,
    body: {
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'PodMetrics',
      metadata: {
        name: 'web',
        namespace: 'default',
        creationTimestamp: '2030-01-01T00:00:00Z',
        labels: { app: 'web' },
      },
      timestamp: '2029-12-31T23:59:55Z',
      window: '1m0s',
      containers: [
        { name: 'app', usage: { cpu: '1234567n', memory: '3Mi' } },
        { name: 'side', usage: { cpu: '0', memory: '1k' } },
      ],
    },
  });
});

it('a node has the usage of all that runs on it', async () => {
  expect((await ask(`${root}/nodes/vm`)).body).toMatchObject({
    kind: 'NodeMetrics',
    timestamp: '2030-01-01T00:00:00Z',
    window: '15.062s',
    usage: { cpu: '2', memory: '3Mi' },
  });
});

const names = (items: { metadata: { name: string } }[]): string[] =>
  items.map(({ metadata }) => metadata.name);

it.each([
  ['all pods that are measured', 'pods', ['far', 'static', 'web']],
  ['of one namespace', 'namespaces/other/pods', ['far']],
  ['by label', 'pods?labelSelector=app%3Dweb', ['web']],
  ['by more than one label value', 'pods?labelSelector=app+in+(web,far)', ['far', 'web']],
  ['by name', 'pods?fieldSelector=metadata.name%3Dstatic', ['static']],
  ['nodes without those of another machine', 'nodes', ['vm']],
])('lists %s', async (_what, path, wanted) => {
  const { status, body } = await ask(`${root}/${path}`);
  expect(status).toBe(200);
  expect(body.kind).toBe(path === 'nodes' ? 'NodeMetricsList' : 'PodMetricsList');
  expect(names(body.items).sort()).toEqual(wanted);
});

it('a node that is not measured yet is left out', async () => {
  measured.node = undefined;
  expect((await ask(`${root}/nodes`)).body.items).toEqual([]);
  expect((await ask(`${root}/nodes/vm`)).body.message).toBe('nodemetrics.metrics.k8s.io "vm" not found');
});

it.each([
  [
    'a pod without statistics',
    'GET',
    'namespaces/default/pods/new',
    404,
    'podmetrics.metrics.k8s.io "new" not found',
  ],
  ['a pod of another namespace', 'GET', 'namespaces/other/pods/web', 404, '"web" not found'],
  ['a subresource', 'GET', 'namespaces/default/pods/web/log', 404, 'could not find the requested resource'],
  ['a watch', 'GET', 'pods?watch=true', 405, 'does not allow this method'],
  ['a creation', 'POST', 'namespaces/default/pods', 405, 'does not allow this method'],
  ['a deletion', 'DELETE', 'namespaces/default/pods/web', 405, 'does not allow this method'],
  ['a bad selector', 'GET', 'pods?labelSelector=%21%21', 400, 'unable to parse requirement'],
])('refuses %s', async (_what, method, path, status, message) => {
  const answer = await ask(`${root}/${path}`, '', method);
  expect(answer.status).toBe(status);
  expect(answer.body.message).toContain(message);
});

it('prints a table', async () => {
  const { body } = await ask(
    `${root}/namespaces/default/pods/web`,
    'application/json;as=Table;v=v1;g=meta.k8s.io',
  );
  expect(
    body.columnDefinitions.map(({ name, format }: { name: string; format: string }) => [name, format]),
  ).toEqual([
    ['Name', 'name'],
    ['cpu', 'quantity'],
    ['memory', 'quantity'],
    ['Window', 'duration'],
  ]);
  expect(body.rows[0].cells).toEqual(['web', '1234567n', '3146728', '1m0s']);
});

it('is found, and can only be read', async () => {
  const { body } = await ask(root);
  expect(body.resources).toEqual([
    expect.objectContaining({
      name: 'nodes',
      kind: 'NodeMetrics',
      namespaced: false,
      verbs: ['get', 'list'],
    }),
    expect.objectContaining({ name: 'pods', kind: 'PodMetrics', namespaced: true, verbs: ['get', 'list'] }),
  ]);
  const { paths, components } = (await ask('/openapi/v3/apis/metrics.k8s.io/v1beta1')).body;
  expect(Object.keys(paths[`${root}/namespaces/{namespace}/pods`])).toEqual(['get', 'parameters']);
  expect(components.schemas).toHaveProperty(['io.k8s.metrics.pkg.apis.metrics.v1beta1.ContainerMetrics']);
});
