/** A node with an API server of the minor version before its own: it joins, runs pods, and is quiet about what is missing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Node } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { olderKubernetesVersion } from '../env/control-plane-binaries.js';
import { type Cluster, isReady, podManifest, startCluster } from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({
    // Controllers may not be newer than the server, so what they would make is made here.
    plane: { apiServerVersion: olderKubernetesVersion, controllers: false, scheduler: false },
    node: { config: { nodeStatusUpdateFrequency: '1s', nodeStatusReportFrequency: '5m' } },
  });
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default', namespace: 'default' },
  });
});
afterAll(() => cluster?.stop());

const node = (): Promise<Node> => cluster.api.get(resources.nodes, { name: cluster.node.name });
const placed = (name: string, spec: object = {}) =>
  podManifest(name, { nodeName: cluster.node.name, automountServiceAccountToken: false, ...spec });

describe('a node of a newer version', () => {
  it('joins, and says its own version', async () => {
    expect(await cluster.kubectl('version', '-o', 'json')).toContain(`"v${olderKubernetesVersion}"`);
    expect((await node()).status?.nodeInfo?.kubeletVersion).toMatch(/^v1\.37\./);
  });

  it('runs a pod, and ends it', async () => {
    await cluster.apply(placed('plain'));
    const pod = await cluster.untilPod('plain', 'is ready', isReady);
    expect(pod.status?.phase).toBe('Running');
    await cluster.kubectl('delete', 'pod', 'plain', '--wait=false');
    await cluster.untilGone('plain');
  });

  it('does not report again and again what the server does not store', async () => {
    const { status } = await node();
    expect(status?.nodeInfo).not.toHaveProperty('runningInUserNamespace');
    // The first report after the start may change something; its answer shows what the server drops.
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    const before = (await node()).metadata.resourceVersion;
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    expect((await node()).metadata.resourceVersion).toBe(before);
  });
});
