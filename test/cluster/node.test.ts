/** The Node object: what the kubelet says about its machine, how it keeps saying it, and how people take a node out of use. */
import { cpus, release } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lease, type Node, parseQuantity, quantityValue } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { busybox, type Cluster, eventually, forever, isReady, podManifest, startCluster } from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({
    node: {
      config: {
        nodeLeaseDurationSeconds: 4,
        nodeStatusUpdateFrequency: '1s',
        maxPods: 42,
        kubeReserved: { cpu: '100m', memory: '64Mi' },
        systemReserved: { cpu: '50m' },
        registerWithTaints: [{ key: 'nodelet.test/taint', value: 'soft', effect: 'PreferNoSchedule' }],
      },
      flags: ['--node-labels=nodelet.test/pool=blue'],
    },
  });
});
afterAll(() => cluster?.stop());

const current = (): Promise<Node> => cluster.api.get(resources.nodes, { name: cluster.node.name });
const until = (what: string, wanted: (node: Node) => boolean): Promise<Node> =>
  cluster.plane.waitFor(resources.nodes, { name: cluster.node.name }, what, wanted);
const readyCondition = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'Ready');

describe('a node that has joined', () => {
  it('has the labels of its machine and those it was told', async () => {
    expect((await current()).metadata.labels).toEqual({
      'beta.kubernetes.io/arch': 'amd64',
      'beta.kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'kubernetes.io/hostname': cluster.node.name,
      'nodelet.test/pool': 'blue',
    });
  });

  it('has the taints it was registered with', async () => {
    const { spec } = await current();
    expect(spec?.taints).toEqual([{ key: 'nodelet.test/taint', value: 'soft', effect: 'PreferNoSchedule' }]);
  });

  it('is marked for attachments by the controller', async () => {
    const annotations = (await current()).metadata.annotations ?? {};
    expect(annotations['volumes.kubernetes.io/controller-managed-attach-detach']).toBe('true');
  });

  it('shows its conditions', async () => {
    const { status } = await current();
    expect(
      status?.conditions?.map((found) => [found.type, found.status, found.reason, found.message]),
    ).toEqual([
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
      ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ]);
  });

  it('shows what it has and what pods may use of it', async () => {
    const { status } = await current();
    const { capacity = {}, allocatable = {} } = status ?? {};
    expect(capacity).toMatchObject({ cpu: String(cpus().length), pods: '42' });
    expect(Object.keys(capacity).sort()).toEqual(Object.keys(allocatable).sort());
    expect(Object.keys(capacity)).toEqual(
      expect.arrayContaining(['cpu', 'ephemeral-storage', 'memory', 'pods']),
    );
    expect(allocatable.cpu).toBe(`${cpus().length * 1000 - 150}m`);
    const bytes = (text: string | undefined): bigint => quantityValue(parseQuantity(text ?? ''));
    expect(bytes(capacity.memory) - bytes(allocatable.memory)).toBe(64n * 1024n * 1024n);
  });

  it('shows where it is reached', async () => {
    const { status } = await current();
    expect(status?.addresses).toEqual([
      { type: 'InternalIP', address: cluster.node.address },
      { type: 'Hostname', address: cluster.node.name },
    ]);
    expect(status?.daemonEndpoints?.kubeletEndpoint?.Port).toBe(cluster.node.port);
  });

  it('shows what it is made of', async () => {
    const { status } = await current();
    expect(status?.nodeInfo).toMatchObject({
      architecture: 'amd64',
      operatingSystem: 'linux',
      kernelVersion: release(),
      osImage: expect.stringMatching(/Linux/),
      containerRuntimeVersion: expect.stringMatching(/^containerd:\/\/\d/),
      kubeletVersion: expect.stringMatching(/^v1\.37\./),
      bootID: expect.stringMatching(/^[0-9a-f-]{36}$/),
      runningInUserNamespace: false,
    });
    expect(status?.images?.flatMap(({ names }) => names ?? [])).toContain(busybox);
  });

  it('renews its lease', async () => {
    const ref = { namespace: 'kube-node-lease', name: cluster.node.name };
    const lease = (what: string, wanted: (found: Lease) => boolean): Promise<Lease> =>
      cluster.plane.waitFor(resources.leases, ref, what, wanted);
    const { metadata, spec } = await lease('is made', () => true);
    expect(spec).toMatchObject({ holderIdentity: cluster.node.name, leaseDurationSeconds: 4 });
    expect(metadata.ownerReferences).toMatchObject([
      { apiVersion: 'v1', kind: 'Node', name: cluster.node.name },
    ]);
    const before = spec?.renewTime ?? '';
    await lease('is renewed', (found) => (found.spec?.renewTime ?? '') > before);
  });

  it('is not ready while the runtime has no pod network', async () => {
    cluster.node.containerd.setNetworkReady(false);
    const down = await until('is not ready', (node) => readyCondition(node)?.status === 'False');
    expect(readyCondition(down)).toMatchObject({
      reason: 'KubeletNotReady',
      message: expect.stringMatching(
        /^container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:/,
      ),
    });
    cluster.node.containerd.setNetworkReady(true);
    await cluster.node.ready();
  });

  it('is the same after the kubelet has started again, with what others have put on it', async () => {
    const before = await current();
    await cluster.kubectl(
      'label',
      'node',
      cluster.node.name,
      'nodelet.test/other=kept',
      'kubernetes.io/os=wrong',
      '--overwrite',
    );
    await cluster.kubectl('taint', 'node', cluster.node.name, 'nodelet.test/taint-');
    await cluster.node.restart();
    const after = await until(
      'has its labels again',
      ({ metadata }) => metadata.labels?.['kubernetes.io/os'] === 'linux',
    );
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.metadata.labels).toMatchObject({
      'nodelet.test/other': 'kept',
      'nodelet.test/pool': 'blue',
    });
    expect(after.spec?.taints).toBeUndefined();
    await cluster.node.ready();
  });
});

