/** Dynamic resources on a real control plane, with the driver that Kubernetes tests itself with. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GrpcConnection } from '../../src/grpc/index.js';
import { resources } from '../../src/kube-client/index.js';
import { PodResourcesLister } from '../../src/resources/pod-resources/index.js';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { CleanupStack, startContainerd } from '../env/index.js';
import { busybox, type Cluster, eventually, forever, podManifest, startCluster } from './cluster.js';

const driverName = 'test-driver.cdi.k8s.io';
let cluster: Cluster;
let cdiDir: string;
const cleanups = new CleanupStack();
let stopDriver: ((signal?: 'SIGTERM' | 'SIGKILL') => Promise<void>) | undefined;

beforeAll(async () => {
  // Only the newer runtime adds the devices of claims to containers.
  const containerd = await startContainerd({ cleanups, release: 'newer' });
  cluster = await startCluster({ node: { containerd, config: { nodeStatusUpdateFrequency: '2s' } } });
  cdiDir = containerd.layout.cdiSpecDir;
  await startDriver();
  await cluster.apply({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'DeviceClass',
    metadata: { name: 'example' },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driverName}"` } }] },
  });
}, 900_000);
afterAll(async () => {
  await stopDriver?.();
  await cluster?.stop();
  await cleanups.run();
});

async function startDriver(): Promise<void> {
  const program = await controlPlaneProgram('dra-test-driver');
  const { rootDir, name } = cluster.node;
  mkdirSync(path.join(rootDir, 'plugins', driverName), { recursive: true });
  mkdirSync(cdiDir, { recursive: true });
  const child = spawn(
    program,
    [
      'kubelet-plugin',
      `--node-name=${name}`,
      `--kubeconfig=${cluster.plane.adminKubeconfig}`,
      `--plugin-registration-path=${path.join(rootDir, 'plugins_registry')}`,
      `--datadir=${path.join(rootDir, 'plugins')}`,
      `--cdi-dir=${cdiDir}`,
    ],
    { stdio: 'ignore', env: {} },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  stopDriver = async (signal = 'SIGTERM') => {
    stopDriver = undefined;
    child.kill(signal);
    await ended;
  };
}

const slices = async (): Promise<number> => (await cluster.api.list(resources.resourceSlices)).items.length;
const prepared = (): string[] => readdirSync(cdiDir).filter((name) => name.startsWith(driverName));

const template = (name: string): object => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaimTemplate',
  metadata: { name, namespace: 'default' },
  spec: { spec: { devices: { requests: [{ name: 'req', exactly: { deviceClassName: 'example' } }] } } },
});
const pod = (name: string, claim: object) =>
  podManifest(name, {
    resourceClaims: [{ name: 'gpu', ...claim }],
    containers: [{ name: 'app', image: busybox, command: forever, resources: { claims: [{ name: 'gpu' }] } }],
    terminationGracePeriodSeconds: 1,
  });

describe('the test driver of Kubernetes', () => {
  it('registers, and publishes its devices', async () => {
    await eventually('its slice is there', async () => (await slices()) === 1);
  });

  it('prepares the claim of a pod before it runs, and unprepares it when it has gone', async () => {
    await cluster.apply(template('one'), pod('solo', { resourceClaimTemplateName: 'one' }));
    await cluster.untilReady('solo');
    expect(prepared()).toHaveLength(1);

    const client = new GrpcConnection(path.join(cluster.node.rootDir, 'pod-resources/kubelet.sock'));
    const listed = await client.unary(PodResourcesLister.get, { podName: 'solo', podNamespace: 'default' });
    client.close();
    const [claim] = listed.podResources?.containers[0]?.dynamicResources ?? [];
    expect(claim?.claimResources[0]).toMatchObject({ driverName, poolName: cluster.node.name });
    expect(claim?.claimResources[0]?.cdiDevices[0]?.name).toMatch(
      new RegExp(`^${driverName}/test=claim-.*-req$`),
    );
    // What the driver describes of the device, seen by the container.
    const variables = Object.entries(await cluster.environment('solo'));
    expect(variables.filter(([name]) => name.startsWith('claim_'))).toEqual([
      [expect.stringMatching(/^claim_solo_gpu_.*_req$/), 'true'],
    ]);

    await cluster.kubectl('delete', 'pod', 'solo');
    await eventually('nothing is prepared', async () => prepared().length === 0);
  });

  it('that was killed keeps a pod waiting, and the pod says so and starts when it is back', async () => {
    // Its slices stay for a while, so that the pod is still bound to the node.
    await stopDriver?.('SIGKILL');
    await cluster.apply(template('late'), pod('late', { resourceClaimTemplateName: 'late' }));
    const { message } = await cluster.untilEvent('late', 'FailedPrepareDynamicResources');
    expect(message).toMatch(
      /^Failed to prepare dynamic resources: prepare dynamic resources: NodePrepareResources: rpc error/,
    );
    await startDriver();
    await cluster.untilReady('late');
    await cluster.kubectl('delete', 'pod', 'late');
    await eventually('nothing is prepared', async () => prepared().length === 0);
  });

  it('prepares a shared claim once, and keeps it while one of its pods is there', async () => {
    await cluster.apply(
      {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceClaim',
        metadata: { name: 'shared', namespace: 'default' },
        spec: { devices: { requests: [{ name: 'req', exactly: { deviceClassName: 'example' } }] } },
      },
      pod('first', { resourceClaimName: 'shared' }),
      pod('second', { resourceClaimName: 'shared' }),
    );
    await cluster.untilReady('first');
    await cluster.untilReady('second');
    expect(prepared()).toHaveLength(1);
    await cluster.kubectl('delete', 'pod', 'first');
    expect(prepared()).toHaveLength(1);
    await cluster.node.kill9();
    await cluster.node.start();
    await cluster.node.ready();
    expect(prepared()).toHaveLength(1);
    await cluster.kubectl('delete', 'pod', 'second');
    await eventually('nothing is prepared', async () => prepared().length === 0);
  });
});
