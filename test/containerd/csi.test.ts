/** Pods that use volumes of a storage driver, on a real containerd: they read and write, and outlive agent and driver. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { TestCsiDriver } from '../env/csi-driver.js';
import { mountsBelow } from '../env/mounts.js';
import { eventually } from './agent.js';
import { createVolumeNode, podWithVolumes, type VolumeNode } from './volume-node.js';

let on: VolumeNode;
let driver: TestCsiDriver;

beforeAll(async () => {
  on = await createVolumeNode({ config: { volumeStatsAggPeriod: '1s' } });
  driver = new TestCsiDriver({
    rootDir: on.node.root,
    dataDir: path.join(on.node.dir, 'csi-data'),
    name: 'd.test',
  });
  for (const name of ['one', 'two']) {
    await on.putObject(`${name}.json`, {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        {
          apiVersion: 'v1',
          kind: 'PersistentVolume',
          metadata: { name: `pv-${name}` },
          spec: {
            capacity: { storage: '1Gi' },
            accessModes: ['ReadWriteOnce'],
            claimRef: { namespace: 'default', name, uid: `uid-${name}` },
            csi: { driver: 'd.test', volumeHandle: `vol-${name}`, volumeAttributes: { kind: 'plain' } },
          },
        },
        {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: { name, namespace: 'default', uid: `uid-${name}` },
          spec: { volumeName: `pv-${name}`, accessModes: ['ReadWriteOnce'] },
          status: { phase: 'Bound' },
        },
      ],
    });
  }
  await on.start();
  await driver.start();
  await eventually('the driver is registered', async () =>
    driver.told.some((status) => status.pluginRegistered),
  );
});
afterEach(() => {
  driver.mend();
  driver.calls.length = 0;
});
afterAll(async () => {
  await driver?.stop();
  await on?.node.stop();
});

const claimPod = (name: string, claimName: string) =>
  podWithVolumes(name, [{ name: 'data', persistentVolumeClaim: { claimName } }], {
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  });
const log = (): string[] => driver.log().filter((call) => !call.startsWith('nodeGet'));
const stagedMounts = (): string[] =>
  mountsBelow(path.join(on.node.root, 'plugins')).map(({ mountPoint }) => mountPoint);

it('two pods share a volume, which is unstaged after the last', async () => {
  await on.node.apply('writer.yaml', claimPod('writer', 'one'));
  await on.node.untilReady('writer');
  await on.inside('writer', 'echo from-writer > /data/file');
  await on.node.apply('reader.yaml', claimPod('reader', 'one'));
  await on.node.untilReady('reader');
  expect(await on.inside('reader', 'cat /data/file')).toBe('from-writer');
  await eventually('the summary shows how full it is', async () => {
    const { pods } = JSON.parse(await on.node.get('/stats/summary'));
    const volumes: { pvcRef?: { name: string }; capacityBytes?: number }[] = pods.flatMap(
      (pod: { volume?: object[] }) => pod.volume ?? [],
    );
    return volumes.some(({ pvcRef, capacityBytes = 0 }) => pvcRef?.name === 'one' && capacityBytes > 0);
  });
  expect(await readFile(path.join(await driver.content('vol-one'), 'file'), 'utf8')).toBe('from-writer\n');
  await on.removeWholly('writer');
  expect(await on.inside('reader', 'cat /data/file')).toBe('from-writer');
  await on.removeWholly('reader');
  await eventually('the volume is unstaged', async () => log().includes('nodeUnstageVolume'));
  expect(log()).toEqual([
    'nodeStageVolume',
    'nodePublishVolume',
    'nodePublishVolume',
    'nodeUnpublishVolume',
    'nodeUnpublishVolume',
    'nodeUnstageVolume',
  ]);
  expect(stagedMounts()).toEqual([]);
});

it('a pod has an inline volume of its own', async () => {
  const pod = podWithVolumes('inline', [{ name: 'scratch', csi: { driver: 'd.test' } }], {
    volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  });
  await on.node.apply('inline.yaml', pod);
  await on.node.untilReady('inline');
  await on.inside('inline', 'echo mine > /scratch/file && cat /scratch/file');
  await on.removeWholly('inline');
  expect(log()).toEqual(['nodePublishVolume', 'nodeUnpublishVolume']);
});

it('a pod keeps its volume when the agent is killed, and loses it if it goes meanwhile', {
  timeout: 300_000,
}, async () => {
  await on.node.apply('lasting.yaml', claimPod('lasting', 'two'));
  await on.node.untilReady('lasting');
  await on.inside('lasting', 'echo kept > /data/file');
  const [before] = await on.node.containers('lasting');
  await on.node.kill('SIGKILL');
  await on.start();
  await eventually('the volume is verified', async () => driver.log('nodePublishVolume').length === 2);
  expect(log()).not.toContain('nodeUnpublishVolume');
  expect(await on.inside('lasting', 'cat /data/file && echo more >> /data/file')).toBe('kept');
  expect((await on.node.containers('lasting')).map(({ id }) => id)).toEqual([before?.id]);

  await on.node.kill('SIGKILL');
  await on.node.remove('lasting.yaml');
  await on.start();
  await on.node.untilGone('lasting');
  await eventually('the volume is unstaged', async () => log().includes('nodeUnstageVolume'));
  await eventually(
    'nothing of it is mounted',
    async () => on.podMounts().length + stagedMounts().length === 0,
  );
  expect(await readFile(path.join(await driver.content('vol-two'), 'file'), 'utf8')).toBe('kept\nmore\n');
});

it('a pod runs on without its driver, and is finished when the driver is back', async () => {
  await on.node.apply('alone.yaml', claimPod('alone', 'one'));
  await on.node.untilReady('alone');
  await driver.stop();
  await on.inside('alone', 'echo still > /data/still');
  const uid = await on.uidOf('alone');
  await on.node.remove('alone.yaml');
  await eventually('the pod has no container', async () => (await on.node.running('alone')).length === 0);
  expect(on.podMounts().some((mount) => mount.includes(uid))).toBe(true);
  await driver.start();
  await eventually(
    'nothing of it is mounted',
    async () => on.podMounts().length + stagedMounts().length === 0,
  );
});

it('a pod starts after a driver that fails, hangs up and answers late, and leaves nothing', async () => {
  driver.fail({ method: 'nodeStageVolume', code: 'Unavailable', times: 1, doesWork: true });
  driver.fail({ method: 'nodePublishVolume', code: 'InvalidArgument', times: 1 });
  driver.fail({ method: 'nodePublishVolume', code: 'DeadlineExceeded', times: 1, doesWork: true });
  driver.fail({ method: 'nodeUnpublishVolume', code: 'Internal', times: 1 });
  driver.fail({ method: 'nodeUnstageVolume', code: 'Aborted', times: 1 });
  await writeFile(path.join(await driver.content('vol-two'), 'file'), 'there');
  await on.node.apply('late.yaml', claimPod('late', 'two'));
  await on.node.untilReady('late');
  expect(await on.inside('late', 'cat /data/file')).toBe('there');
  const failures = (await on.events('late', 'FailedMount')).join();
  expect(failures).toContain('MountVolume.MountDevice failed for volume \\"pv-two\\"');
  expect(failures).toContain('MountVolume.SetUp failed for volume \\"pv-two\\"');
  await on.removeWholly('late');
  await eventually('the volume is unstaged', async () => log().includes('nodeUnstageVolume'));
  await eventually('nothing is staged', async () => stagedMounts().length === 0);
});
