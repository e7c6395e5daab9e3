/** Holds CSI volumes against a real driver on real mounts: what it is asked, in which order, and what is left after trouble. */
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { linuxHost } from '../../src/host/index.js';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { attachmentName } from '../../src/volumes/csi/names.js';
import { HealthUpdates } from '../../src/volumes/index.js';
import type { TestCsiDriverOptions } from '../env/csi-driver.js';
import { CsiTestNode } from './csi-node.js';

let node: CsiTestNode;
const start = async (options: Partial<TestCsiDriverOptions> = {}): Promise<CsiTestNode> => {
  node = await CsiTestNode.start(options);
  node.volume('pv');
  return node;
};
afterEach(async () => {
  await node.stop();
});

const log = (): string[] => node.driver.log().filter((call) => !call.startsWith('nodeGet'));
const volumeDir = (uid: string, name = 'pv'): string =>
  path.join(node.rootDir, 'pods', uid, 'volumes', 'kubernetes.io~csi', name);
const mounts = async (): Promise<string[]> => {
  const root = path.join(node.temp.path, 'root/');
  return (await linuxHost().mounts.list(node.rootDir))
    .map(({ target }) => target)
    .filter((target) => target.startsWith(root));
};
/** The files of all pods and drivers, without directories that are never removed. */
const files = async (): Promise<string[]> =>
  (await readdir(node.rootDir, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory() && entry.name !== 'csi.sock')
    .map(({ name, parentPath }) => path.relative(node.rootDir, path.join(parentPath, name)));
const nothingLeft = async (): Promise<void> => {
  expect(await mounts()).toEqual([]);
  expect(await files()).toEqual([]);
};
const published = (): NodePublishVolumeRequest => {
  const [request] = node.driver.requests<NodePublishVolumeRequest>('nodePublishVolume').slice(-1);
  if (request === undefined) throw new Error('nothing was published');
  return request;
};

describe('a volume', () => {
  it('is staged, published, used, unpublished and unstaged', async () => {
    await start();
    node.volume('pv', { mountOptions: ['noatime'] }, { fsType: 'ext4', volumeAttributes: { size: 'big' } });
    const pod = node.claimPod('u1', 'pv');
    const dir = await node.run(pod);
    expect(dir).toBe(path.join(volumeDir('u1'), 'mount'));
    await writeFile(path.join(dir, 'file'), 'content');
    expect(await readFile(path.join(await node.driver.content('vol-pv'), 'file'), 'utf8')).toBe('content');

    const [staged] = node.driver.requests<NodeStageVolumeRequest>('nodeStageVolume');
    const staging = staged?.stagingTargetPath ?? '';
    expect(staging).toMatch(
      new RegExp(`^${node.rootDir}/plugins/kubernetes.io/csi/${node.driver.name}/[0-9a-f]{64}/globalmount$`),
    );
    const capability = {
      accessType: { case: 'mount', value: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' } },
      accessMode: { mode: 1 },
    };
    expect(staged).toEqual({
      volumeId: 'vol-pv',
      publishContext: {},
      stagingTargetPath: staging,
      volumeCapability: capability,
      secrets: {},
      volumeContext: { size: 'big' },
    });
    expect(published()).toEqual({
      volumeId: 'vol-pv',
      publishContext: {},
      stagingTargetPath: staging,
      targetPath: dir,
      volumeCapability: capability,
      readonly: false,
      secrets: {},
      volumeContext: { size: 'big' },
    });
    const name = attachmentName({ driver: node.driver.name, handle: 'vol-pv' }, 'n');
    expect(await readFile(path.join(volumeDir('u1'), 'vol_data.json'), 'utf8')).toBe(
      `{"attachmentID":"${name}","driverName":"${node.driver.name}","nodeName":"n","specVolID":"pv","volumeHandle":"vol-pv","volumeLifecycleMode":"Persistent"}\n`,
    );
    expect(await readFile(path.join(staging, '../vol_data.json'), 'utf8')).toBe(
      `{"driverName":"${node.driver.name}","volumeHandle":"vol-pv"}\n`,
    );
    expect((await stat(volumeDir('u1'))).mode & 0o777).toBe(0o750);

    await node.end(pod);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    expect(log()).toEqual([
      'nodeStageVolume',
      'nodePublishVolume',
      'nodeUnpublishVolume',
      'nodeUnstageVolume',
    ]);
    await node.manager.stop();
    await nothingLeft();
  });

  it('of two pods is staged once, and unstaged when both are gone', async () => {
    await start();
    const [a, b] = [node.claimPod('a', 'pv'), node.claimPod('b', 'pv')];
    await Promise.all([node.run(a), node.run(b)]);
    await node.end(a);
    expect(log()).not.toContain('nodeUnstageVolume');
    await node.end(b);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    expect(log()).toEqual([
      'nodeStageVolume',
      'nodePublishVolume',
      'nodePublishVolume',
      'nodeUnpublishVolume',
      'nodeUnpublishVolume',
      'nodeUnstageVolume',
    ]);
  });

  it('of ReadWriteOncePod is refused to a second pod until the first is gone', async () => {
    await start();
    node.volume('pv', { accessModes: ['ReadWriteOncePod'] });
    const [a, b] = [node.claimPod('a', 'pv'), node.claimPod('b', 'pv')];
    await node.run(a);
    const waiting = node.run(b);
    waiting.catch(() => {});
    await node.failure(
      b,
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
    expect(log()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
    await node.end(a);
    await waiting;
  });

  it('is published read-only where the pod says so', async () => {
    await start();
    const dir = await node.run(node.claimPod('u1', 'pv', {}, true));
    expect(published().readonly).toBe(true);
    await expect(writeFile(path.join(dir, 'file'), '')).rejects.toThrow('EROFS');
  });

  it('of a driver without staging is only published', async () => {
    await start({ capabilities: [] });
    const pod = node.claimPod('u1', 'pv');
    await node.run(pod);
    expect(published().stagingTargetPath).toBe('');
    await node.end(pod);
    expect(log()).toEqual(['nodePublishVolume', 'nodeUnpublishVolume']);
    await node.manager.stop();
    await nothingLeft();
  });

  it.each([
    [['ReadWriteOnce'], [], 1],
    [['ReadWriteMany', 'ReadWriteOnce'], [], 5],
    [['ReadOnlyMany'], [], 3],
    [['ReadWriteOnce'], ['SINGLE_NODE_MULTI_WRITER'], 7],
    [['ReadWriteOncePod'], ['SINGLE_NODE_MULTI_WRITER'], 6],
    [['ReadWriteOncePod'], [], 1],
  ] as const)(
    'with the modes %j and %j is published with the mode %d',
    async (accessModes, capabilities, mode) => {
      await start({ capabilities });
      node.volume('pv', { accessModes: [...accessModes] });
      await node.run(node.claimPod('u1', 'pv'));
      expect(published().volumeCapability?.accessMode?.mode).toBe(mode);
    },
  );
});

describe('what a driver is told', () => {
  it('secrets, of stage and of publish', async () => {
    await start();
    node.volume(
      'pv',
      {},
      {
        nodeStageSecretRef: { namespace: 's', name: 'stage' },
        nodePublishSecretRef: { namespace: 's', name: 'publish' },
      },
    );
    node.secrets.set('s/publish', { b: '2' });
    const pod = node.claimPod('u1', 'pv');
    const running = node.run(pod);
    await node.failure(
      pod,
      'MountVolume.MountDevice failed for volume "pv" : fetching NodeStageSecretRef s/stage failed: kubernetes.io/csi: failed to find the secret stage in the namespace s with error: secrets "stage" not found',
    );
    expect(log()).toEqual([]);
    node.secrets.set('s/stage', { a: '1' });
    await running;
    expect(node.driver.requests<NodeStageVolumeRequest>('nodeStageVolume')[0]?.secrets).toEqual({ a: '1' });
    expect(published().secrets).toEqual({ b: '2' });
  });

  it('the pod and its tokens, where the driver asks for them', async () => {
    await start();
    node.policy = {
      ...node.policy,
      podInfoOnMount: true,
      tokenRequests: [{ audience: 'vault' }, { audience: '' }],
    };
    await node.run(node.claimPod('u1', 'pv', { serviceAccountName: 'sa' }));
    expect(published().volumeContext).toEqual({
      'csi.storage.k8s.io/pod.name': 'pod-u1',
      'csi.storage.k8s.io/pod.namespace': 'ns',
      'csi.storage.k8s.io/pod.uid': 'u1',
      'csi.storage.k8s.io/serviceAccount.name': 'sa',
      'csi.storage.k8s.io/ephemeral': 'false',
      'csi.storage.k8s.io/serviceAccount.tokens':
        '{"":{"token":"pod-u1-api","expirationTimestamp":"2030-01-01T00:00:00Z"},"vault":{"token":"pod-u1-vault","expirationTimestamp":"2030-01-01T00:00:00Z"}}',
    });
    expect(node.driver.requests<NodeStageVolumeRequest>('nodeStageVolume')[0]?.volumeContext).toEqual({});
    node.policy = { ...node.policy, podInfoOnMount: false, tokensInSecrets: true };
    await node.run(node.claimPod('u2', 'pv'));
    expect(published().volumeContext).toEqual({});
    expect(Object.keys(published().secrets)).toEqual(['csi.storage.k8s.io/serviceAccount.tokens']);
  });
});

describe('an inline volume', () => {
  const inline = (extra = {}) => ({
    name: 'scratch',
    csi: { driver: node.driver.name, fsType: 'ext4', volumeAttributes: { a: '1' }, ...extra },
  });

  it('is published with a handle of its own, and not staged', async () => {
    await start();
    node.policy = { ...node.policy, volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true };
    node.secrets.set('ns/s', { key: 'v' });
    const pod = node.pod('u1', inline({ nodePublishSecretRef: { name: 's' } }));
    const dir = await node.run(pod);
    expect(dir).toBe(path.join(volumeDir('u1', 'scratch'), 'mount'));
    const { volumeId, stagingTargetPath, secrets, volumeContext } = published();
    expect(volumeId).toMatch(/^csi-[0-9a-f]{64}$/);
    expect(stagingTargetPath).toBe('');
    expect(secrets).toEqual({ key: 'v' });
    expect(volumeContext).toMatchObject({ a: '1', 'csi.storage.k8s.io/ephemeral': 'true' });
    await node.restart();
    await node.run(pod);
    expect(published().volumeId).toBe(volumeId);
    await node.end(pod);
    expect(log()).toEqual(['nodePublishVolume', 'nodePublishVolume', 'nodeUnpublishVolume']);
    await node.manager.stop();
    await nothingLeft();
  });

  it.each([
    [{ exists: true, volumeLifecycleModes: ['Persistent'] }, 'only supports ["Persistent"]'],
    [{ exists: false, volumeLifecycleModes: ['Persistent'] }, 'no CSIDriver object'],
  ])('is refused by the policy %j', async (policy, why) => {
    await start();
    node.policy = { ...node.policy, ...policy };
    const pod = node.pod('u1', inline());
    node.run(pod).catch(() => {});
    await node.failure(pod, `volume mode "Ephemeral" not supported by driver ${node.driver.name} (${why})`);
    expect(log()).toEqual([]);
  });
});

describe('the group of a pod', () => {
  const group = { securityContext: { fsGroup: 4321 } };
  it.each<[string, object, object, boolean]>([
    ['the default policy with fsType gives the volume to it', {}, { fsType: 'ext4' }, true],
    ['the default policy without fsType does not', {}, {}, false],
    ['the policy File gives it in any case', { fsGroupPolicy: 'File' }, {}, true],
    ['the policy None never', { fsGroupPolicy: 'None' }, { fsType: 'ext4' }, false],
  ])('%s', async (_, policy, csi, isGiven) => {
    await start();
    node.policy = { ...node.policy, ...policy };
    node.volume('pv', {}, csi);
    const content = await node.driver.content('vol-pv');
    await writeFile(path.join(content, 'file'), '');
    await chmod(path.join(content, 'file'), 0o600);
    await node.run(node.claimPod('u1', 'pv', group));
    const { gid, mode } = await stat(path.join(content, 'file'));
    expect([gid, mode & 0o777]).toEqual(isGiven ? [4321, 0o660] : [0, 0o600]);
  });

  it('is the business of a driver that can do it', async () => {
    await start({ capabilities: ['STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP'] });
    node.volume('pv', {}, { fsType: 'ext4' });
    await node.run(node.claimPod('u1', 'pv', group));
    const sent = (request: NodeStageVolumeRequest | NodePublishVolumeRequest | undefined) =>
      request?.volumeCapability?.accessType?.value;
    expect(sent(published())).toMatchObject({ volumeMountGroup: '4321' });
    const [staged] = node.driver.requests<NodeStageVolumeRequest>('nodeStageVolume');
    expect(sent(staged)).toMatchObject({ volumeMountGroup: '4321' });
    expect((await stat(await node.driver.content('vol-pv'))).gid).toBe(0);
  });
});

describe('after a failure', () => {
  it('of the driver for good, nothing is left, and the next attempt works', async () => {
    await start();
    node.driver.fail({ method: 'nodeStageVolume', code: 'InvalidArgument', times: 1 });
    node.driver.fail({ method: 'nodePublishVolume', code: 'Internal', times: 1 });
    const pod = node.claimPod('u1', 'pv');
    const running = node.run(pod);
    await node.failure(
      pod,
      'MountVolume.MountDevice failed for volume "pv" : rpc error: code = InvalidArgument desc = injected',
    );
    await node.failure(
      pod,
      'MountVolume.SetUp failed for volume "pv" : rpc error: code = Internal desc = injected',
    );
    await running;
    expect(log()).toEqual([
      'nodeStageVolume InvalidArgument',
      'nodeStageVolume',
      'nodePublishVolume Internal',
      'nodePublishVolume',
    ]);
  });

  it('of staging for good, a deleted pod needs no call', async () => {
    await start();
    node.driver.fail({ method: 'nodeStageVolume', code: 'InvalidArgument' });
    const pod = node.claimPod('u1', 'pv');
    node.run(pod).catch(() => {});
    await node.failure(pod, 'InvalidArgument');
    await node.end(pod);
    await node.manager.stop();
    expect(new Set(log())).toEqual(new Set(['nodeStageVolume InvalidArgument']));
    await nothingLeft();
  });

  it.each(['DeadlineExceeded', 'Unavailable', 'Aborted'] as const)(
    'of staging with %s, a deleted pod has the volume unstaged',
    async (code) => {
      await start();
      node.driver.fail({ method: 'nodeStageVolume', code, doesWork: true });
      const pod = node.claimPod('u1', 'pv');
      node.run(pod).catch(() => {});
      await node.failure(pod, code);
      expect(await mounts()).toHaveLength(1);
      await node.end(pod);
      await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
      await node.manager.stop();
      expect(log()).not.toContain('nodePublishVolume');
      await nothingLeft();
    },
  );

  it('of publishing with an uncertain end, a deleted pod has the volume unpublished, then unstaged', async () => {
    await start();
    node.driver.fail({ method: 'nodePublishVolume', code: 'DeadlineExceeded', doesWork: true });
    const pod = node.claimPod('u1', 'pv');
    node.run(pod).catch(() => {});
    await node.failure(pod, 'DeadlineExceeded');
    expect(node.manager.exist('u1')).toBe(true);
    await node.end(pod);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    expect(log().slice(-2)).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
    await node.manager.stop();
    await nothingLeft();
  });

  it('for good of a driver that has mounted all the same, nothing leaks', async () => {
    await start();
    node.driver.fail({ method: 'nodePublishVolume', code: 'Internal', doesWork: true });
    const pod = node.claimPod('u1', 'pv');
    node.run(pod).catch(() => {});
    await node.failure(pod, 'Internal');
    expect(await files()).toContain('pods/u1/volumes/kubernetes.io~csi/pv/vol_data.json');
    await node.end(pod);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    expect(log()).toContain('nodeUnpublishVolume');
    await node.manager.stop();
    await nothingLeft();
  });

  it('of unpublishing, the pod is not finished until it succeeds, and its pod keeps the device', async () => {
    await start();
    const pod = node.claimPod('u1', 'pv');
    await node.run(pod);
    node.driver.fail({ method: 'nodeUnpublishVolume', code: 'Internal', times: 2 });
    const ending = node.end(pod);
    await node.until('it was tried', () => log().includes('nodeUnpublishVolume Internal'));
    expect(node.manager.exist('u1')).toBe(true);
    await ending;
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    expect(log().slice(2)).toEqual([
      'nodeUnpublishVolume Internal',
      'nodeUnpublishVolume Internal',
      'nodeUnpublishVolume',
      'nodeUnstageVolume',
    ]);
  });

  it('of unstaging, a new pod has the volume staged before it is published', async () => {
    await start();
    const [a, b] = [node.claimPod('a', 'pv'), node.claimPod('b', 'pv')];
    await node.run(a);
    node.driver.fail({ method: 'nodeUnstageVolume', code: 'Internal' });
    await node.end(a);
    await node.until('it was tried', () => log().includes('nodeUnstageVolume Internal'));
    await node.run(b);
    expect(log().slice(-2)).toEqual(['nodeStageVolume', 'nodePublishVolume']);
  });

  it('a driver that claims to have unpublished is asked again until the mount is gone', async () => {
    await start();
    const pod = node.claimPod('u1', 'pv');
    const dir = await node.run(pod);
    // A second mount on top: the driver takes away one of two.
    await linuxHost().mounts.mount({
      source: await node.driver.content('other'),
      target: dir,
      options: ['bind'],
    });
    await node.end(pod).catch(() => node.end(pod));
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    await node.manager.stop();
    await nothingLeft();
  });
});

describe('a driver that is not there', () => {
  it('fails mounts without a trace, and is used at once when it comes', async () => {
    await start();
    await node.deregister();
    const pod = node.claimPod('u1', 'pv');
    const running = node.run(pod);
    await node.failure(
      pod,
      `MountVolume.MountDevice failed for volume "pv" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ${node.driver.name} not found in the list of registered CSI drivers`,
    );
    expect(await files()).toEqual([]);
    await node.register();
    await running;
    expect(log()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
  });

  it('keeps a pod that ended until it comes back', async () => {
    await start();
    const pod = node.claimPod('u1', 'pv');
    await node.run(pod);
    await node.deregister();
    node.pods.delete('u1');
    node.manager.podsChanged();
    await node.restart();
    expect(node.manager.exist('u1')).toBe(true);
    expect(await mounts()).toHaveLength(2);
    await node.register();
    await node.end(pod);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
  });

  it('has another volume of its own time while it hangs', async () => {
    await start();
    node.volume('slow');
    node.driver.fail({ method: 'nodeStageVolume', times: 1 });
    const slow = node.claimPod('slow', 'slow');
    node.run(slow).catch(() => {});
    await node.until('it hangs', () => node.driver.log().includes('nodeStageVolume undefined'));
    const pod = node.claimPod('u1', 'pv');
    await node.run(pod);
    await node.end(pod);
    expect(log()).toContain('nodeUnpublishVolume');
  });
});

describe('after a restart', () => {
  it('volumes of running pods are staged and published again, and never taken away', async () => {
    await start();
    const pod = node.claimPod('u1', 'pv');
    const dir = await node.run(pod);
    await writeFile(path.join(dir, 'file'), 'kept');
    await node.restart();
    await node.run(pod);
    expect(log()).toEqual(['nodeStageVolume', 'nodePublishVolume', 'nodeStageVolume', 'nodePublishVolume']);
    expect(await readFile(path.join(dir, 'file'), 'utf8')).toBe('kept');
  });

  it('a driver that fails for good then removes nothing', async () => {
    await start();
    const pod = node.claimPod('u1', 'pv');
    const dir = await node.run(pod);
    node.driver.fail({ method: 'nodePublishVolume', code: 'Internal' });
    await node.restart();
    node.run(pod).catch(() => {});
    await node.failure(pod, 'Internal');
    expect(await files()).toContain('pods/u1/volumes/kubernetes.io~csi/pv/vol_data.json');
    expect(await mounts()).toContain(dir);
    await node.end(pod);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    await node.manager.stop();
    await nothingLeft();
  });

  it('volumes of pods that ended meanwhile are unpublished and unstaged, once all sources have spoken', async () => {
    await start();
    const pod = node.claimPod('u1', 'pv');
    await node.run(pod);
    await node.manager.stop();
    node.pods.delete('u1');
    node.sourcesReady = false;
    await node.restart();
    expect(log()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
    node.sourcesReady = true;
    await node.end(pod);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    await node.manager.stop();
    await nothingLeft();
  });

  it('a volume that was only staged is unstaged', async () => {
    await start();
    node.driver.fail({ method: 'nodePublishVolume', code: 'Internal' });
    const pod = node.claimPod('u1', 'pv');
    node.run(pod).catch(() => {});
    await node.failure(pod, 'Internal');
    node.pods.delete('u1');
    await node.restart();
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    await node.manager.stop();
    await nothingLeft();
  });

  it('a volume without metadata stays for the administrator', async () => {
    await start();
    const pod = node.claimPod('u1', 'pv');
    const dir = await node.run(pod);
    await node.manager.stop();
    await writeFile(path.join(volumeDir('u1'), 'vol_data.json'), '');
    node.pods.delete('u1');
    await node.restart();
    const kept = (): boolean => node.timeline.ofPod('u1').some(({ what }) => what === 'volume.leftover');
    await node.until('it is told', kept);
    expect(await mounts()).toContain(dir);
  });
});

it('a staged volume that is bound elsewhere is not unstaged until that is gone', async () => {
  await start();
  const pod = node.claimPod('u1', 'pv');
  await node.run(pod);
  const [staged] = node.driver.requests<NodeStageVolumeRequest>('nodeStageVolume');
  const elsewhere = path.join(node.temp.path, 'elsewhere');
  await mkdir(elsewhere);
  const { mounts: table } = linuxHost();
  await table.mount({ source: staged?.stagingTargetPath ?? '', target: elsewhere, options: ['bind'] });
  await node.end(pod);
  const told = (): boolean =>
    node.timeline
      .ofNode()
      .some(({ error }) => error?.includes('is still mounted by other references') === true);
  await node.until('it is told', told);
  expect(log()).not.toContain('nodeUnstageVolume');
  await table.unmount(elsewhere);
  await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
});

describe('a volume that the cluster attaches', () => {
  const unique = (): string => `kubernetes.io/csi/${node.driver.name}^vol-pv`;
  const attachment = (): string => attachmentName({ driver: node.driver.name, handle: 'vol-pv' }, 'n');

  it('is mounted when it is reported in use, then attached, and stays in use until it is unstaged', async () => {
    await start();
    node.policy = { ...node.policy, attachRequired: true };
    expect(node.manager.volumesInUse()).toEqual([]);
    const pod = node.claimPod('u1', 'pv');
    const running = node.run(pod);
    await node.until('it is in use', () => node.manager.volumesInUse()?.includes(unique()) === true);
    node.attached.add(unique());
    node.manager.attachmentsChanged();
    expect(node.driver.log('nodeGetCapabilities')).toEqual([]);
    node.manager.volumesReported([unique()]);
    await node.failure(
      pod,
      `MountVolume.WaitForAttach failed for volume "pv" : volume vol-pv has GET error for volume attachment ${attachment()}: volumeattachments "${attachment()}" not found`,
    );
    const base = { isDeleting: false, attached: false, error: undefined, metadata: {} };
    node.attachments.set(attachment(), base);
    await node.failure(pod, `volume vol-pv is not attached for volume attachment ${attachment()}`);
    node.attachments.set(attachment(), { ...base, error: 'no such disk' });
    await node.failure(pod, 'MountVolume.WaitForAttach failed for volume "pv" : no such disk');
    node.attachments.set(attachment(), { ...base, attached: true, isDeleting: true });
    await node.failure(pod, 'volume attachment is being deleted');
    expect(log()).toEqual([]);
    node.attachments.set(attachment(), { ...base, attached: true, metadata: { device: '/dev/x' } });
    node.manager.driverReady('kubernetes.io/csi');
    await running;
    expect(published().publishContext).toEqual({ device: '/dev/x' });
    node.driver.fail({ method: 'nodeUnstageVolume', code: 'Internal', times: 1 });
    await node.end(pod);
    await node.until('it was tried', () => log().includes('nodeUnstageVolume Internal'));
    expect(node.manager.volumesInUse()).toEqual([unique()]);
    await node.until('the volume is unstaged', () => log().includes('nodeUnstageVolume'));
    await node.until('it is not in use', () => node.manager.volumesInUse()?.length === 0);
  });

  it('waits in silence, and no longer once its driver needs no attaching', async () => {
    await start();
    node.policy = { ...node.policy, attachRequired: true };
    const pod = node.claimPod('u1', 'pv');
    const running = node.run(pod);
    await node.until('it is in use', () => node.manager.volumesInUse()?.includes(unique()) === true);
    // No event and no problem: only what the pod waits for, for those who ask.
    expect(node.timeline.ofPod('u1').map(({ what, kind, level }) => `${what} ${kind} ${level}`)).toEqual([
      'volume.wait observation debug',
    ]);
    node.policy = { ...node.policy, attachRequired: false };
    node.manager.attachmentsChanged();
    await running;
    expect(published().publishContext).toEqual({});
  });

  it('names what is not attached when the wait ends', async () => {
    await start();
    node.policy = { ...node.policy, attachRequired: true };
    const pod = node.claimPod('u1', 'pv');
    await node.run(pod, 500).catch(() => {});
    await node.end(pod);
    expect(node.manager.volumesInUse()).toEqual([]);
    expect(log()).toEqual([]);
  });

  it('is in use after a restart before anything is known of its pod', async () => {
    await start();
    node.policy = { ...node.policy, attachRequired: true };
    node.attached.add(unique());
    node.attachments.set(attachment(), { isDeleting: false, attached: true, error: undefined, metadata: {} });
    const pod = node.claimPod('u1', 'pv');
    const running = node.run(pod);
    await node.until('it is in use', () => node.manager.volumesInUse()?.includes(unique()) === true);
    node.manager.volumesReported([unique()]);
    await running;
    await node.restart();
    await node.until('it is known', () => node.manager.volumesInUse() !== undefined);
    expect(node.manager.volumesInUse()).toEqual([unique()]);
  });
});

it('a directory that an earlier run left before it asked the driver is removed', async () => {
  await start();
  await node.manager.stop();
  await mkdir(volumeDir('gone'), { recursive: true });
  await node.restart();
  const cleaned = (): boolean => node.timeline.ofPod('gone').some(({ what }) => what === 'volume.leftover');
  await node.until('it is told', cleaned);
  await expect(stat(volumeDir('gone'))).rejects.toThrow('ENOENT');
  expect(log()).toEqual([]);
});

describe('how full a volume is', () => {
  const measure = (uid: string) =>
    node.manager.measureVolume(node.claimPod(uid, 'pv'), 'data', AbortSignal.timeout(10_000));

  it('is what the driver says of the published path', async () => {
    await start();
    const dir = await node.run(node.claimPod('u1', 'pv'));
    const figures = await measure('u1');
    expect(figures?.capacityBytes).toBeGreaterThan(0);
    expect(figures?.inodes).toBeGreaterThanOrEqual(0);
    expect(node.driver.requests('nodeGetVolumeStats')).toEqual([
      { volumeId: 'vol-pv', volumePath: dir, stagingTargetPath: '' },
    ]);
  });

  it('is not known if the driver does not tell, fails, or has no such volume', async () => {
    await start({ capabilities: [] });
    await node.run(node.claimPod('u1', 'pv'));
    expect(await measure('u1')).toBeUndefined();
    expect(await measure('u2')).toBeUndefined();
    expect(node.driver.log('nodeGetVolumeStats')).toEqual([]);
  });
});

describe('the health of volumes', () => {
  const rounds = (): HealthUpdates =>
    new HealthUpdates({
      clock: systemClock,
      timeline: node.timeline,
      client: node.client,
      volumes: () => node.manager.observedVolumes(),
      periodMs: 0,
      notice: {
        volumes: async (pod, seen) => void heard.push([pod.metadata.uid, ...seen]),
        storage: async (driver, conditions) => void heard.push([driver, ...conditions]),
      },
    });
  const heard: unknown[][] = [];

  it('is what their driver says of the published path', async () => {
    await start({ capabilities: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_HEALTH', 'GET_STORAGE_HEALTH'] });
    const mounted = node.claimPod('u1', 'pv');
    const inline = node.pod('u2', { name: 'scratch', csi: { driver: node.driver.name } });
    await node.run(mounted);
    node.driver.identity.volumeHealth.set('vol-pv', [{ status: 1, reason: 'Slow', message: 'a disk' }]);
    node.driver.identity.storageHealth = [{ status: 2, reason: 'Net', message: 'no route' }];
    node.policy = { ...node.policy, volumeLifecycleModes: ['Persistent', 'Ephemeral'] };
    await node.run(inline);
    await rounds().round(AbortSignal.timeout(10_000));
    expect(heard).toEqual(
      expect.arrayContaining([
        ['u1', ['data', [{ status: 'Degraded', reason: 'Slow', message: 'a disk' }]]],
        [node.driver.name, { status: 'StorageUnreachable', reason: 'Net', message: 'no route' }],
      ]),
    );
    expect(heard).toHaveLength(2);
    const [request] = node.driver.requests<{ volumePublishPath: string }>('nodeGetVolumeHealth');
    expect(request?.volumePublishPath).toBe(
      path.join(node.rootDir, 'pods/u1/volumes/kubernetes.io~csi/pv/mount'),
    );
    await node.end(mounted);
    await node.end(inline);
  });
});

it('a driver that asks for it is asked to publish at every sync, and a failure of that changes nothing', async () => {
  await start();
  node.policy = { ...node.policy, requiresRepublish: true };
  const pod = node.claimPod('u1', 'pv');
  const dir = await node.run(pod);
  await node.run(pod);
  await node.until('it is published again', () => node.driver.log('nodePublishVolume').length >= 2);
  node.driver.fail({ method: 'nodePublishVolume', code: 'Internal', times: 1 });
  await node.run(pod);
  await node.failure(pod, 'Internal');
  expect(node.manager.volumeDirectory(pod, 'data')).toBe(dir);
  expect(await mounts()).toContain(dir);
  expect(node.driver.log('nodeStageVolume')).toHaveLength(1);
});
