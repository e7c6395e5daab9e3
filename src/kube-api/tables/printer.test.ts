import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/types/index.js';
import { servedKinds } from '../kinds/kinds.js';
import { tablePrinter } from './printer.js';

const nowMs = Date.parse('2030-01-01T00:10:00Z');
const created = '2030-01-01T00:00:00Z';
const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } };
const selector = { matchLabels: { app: 'a' } };

function rowOf(plural: string, object: object): Record<string, unknown> {
  const kind = servedKinds.find(({ resource }) => resource.plural === plural);
  if (kind === undefined) throw new Error(`${plural} are not served`);
  const given: KubeObject = {
    metadata: { name: 'x', namespace: 'n', creationTimestamp: created },
    ...object,
  };
  const table = tablePrinter.table(kind, [given], { nowMs, include: 'Metadata', withColumns: true });
  const names = (table.columnDefinitions as { name: string }[]).map(({ name }) => name);
  const [row] = table.rows as { cells: unknown[] }[];
  expect(row?.cells).toHaveLength(names.length);
  return Object.fromEntries(names.map((name, at) => [name, row?.cells[at]]));
}

it.each<[plural: string, object: object, cells: object]>([
  [
    'pods',
    {
      spec: { nodeName: 'vm', containers: [{ name: 'c' }] },
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        containerStatuses: [
          {
            name: 'c',
            ready: true,
            restartCount: 2,
            state: { running: {} },
            lastState: { terminated: { finishedAt: '2030-01-01T00:09:00Z' } },
          },
        ],
      },
    },
    {
      Ready: '1/1',
      Status: 'Running',
      Restarts: '2 (60s ago)',
      Age: '10m',
      IP: '10.0.0.1',
      Node: 'vm',
      'Readiness Gates': '<none>',
    },
  ],
  [
    'pods',
    { metadata: { name: 'x', deletionTimestamp: created }, spec: { containers: [] } },
    { Status: 'Terminating' },
  ],
  [
    'deployments',
    {
      spec: { replicas: 3, selector, template },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    },
    { Ready: '2/3', 'Up-to-date': 3, Available: 1, Containers: 'c', Images: 'i:1', Selector: 'app=a' },
  ],
  ['deployments', { spec: { selector, template } }, { Ready: '0/1', 'Up-to-date': 0 }],
  [
    'replicasets',
    { spec: { replicas: 2, selector, template }, status: { replicas: 1 } },
    { Desired: 2, Current: 1, Ready: 0 },
  ],
  [
    'statefulsets',
    { spec: { replicas: 2, selector, template }, status: { replicas: 2, readyReplicas: 2 } },
    { Ready: '2/2' },
  ],
  ['daemonsets', { spec: { selector, template } }, { Desired: 0, 'Node Selector': '<none>' }],
  [
    'jobs',
    { spec: { completions: 2, template }, status: { succeeded: 1, startTime: '2030-01-01T00:09:00Z' } },
    { Status: 'Running', Completions: '1/2', Duration: '60s' },
  ],
  [
    'jobs',
    { spec: { parallelism: 3, template }, status: { conditions: [{ type: 'Complete', status: 'True' }] } },
    { Status: 'Complete', Completions: '0/1 of 3', Duration: '' },
  ],
  [
    'cronjobs',
    {
      spec: { schedule: '* * * * *', jobTemplate: { spec: { template } } },
      status: { lastScheduleTime: '2030-01-01T00:09:30Z' },
    },
    { Schedule: '* * * * *', Timezone: '<none>', Suspend: 'False', Active: 0, 'Last Schedule': '30s' },
  ],
  [
    'nodes',
    {
      metadata: { name: 'x', labels: { 'node-role.kubernetes.io/control-plane': '' } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [{ type: 'InternalIP', address: '1.2.3.4' }],
        nodeInfo: { kubeletVersion: 'v1.37.1' },
      },
    },
    {
      Status: 'Ready,SchedulingDisabled',
      Roles: 'control-plane',
      Version: 'v1.37.1',
      'Internal-IP': '1.2.3.4',
      Age: '<unknown>',
    },
  ],
  ['nodes', {}, { Status: 'Unknown', Roles: '<none>' }],
  [
    'services',
    {
      spec: {
        clusterIP: '10.96.0.1',
        ports: [{ port: 443 }, { port: 80, nodePort: 30080, protocol: 'UDP' }],
      },
    },
    { Type: 'ClusterIP', 'Port(s)': '443/TCP,80:30080/UDP', 'External-IP': '<none>' },
  ],
  ['secrets', { type: 'Opaque', data: { a: '' } }, { Type: 'Opaque', Data: 1 }],
  ['configmaps', { data: { a: '' }, binaryData: { b: '' } }, { Data: 2 }],
  ['namespaces', { status: { phase: 'Active' } }, { Status: 'Active' }],
  [
    'events',
    {
      involvedObject: { kind: 'Pod', name: 'p' },
      reason: 'Started',
      type: 'Normal',
      message: 'up ',
      lastTimestamp: '2030-01-01T00:09:30Z',
    },
    { 'Last Seen': '30s', Object: 'pod/p', Message: 'up', Count: '1' },
  ],
  [
    'persistentvolumes',
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        claimRef: { namespace: 'n', name: 'c' },
      },
      status: { phase: 'Bound' },
    },
    { Capacity: '1Gi', 'Access Modes': 'RWO', Claim: 'n/c', Status: 'Bound' },
  ],
  [
    'persistentvolumeclaims',
    { spec: {}, status: { phase: 'Pending' } },
    { Status: 'Pending', Volume: '', Capacity: '' },
  ],
  [
    'endpointslices',
    {
      addressType: 'IPv4',
      endpoints: ['1', '2', '3', '4'].map((one) => ({ addresses: [`10.0.0.${one}`] })),
      ports: [{ port: 80 }],
    },
    { Ports: '80', Endpoints: '10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...' },
  ],
  ['csinodes', {}, { Age: '10m' }],
])('%s %#', (plural, object, cells) => {
  expect(rowOf(plural, object)).toMatchObject(cells);
});

it('every kind prints an object with nothing but metadata without a failure, or is validated to have more', () => {
  for (const { resource } of servedKinds) {
    const bare = {
      spec: { template, selector, jobTemplate: { spec: { template } }, schedule: '', containers: [] },
      endpoints: [],
      involvedObject: {},
    };
    expect(rowOf(resource.plural, bare)).toBeDefined();
  }
});
