/** Volumes of in-tree plugins on a node: what the driver in their place is asked, and what is on disk. */
import { afterEach, expect, it } from 'vitest';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { CsiCluster } from './csi-cluster.js';

let cluster: CsiCluster;
afterEach(() => cluster.manager.stop());

it('a PersistentVolume goes to the driver, and its calls are counted as migrated', async () => {
  cluster = await CsiCluster.start('ebs.csi.aws.com');
  await cluster.claim('c', { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1', fsType: 'ext4' } });
  const pod = cluster.pod('u1', 'c');
  expect(await cluster.sync(pod)).toBe('mounted');
  const [stage] = cluster.driver.requests<NodeStageVolumeRequest>('nodeStageVolume');
  expect(stage).toMatchObject({ volumeId: 'vol-1', volumeContext: { partition: '0' } });
  expect(stage?.volumeCapability?.accessType?.value).toMatchObject({ fsType: 'ext4' });
  expect(cluster.manager.volumeDirectory(pod, 'data')).toBe(
    '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/pv-c/mount',
  );
  await cluster.end(pod);
  expect(cluster.driver.log()).toEqual([
    'nodeStageVolume',
    'nodePublishVolume',
    'nodeUnpublishVolume',
    'nodeUnstageVolume',
  ]);
  const calls = cluster.registry.text();
  for (const [method, migrated] of [
    ['NodeStageVolume', true],
    ['NodePublishVolume', true],
    ['NodeUnpublishVolume', false],
    ['NodeUnstageVolume', false],
  ]) {
    expect(calls).toContain(
      `csi_operations_seconds_count{driver_name="ebs.csi.aws.com",method_name="/csi.v1.Node/${method}",grpc_status_code="OK",migrated="${migrated}"} 1`,
    );
  }
  for (const [operation, migrated] of [
    ['volume_mount', true],
    ['volume_unmount', false],
    ['unmount_device', false],
  ]) {
    expect(calls).toContain(
      `storage_operation_duration_seconds_count{volume_plugin="kubernetes.io/csi:ebs.csi.aws.com",operation_name="${operation}",status="success",migrated="${migrated}"} 1`,
    );
  }
  expect(calls).toContain(
    'volume_operation_total_seconds_count{plugin_name="kubernetes.io/csi:ebs.csi.aws.com",operation_name="overall_volume_mount"} 1',
  );
});

it('a PersistentVolume grows', async () => {
  cluster = await CsiCluster.start('ebs.csi.aws.com');
  await cluster.claim('c', { awsElasticBlockStore: { volumeID: 'vol-1' } });
  const pod = cluster.pod('u1', 'c');
  await cluster.sync(pod);
  await cluster.grow('c', '2Gi');
  await cluster.sync(pod);
  expect(cluster.driver.sizes.get('vol-1')).toBe(2 * 1024 ** 3);
});

it('a pod waits for the driver of its cloud', async () => {
  cluster = await CsiCluster.start();
  await cluster.claim('c', { awsElasticBlockStore: { volumeID: 'vol-1' } });
  expect(await cluster.sync(cluster.pod('u1', 'c'))).toContain('unmounted volumes=[data]');
  expect(cluster.events()[0]).toBe(
    'FailedMount MountVolume.MountDevice failed for volume "pv-c" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers',
  );
});

it('a volume in a pod is read-only where the pod says so, and is shared by pods of the node', async () => {
  cluster = await CsiCluster.start('pd.csi.storage.gke.io');
  const source = { gcePersistentDisk: { pdName: 'pd', readOnly: true } };
  const [a, b] = [cluster.podWith('u1', source), cluster.podWith('u2', source)];
  expect(await cluster.sync(a)).toBe('mounted');
  expect(await cluster.sync(b)).toBe('mounted');
  const [publish] = cluster.driver.requests<NodePublishVolumeRequest>('nodePublishVolume');
  expect(publish).toMatchObject({
    volumeId: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd',
    readonly: true,
    targetPath: '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/pd.csi.storage.gke.io-pd/mount',
    volumeCapability: { accessMode: { mode: 3 } },
  });
  expect(cluster.driver.log()).toEqual(['nodeStageVolume', 'nodePublishVolume', 'nodePublishVolume']);
});

it('a volume whose name is a path has one directory, and is found and removed after a restart', async () => {
  cluster = await CsiCluster.start('disk.csi.azure.com');
  const pod = cluster.podWith('u1', { azureDisk: { diskName: 'd', diskURI: '/subscriptions/s/../d' } });
  expect(await cluster.sync(pod)).toBe('mounted');
  expect(cluster.manager.volumeDirectory(pod, 'data')).toBe(
    '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/~subscriptions~s~..~d/mount',
  );
  await cluster.restart();
  await cluster.end(pod);
  expect(cluster.driver.log().slice(-2)).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
  expect(await cluster.driver.volumes.mounted()).toEqual(new Map());
});