describe('a node that is taken out of use', () => {
  it('gets no pods while it is cordoned', async () => {
    await cluster.kubectl('cordon', cluster.node.name);
    expect(await cluster.kubectl('get', 'node', cluster.node.name, '--no-headers')).toContain(
      'Ready,SchedulingDisabled',
    );
    await cluster.untilEvent(cluster.node.name, 'NodeNotSchedulable');
    await cluster.apply(podManifest('patient'));
    const { message } = await cluster.untilEvent('patient', 'FailedScheduling');
    expect(message).toContain('1 node(s) were unschedulable');
    await cluster.kubectl('uncordon', cluster.node.name);
    await cluster.untilEvent(cluster.node.name, 'NodeSchedulable');
    await cluster.untilReady('patient');
    await cluster.delete('patient');
  });

  it('is drained', async () => {
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'moves', namespace: 'default' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'moves' } },
        template: {
          metadata: { labels: { app: 'moves' } },
          spec: {
            terminationGracePeriodSeconds: 5,
            volumes: [{ name: 'work', emptyDir: {} }],
            containers: [
              {
                name: 'app',
                image: busybox,
                command: forever,
                volumeMounts: [{ name: 'work', mountPath: '/w' }],
              },
            ],
          },
        },
      },
    });
    await cluster.kubectl('rollout', 'status', 'deployment/moves', '--timeout=60s');
    const before = await cluster.pods('app=moves');
    const output = await cluster.kubectl(
      'drain',
      cluster.node.name,
      '--delete-emptydir-data',
      '--timeout=60s',
    );
    expect(output).toContain(`node/${cluster.node.name} drained`);
    await Promise.all(before.map(({ metadata }) => cluster.untilGone(metadata.name)));
    const after = await cluster.pods('app=moves');
    expect(after.map(({ status }) => status?.phase)).toEqual(['Pending', 'Pending']);
    await cluster.kubectl('uncordon', cluster.node.name);
    await eventually('the pods run again', async () => (await cluster.pods('app=moves')).every(isReady));
  });
});
