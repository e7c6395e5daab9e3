/** The node object of a cluster: how it comes to be, what is put right about it, and what is left to others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lease, Node } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import {
  CleanupStack,
  type ClusterNode,
  type ClusterNodeOptions,
  type ControlPlane,
  startClusterNode,
  startContainerd,
  startControlPlane,
  type TestContainerd,
} from '../env/index.js';
import { eventually } from './cluster.js';

const cleanups = new CleanupStack();
let plane: ControlPlane;
let containerd: TestContainerd;
beforeAll(async () => {
  // No pod runs on these nodes, so they can share a runtime.
  containerd = await startContainerd({ cleanups });
  plane = await startControlPlane({ cleanups, controllers: true });
});
afterAll(() => cleanups.run());

const start = (name: string, options: Partial<ClusterNodeOptions> = {}): Promise<ClusterNode> =>
  startClusterNode({ cleanups, plane, containerd, name, ...options });

const nodeOf = (name: string): Promise<Node | undefined> => plane.find(resources.nodes, { name });

const leaseOf = (name: string): Promise<Lease | undefined> =>
  plane.find(resources.leases, { namespace: 'kube-node-lease', name });

const untilNode = (name: string, what: string, wanted: (node: Node) => boolean): Promise<Node> =>
  plane.waitFor(resources.nodes, { name }, what, wanted);

const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

const attachDetach = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** As someone else made it. */
const made = (name: string, node: Partial<Node> = {}): Promise<Node> =>
  plane.admin.create(resources.nodes, { ...node, metadata: { name, ...node.metadata } });

describe.concurrent('a node that is not there', () => {
  it('is made with the labels, taints and identity that it was given, and has a lease at once', async () => {
    const node = await start('fresh', {
      flags: ['--node-labels=shop/rack=r1,node.kubernetes.io/disk=fast'],
      config: {
        registerWithTaints: [{ key: 'shop/only', value: 'batch', effect: 'NoSchedule' }],
        providerID: 'test://fresh',
        maxPods: 42,
        kubeReserved: { cpu: '100m', memory: '64Mi' },
      },
    });
    const { metadata, spec, status } = await untilNode('fresh', 'is ready', isReady);
    await eventually('it has a lease', async () => (await leaseOf('fresh')) !== undefined, 3000);
    const lease = await leaseOf('fresh');
    expect(lease?.spec).toMatchObject({ holderIdentity: 'fresh', leaseDurationSeconds: 40 });
    expect(lease?.metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'fresh', uid: metadata.uid },
    ]);
    const arch = status?.nodeInfo?.architecture;
    expect(metadata.labels).toEqual({
      'beta.kubernetes.io/arch': arch,
      'beta.kubernetes.io/os': 'linux',
      'kubernetes.io/arch': arch,
      'kubernetes.io/hostname': 'fresh',
      'kubernetes.io/os': 'linux',
      'node.kubernetes.io/disk': 'fast',
      'shop/rack': 'r1',
    });
    expect(metadata.annotations?.[attachDetach]).toBe('true');
    expect(spec?.taints).toContainEqual({ key: 'shop/only', value: 'batch', effect: 'NoSchedule' });
    expect(spec?.providerID).toBe('test://fresh');
    expect(status?.addresses).toEqual([
      { type: 'InternalIP', address: node.address },
      { type: 'Hostname', address: 'fresh' },
    ]);
    expect(status?.capacity?.pods).toBe('42');
    expect(milliCpus(status?.capacity?.cpu) - milliCpus(status?.allocatable?.cpu)).toBe(100);
    expect(status?.daemonEndpoints?.kubeletEndpoint?.Port).toBe(node.port);
    expect(status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'MemoryPressure KubeletHasSufficientMemory',
      'DiskPressure KubeletHasNoDiskPressure',
      'PIDPressure KubeletHasSufficientPID',
      'Ready KubeletReady',
    ]);
    expect(status?.nodeInfo).toMatchObject({ operatingSystem: 'linux', kubeProxyVersion: '' });
    expect(status?.nodeInfo?.containerRuntimeVersion).toMatch(/^containerd:\/\/\d+\.\d+/);
    expect(new Set(metadata.managedFields?.map(({ manager }) => manager))).toContain('kubelet');
    await node.remove();
  });

  it('that others shall make is not made, and reported once it is there', async () => {
    const node = await start('given', { config: { registerNode: false } });
    await eventually('it runs', async () => node.log.includes('Pods are synchronized'));
    expect(await nodeOf('given')).toBeUndefined();
    await made('given');
    await untilNode('given', 'is ready', isReady);
    await eventually('it has a lease', async () => (await leaseOf('given')) !== undefined, 3000);
    await node.remove();
  });
});

