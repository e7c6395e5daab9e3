/** Holds CSI volumes of mode Block against a real driver with real disks: what it is asked, what pods get, and what is left. */
import { execFileSync } from 'node:child_process';
import { lstat, open, readdir, readFile, readlink, stat, symlink, unlink } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { isMissing, linuxHost, toHostError } from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { attachmentName } from '../../src/volumes/csi/names.js';
import type { TestCsiDriverOptions } from '../env/csi-driver.js';
import { pollUntil } from '../env/index.js';
import { CsiTestNode } from './csi-node.js';

const mebibyte = 1024 * 1024;
let node: CsiTestNode;
const start = async (options: Partial<TestCsiDriverOptions> = {}): Promise<void> => {
  node = await CsiTestNode.start({ storage: 'loop', ...options });
  node.volume('pv', { volumeMode: 'Block' });
  if (options.storage !== 'directories') await node.driver.create('vol-pv', mebibyte);
};
afterEach(async () => {
  for (const pod of [...node.pods.values()]) await node.end(pod);
  await pollUntil('no device is left', async () => loops().length === 0 || undefined, {
    timeoutMs: 20_000,
    detail: () => `${loops().join('\n')}\n${node.driver.log().join('\n')}`,
  });
  await node.stop();
});

const blockRoot = (): string => path.join(node.rootDir, 'plugins/kubernetes.io/csi/volumeDevices');
const mapFile = (uid: string): string => path.join(blockRoot(), 'pv/dev', uid);
const published = (uid: string): string => path.join(blockRoot(), 'publish/pv', uid);
const linkOf = (uid: string): string =>
  path.join(node.rootDir, 'pods', uid, 'volumeDevices/kubernetes.io~csi/pv');
const loops = (): string[] =>
  execFileSync('losetup', ['-a'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(node.temp.path));
const pins = (): string[] => loops().filter((line) => line.includes('volumeDevices'));
const log = (): string[] => node.driver.log().filter((call) => !call.startsWith('nodeGet'));

const blockPod = (uid: string, readOnly = false): Pod => ({
  metadata: { uid, name: `pod-${uid}`, namespace: 'ns' },
  spec: {
    containers: [{ name: 'c', image: 'i', volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'pv', readOnly } }],
  },
});

const run = async (pod: Pod): Promise<void> => {
  node.want(pod);
  await node.manager.waitForMounts(pod, AbortSignal.timeout(20_000));
};

/** Waits for volumes that a test does not expect to come. */
const wait = (pod: Pod): { giveUp(): Promise<void> } => {
  const abort = new AbortController();
  const waiting = node.manager.waitForMounts(pod, abort.signal).catch(() => undefined);
  return {
    async giveUp() {
      abort.abort();
      await waiting;
    },
  };
};

const devices = (pod: Pod): ReturnType<CsiTestNode['manager']['devices']> => {
  const [container] = pod.spec.containers;
  return node.manager.devices(pod, container!);
};

const events = (pod: Pod, reason: string): string[] =>
  node.timeline
    .ofPod(pod.metadata.uid)
    .filter(({ what }) => what === `event.${reason}`)
    .map(({ message }) => message);

const failure = (pod: Pod, text: string): Promise<string> =>
  pollUntil(
    `an event with ${text}`,
    () => events(pod, 'FailedMapVolume').find((message) => message.includes(text)),
    { timeoutMs: 10_000, detail: () => events(pod, 'FailedMapVolume').join('\n') },
  );

/** What is below the root of block volumes; undefined while the manager removes directories that are being listed. */
const blockNames = async (): Promise<string[] | undefined> => {
  try {
    return await readdir(blockRoot(), { recursive: true });
  } catch (error) {
    if (isMissing(toHostError(error, blockRoot()))) return undefined;
    throw error;
  }
};

