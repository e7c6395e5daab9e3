/** Pods with raw disks of a storage driver, on a real containerd: they read and write them, and nothing of them is left. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCsiDriver } from '../env/csi-driver.js';
import { mountsBelow } from '../env/mounts.js';
import { eventually } from './agent.js';
import { createVolumeNode, podWithVolumes, type VolumeNode } from './volume-node.js';

const mebibyte = 1024 * 1024;
let on: VolumeNode;
let driver: TestCsiDriver;

const volume = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: `pv-${name}` },
  spec: {
    capacity: { storage: '16Mi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: 'b.test', volumeHandle: `vol-${name}` },
    ...spec,
  },
});

beforeAll(async () => {
  on = await createVolumeNode();
  driver = new TestCsiDriver({
    rootDir: on.node.root,
    dataDir: path.join(on.node.dir, 'csi-data'),
    name: 'b.test',
    storage: 'loop',
  });
  for (const name of ['raw', 'own']) await driver.create(`vol-${name}`, 16 * mebibyte);
  await on.putObject('objects.json', {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      volume('raw', {
        volumeMode: 'Block',
        claimRef: { namespace: 'default', name: 'raw', uid: 'uid-raw' },
      }),
      volume('own', {}),
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'raw', namespace: 'default', uid: 'uid-raw' },
        spec: { volumeName: 'pv-raw', volumeMode: 'Block', accessModes: ['ReadWriteOnce'] },
        status: { phase: 'Bound' },
      },
    ],
  });
  await on.start();
  await driver.start();
  await eventually('the driver is registered', async () =>
    driver.told.some((status) => status.pluginRegistered),
  );
});
afterAll(async () => {
  await driver?.stop();
  await on?.node.stop();
});

const rawPod = (name: string, readOnly = false) =>
  podWithVolumes(name, [{ name: 'data', persistentVolumeClaim: { claimName: 'raw', readOnly } }], {
    volumeDevices: [{ name: 'data', devicePath: '/dev/raw' }],
  });
const loops = (): string[] =>
  execFileSync('losetup', ['-a'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(on.node.dir));
const read = (pod: string, length: number): Promise<string> =>
  on.inside(pod, `dd if=/dev/raw bs=4096 skip=2 count=1 2>/dev/null | head -c ${length}`);
const nothingLeft = async (): Promise<void> => {
  await eventually(
    'nothing is left',
    async () => loops().length + mountsBelow(path.join(on.node.root, 'plugins')).length === 0,
  );
};

it('a pod reads and writes a raw disk, which the next one has', { timeout: 300_000 }, async () => {
  await on.node.apply('writer.yaml', rawPod('writer'));
  await on.node.untilReady('writer');
  await on.inside('writer', 'echo survives | dd of=/dev/raw bs=4096 seek=2 conv=fsync,notrunc 2>/dev/null');
  await on.removeWholly('writer');
  await nothingLeft();

  await on.node.apply('reader.yaml', rawPod('reader', true));
  await on.node.untilReady('reader');
  expect(await read('reader', 8)).toBe('survives');
  expect(await on.inside('reader', 'echo no | dd of=/dev/raw 2>&1 || true')).toMatch(/not permitted|denied/);
  await on.removeWholly('reader');
  await nothingLeft();
});

it('a pod keeps its disk when the agent is killed, and loses it if it goes meanwhile', {
  timeout: 300_000,
}, async () => {
  await on.node.apply('lasting.yaml', rawPod('lasting'));
  await on.node.untilReady('lasting');
  const before = loops();
  expect(before).toHaveLength(2);
  const publishes = driver.log('nodePublishVolume').length;
  await on.node.kill('SIGKILL');
  await on.start();
  await eventually('it is verified', async () => driver.log('nodePublishVolume').length > publishes);
  expect(await read('lasting', 8)).toBe('survives');
  expect(loops()).toEqual(before);

  await on.node.kill('SIGKILL');
  await on.node.remove('lasting.yaml');
  await on.start();
  await on.node.untilGone('lasting');
  await nothingLeft();
});

it('a pod has a volume of the driver by the template of a generic ephemeral volume', async () => {
  const spec = {
    accessModes: ['ReadWriteOnce'],
    volumeName: 'pv-own',
    resources: { requests: { storage: '16Mi' } },
  };
  const pod = podWithVolumes('own', [{ name: 'd', ephemeral: { volumeClaimTemplate: { spec } } }], {
    volumeMounts: [{ name: 'd', mountPath: '/d' }],
  });
  await on.node.apply('own.yaml', pod);
  await on.node.untilReady('own');
  expect(await on.inside('own', 'echo mine > /d/file && cat /d/file')).toBe('mine');
  await on.removeWholly('own');
  await nothingLeft();
});