describe.concurrent('a node that is there already', () => {
  it('is put right, and keeps what others said of it', async () => {
    const before = await made('adopted', {
      metadata: {
        name: 'adopted',
        labels: { 'kubernetes.io/os': 'plan9', 'shop/rack': 'r1', 'shop/note': 'mine' },
        annotations: { 'shop/owner': 'me' },
      },
      spec: {
        taints: [{ key: 'shop/kept', effect: 'NoSchedule' }],
        podCIDR: '10.1.0.0/24',
        podCIDRs: ['10.1.0.0/24'],
      },
    });
    const statusOf = (bootID: string): object => ({
      status: {
        capacity: { 'shop.test/gpu': '2' },
        allocatable: { 'shop.test/gpu': '2' },
        nodeInfo: nodeInfo(bootID),
      },
    });
    await plane.admin.patch(
      resources.nodes,
      { name: 'adopted' },
      { type: 'merge', body: statusOf('another-boot') },
      { subresource: 'status' },
    );
    const node = await start('adopted', {
      flags: ['--node-labels=shop/rack=r2,shop/new=1'],
      config: { registerWithTaints: [{ key: 'shop/not-applied', effect: 'NoSchedule' }] },
    });
    const { metadata, spec, status } = await untilNode('adopted', 'is ready', isReady);
    expect(metadata.uid).toBe(before.metadata.uid);
    expect(metadata.labels).toMatchObject({
      'kubernetes.io/os': 'linux',
      'kubernetes.io/hostname': 'adopted',
      'shop/rack': 'r1',
      'shop/note': 'mine',
    });
    expect(metadata.labels).not.toHaveProperty('shop/new');
    expect(metadata.annotations).toMatchObject({ 'shop/owner': 'me', [attachDetach]: 'true' });
    const keys = spec?.taints?.map(({ key }) => key);
    expect(keys).toContain('shop/kept');
    expect(keys).not.toContain('shop/not-applied');
    // No device is known that would make it up.
    expect([status?.capacity?.['shop.test/gpu'], status?.allocatable?.['shop.test/gpu']]).toEqual(['0', '0']);
    await eventually('the reboot is told', async () => {
      const { items = [] } = await plane.admin.list(resources.events, {
        namespace: 'default',
        fieldSelector: 'involvedObject.name=adopted,reason=Rebooted',
      });
      return items[0]?.message?.startsWith('Node adopted has been rebooted, boot id: ') ?? false;
    });
    await node.remove();
  });

  it('has its labels of the machine restored when someone takes them', async () => {
    const node = await start('labelled', { config: { nodeStatusUpdateFrequency: '2s' } });
    await untilNode('labelled', 'is ready', isReady);
    await plane.kubectl(['label', 'node', 'labelled', 'kubernetes.io/arch-']);
    await untilNode(
      'labelled',
      'has its label',
      ({ metadata }) => metadata.labels?.['kubernetes.io/arch'] !== undefined,
    );
    await node.remove();
  });

  it('has its lease made again when someone deletes it', async () => {
    const node = await start('leased', { config: { nodeLeaseDurationSeconds: 8 } });
    await untilNode('leased', 'is ready', isReady);
    const first = await leaseOf('leased');
    await plane.kubectl(['delete', 'lease', 'leased', '-n', 'kube-node-lease']);
    await eventually('it is there again', async () => {
      const lease = await leaseOf('leased');
      return lease !== undefined && lease.metadata.uid !== first?.metadata.uid;
    });
    expect((await leaseOf('leased'))?.metadata.ownerReferences).toHaveLength(1);
    await node.remove();
  });
});

describe.concurrent('a node that is deleted while it runs', () => {
  it('stays deleted until the agent is started again, and the agent stays up', async () => {
    const node = await start('deleted', {
      config: { nodeStatusUpdateFrequency: '1s', nodeLeaseDurationSeconds: 4 },
    });
    const { metadata } = await untilNode('deleted', 'is ready', isReady);
    await plane.kubectl(['delete', 'node', 'deleted']);
    await plane.waitGone(resources.leases, { namespace: 'kube-node-lease', name: 'deleted' });
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect(await nodeOf('deleted')).toBeUndefined();
    expect(await leaseOf('deleted')).toBeUndefined();
    expect(node.isRunning).toBe(true);
    await node.restart();
    const again = await untilNode('deleted', 'is ready', isReady);
    expect(again.metadata.uid).not.toBe(metadata.uid);
    await eventually('it has a lease', async () => (await leaseOf('deleted')) !== undefined);
    await node.remove();
  });
});

function milliCpus(quantity: string | undefined): number {
  const text = quantity ?? '';
  return text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1000;
}

function nodeInfo(bootID: string): object {
  return {
    machineID: '',
    systemUUID: '',
    bootID,
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
    kubeletVersion: '',
    kubeProxyVersion: '',
    operatingSystem: '',
    architecture: '',
  };
}