const nothingLeft = async (): Promise<void> => {
  await node.until('the device is released', () => loops().length === 0);
  await pollUntil(
    'nothing is left',
    async () => {
      const names = await blockNames();
      return names?.every((name) => name === 'staging' || name === 'publish') || undefined;
    },
    { timeoutMs: 10_000 },
  );
  const mounts = (await linuxHost().mounts.list(node.rootDir)).map(({ target }) => target);
  expect(mounts.filter((target) => target.startsWith(`${node.rootDir}/`))).toEqual([]);
  const left = await readdir(path.join(node.rootDir, 'pods'), { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => !entry.isDirectory())).toEqual([]);
};

async function write(file: string, text: string): Promise<void> {
  const handle = await open(file, 'r+');
  await handle.write(text, 4096);
  await handle.sync();
  await handle.close();
}

async function read(file: string, length: number): Promise<string> {
  const handle = await open(file, 'r');
  const { buffer } = await handle.read(Buffer.alloc(length), 0, length, 4096);
  await handle.close();
  return buffer.toString();
}

describe('a block volume', { timeout: 60_000 }, () => {
  it('is staged, published, bound, linked, pinned and used; and all of that is undone', async () => {
    await start();
    node.policy = { ...node.policy, podInfoOnMount: true };
    const pod = blockPod('u1');
    await run(pod);
    expect(await devices(pod)).toEqual([
      { containerPath: '/dev/x', hostPath: linkOf('u1'), permissions: 'mrw' },
    ]);
    const staging = path.join(blockRoot(), 'staging/pv');
    const capability = { accessType: { case: 'block', value: {} }, accessMode: { mode: 1 } };
    const [staged] = node.driver.requests<NodeStageVolumeRequest>('nodeStageVolume');
    expect(staged).toMatchObject({
      stagingTargetPath: staging,
      volumeCapability: capability,
      volumeContext: {},
    });
    const [request] = node.driver.requests<NodePublishVolumeRequest>('nodePublishVolume');
    expect(request).toMatchObject({
      stagingTargetPath: staging,
      targetPath: published('u1'),
      volumeCapability: capability,
      readonly: false,
      volumeContext: { 'csi.storage.k8s.io/pod.name': 'pod-u1', 'csi.storage.k8s.io/ephemeral': 'false' },
    });
    const name = attachmentName({ driver: node.driver.name, handle: 'vol-pv' }, 'n');
    expect(await readFile(path.join(blockRoot(), 'pv/data/vol_data.json'), 'utf8')).toBe(
      `{"attachmentID":"${name}","driverName":"${node.driver.name}","nodeName":"n","specVolID":"pv","volumeHandle":"vol-pv"}\n`,
    );
    expect(await readlink(linkOf('u1'))).toBe(published('u1'));
    expect((await lstat(mapFile('u1'))).isBlockDevice()).toBe(true);
    expect(pins()).toEqual([expect.stringContaining(mapFile('u1'))]);
    expect(events(pod, 'SuccessfulMountVolume')).toEqual([
      `MapVolume.MapPodDevice succeeded for volume "pv" globalMapPath "${path.join(blockRoot(), 'pv/dev')}"`,
      `MapVolume.MapPodDevice succeeded for volume "pv" volumeMapPath "${path.dirname(linkOf('u1'))}"`,
    ]);
    expect(await node.manager.measureVolume(pod, 'data', AbortSignal.timeout(5000))).toMatchObject({
      capacityBytes: mebibyte,
    });
    await write(linkOf('u1'), 'content');
    await node.end(pod);
    await nothingLeft();
    expect(log()).toEqual([
      'nodeStageVolume',
      'nodePublishVolume',
      'nodeUnpublishVolume',
      'nodeUnstageVolume',
    ]);

    const again = blockPod('u2', true);
    await run(again);
    expect(await devices(again)).toMatchObject([{ permissions: 'r' }]);
    expect(node.driver.requests<NodePublishVolumeRequest>('nodePublishVolume')[1]?.readonly).toBe(true);
    expect(await read(linkOf('u2'), 7)).toBe('content');
  });

  it('is staged once for two pods, each with its own file and pin', async () => {
    await start();
    const [one, two] = [blockPod('u1'), blockPod('u2')];
    await run(one);
    await run(two);
    expect(pins()).toHaveLength(2);
    await node.end(one);
    expect(pins()).toEqual([expect.stringContaining(mapFile('u2'))]);
    await node.end(two);
    await nothingLeft();
    expect(log()).toEqual([
      'nodeStageVolume',
      'nodePublishVolume',
      'nodePublishVolume',
      'nodeUnpublishVolume',
      'nodeUnpublishVolume',
      'nodeUnstageVolume',
    ]);
  });

  it('of a driver that does not stage is published with a staging path all the same', async () => {
    await start({ capabilities: [] });
    await run(blockPod('u1'));
    const [request] = node.driver.requests<NodePublishVolumeRequest>('nodePublishVolume');
    expect(request?.stagingTargetPath).toBe(path.join(blockRoot(), 'staging/pv'));
    await node.end(blockPod('u1'));
    expect(log()).toEqual(['nodePublishVolume', 'nodeUnpublishVolume']);
  });

  it('is refused if the driver publishes a directory, and cleaned up', async () => {
    await start({ storage: 'directories' });
    const pod = blockPod('u1');
    node.want(pod);
    const waiting = wait(pod);
    expect(await failure(pod, 'MapBlockVolume')).toBe(
      `MapVolume.MapBlockVolume failed for volume "pv" : ${published('u1')} is a directory and no block device; the volume has volumeMode Block`,
    );
    await waiting.giveUp();
    await node.end(pod);
    await nothingLeft();
  });

  it.each([
    ['staging', 'nodeStageVolume', 'InvalidArgument', ['nodeStageVolume InvalidArgument']],
    [
      'staging',
      'nodeStageVolume',
      'DeadlineExceeded',
      ['nodeStageVolume DeadlineExceeded', 'nodeUnstageVolume'],
    ],
    [
      'publishing',
      'nodePublishVolume',
      'Internal',
      ['nodeStageVolume', 'nodePublishVolume Internal', 'nodeUnstageVolume'],
    ],
    [
      'publishing',
      'nodePublishVolume',
      'Unavailable',
      ['nodeStageVolume', 'nodePublishVolume Unavailable', 'nodeUnpublishVolume', 'nodeUnstageVolume'],
    ],
  ] as const)('is cleaned up after %s has failed: %s %s', async (_, method, code, calls) => {
    await start();
    node.driver.fail({ method, code });
    const pod = blockPod('u1');
    node.want(pod);
    const waiting = wait(pod);
    const step = method === 'nodeStageVolume' ? 'SetUpDevice' : 'MapPodDevice';
    expect(await failure(pod, step)).toBe(
      `MapVolume.${step} failed for volume "pv" : rpc error: code = ${code} desc = injected`,
    );
    await waiting.giveUp();
    await node.end(pod);
    await nothingLeft();
    expect([...new Set(log())]).toEqual(calls);
  });

  it('is tried again when its driver is there', async () => {
    await start();
    await node.deregister();
    const pod = blockPod('u1');
    node.want(pod);
    const waiting = node.manager.waitForMounts(pod, AbortSignal.timeout(20_000));
    expect(await failure(pod, 'SetUpDevice')).toBe(
      `MapVolume.SetUpDevice failed for volume "pv" : kubernetes.io/csi: blockMapper.SetUpDevice failed to get CSI client: driver name ${node.driver.name} not found in the list of registered CSI drivers`,
    );
    await node.register();
    await waiting;
  });

  it('is used again by a kubelet that knows only the disk, with one pin', async () => {
    await start();
    const pod = blockPod('u1');
    await run(pod);
    await node.restart();
    await run(pod);
    expect(pins()).toHaveLength(1);
    expect(log()).not.toContain('nodeUnpublishVolume');
    await node.manager.stop();
    node.pods.clear();
    await node.restart();
    await nothingLeft();
    expect(log().slice(-2)).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
  });

  it('is not handed out when its link or its publish file leads elsewhere', async () => {
    await start();
    const pod = blockPod('u1');
    await run(pod);
    await unlink(linkOf('u1'));
    await symlink('/dev/null', linkOf('u1'));
    await expect(devices(pod)).rejects.toThrow('does not lead to the device that was mapped for the pod');
    await unlink(linkOf('u1'));
    expect(await devices(pod)).toEqual([]);
    await symlink(published('u1'), linkOf('u1'));
    expect((await stat(linkOf('u1'))).isBlockDevice()).toBe(true);
  });

  it('cannot have the name of a directory of all volumes', async () => {
    await start();
    node.volumes.set('publish', { ...node.volumes.get('pv')!, metadata: { name: 'publish' } });
    const pod = blockPod('u1');
    pod.spec.volumes![0]!.persistentVolumeClaim!.claimName = 'publish';
    node.want(pod);
    const waiting = wait(pod);
    expect(await failure(pod, 'NewBlockVolumeMapper')).toBe(
      'MapVolume.NewBlockVolumeMapper initialization failed for volume "publish" : a PersistentVolume named "publish" cannot have volumeMode Block',
    );
    await waiting.giveUp();
    await node.end(pod);
  });

  it('grows while a pod uses it, and before one starts', async () => {
    await start();
    node.grow('pv', '1Mi', '1Mi');
    const [one, two] = [blockPod('u1'), blockPod('u2')];
    await run(one);
    const sizeOf = async (uid: string): Promise<number> => {
      const { rdev } = await stat(linkOf(uid));
      const sectors = await readFile(`/sys/dev/block/${rdev >> 8}:${rdev & 0xff}/size`, 'utf8');
      return (Number(sectors) * 512) / mebibyte;
    };
    expect(await sizeOf('u1')).toBe(1);
    const enlarge = async (mebibytes: number): Promise<void> => {
      await node.driver.grow('vol-pv', mebibytes * mebibyte);
      node.grow('pv', `${mebibytes - 1}Mi`, `${mebibytes}Mi`);
    };
    await enlarge(2);
    await run(one);
    await node.until('it is expanded', () => log().includes('nodeExpandVolume'));
    await node.until('the claim says so', () => node.claims.get('pv')?.status?.capacity?.storage === '2Mi');
    expect(await sizeOf('u1')).toBe(2);
    const [request] = node.driver.calls
      .filter(({ method }) => method === 'nodeExpandVolume')
      .map(({ request: given }) => given);
    expect(request).toMatchObject({
      volumeId: 'vol-pv',
      volumePath: published('u1'),
      stagingTargetPath: path.join(blockRoot(), 'staging/pv'),
      capacityRange: { requiredBytes: 2 * mebibyte },
      volumeCapability: { accessType: { case: 'block' } },
    });
    expect(pins()).toHaveLength(1);
    await node.end(one);
    await enlarge(3);
    await run(two);
    expect(node.claims.get('pv')?.status?.capacity).toEqual({ storage: '3Mi' });
    expect(await sizeOf('u2')).toBe(3);
    await node.end(two);
    await nothingLeft();
  });

  it('is not unstaged while a device is left for another pod', async () => {
    await start();
    const pod = blockPod('u1');
    await run(pod);
    const host = linuxHost();
    await host.files.writeFile(mapFile('other'), '');
    await host.mounts.mount({ source: published('u1'), target: mapFile('other'), options: ['bind'] });
    await node.end(pod);
    await node.until('it is refused', () =>
      node.timeline
        .ofNode()
        .some(({ error }) => String(error).includes('is still referenced from other Pods [other]')),
    );
    expect(log()).not.toContain('nodeUnstageVolume');
    await host.mounts.unmount(mapFile('other'));
    await nothingLeft();
  });
});
