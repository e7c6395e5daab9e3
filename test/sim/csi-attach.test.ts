/** Volumes that the cluster attaches, on a whole kubelet: when they are mounted, what is said while they are not, and when they may be detached. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiError, resources } from '../../src/kube-client/index.js';
import { explainPod } from '../../src/timeline/index.js';
import type { NodePublishVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { attachmentName } from '../../src/volumes/csi/names.js';
import { CsiClusterMachine, type CsiMember } from './csi-cluster-machine.js';
import { endNodes, minute, nodeName, second } from './node.js';
import type { PodShape } from './pods.js';

let cluster: CsiClusterMachine;
let agent: CsiMember;
beforeEach(async () => {
  cluster = new CsiClusterMachine();
});
afterEach(endNodes);

const claimed = (claimName = 'disk', spec: PodShape['spec'] = {}): PodShape => ({
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'data', mountPath: '/v' }] }],
  graceSeconds: 1,
  spec: { ...spec, volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] },
});

async function begin(
  policy: Parameters<CsiClusterMachine['begin']>[0] = {},
  options: Parameters<CsiClusterMachine['start']>[0] = {},
): Promise<void> {
  await cluster.begin(policy);
  await cluster.volume('disk', ['ReadWriteOnce']);
  agent = await cluster.start(options);
  await agent.member.node.advance(5 * second);
}

const inUse = async (): Promise<readonly string[]> =>
  (await cluster.on.api.get(resources.nodes, { name: nodeName })).status?.volumesInUse ?? [];
const mountEvents = (name = 'web'): string[] =>
  agent.member.node.events(name, 'FailedMount').map(({ message }) => message);
const waiting = (name = 'web'): string | undefined => {
  const { entries, clock } = agent.member.node;
  const ofPod = entries.filter(({ pod }) => pod?.name === name);
  const { waitsFor, inProgress } = explainPod(ofPod, [], clock.now());
  return waitsFor[0] ?? inProgress?.text;
};
const attachment = { name: attachmentName({ driver: 'sim.csi.example.com', handle: 'vol-disk' }, nodeName) };

async function seconds(count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await agent.member.node.advance(second);
    await cluster.check();
  }
  expect([...cluster.violations]).toEqual([]);
}

async function controlled(count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await seconds(1);
    await cluster.control();
  }
}

it('a volume is reported in use, waits for the cluster in silence, and is mounted when it is attached', async () => {
  await begin();
  await cluster.on.create('web', claimed());
  await seconds(1);
  expect(waiting()).toMatch(/^volume pv-disk to be reported in use|^the cluster to attach volume pv-disk/);
  await seconds(20);
  expect(await inUse()).toEqual([cluster.uniqueName('vol-disk')]);
  expect(waiting()).toBe('the cluster to attach volume pv-disk of driver sim.csi.example.com to this node');
  expect(mountEvents()).toEqual([]);
  expect(cluster.driver.log()).toEqual([]);
  await seconds(2 * 60);
  // The wait for volumes was given up meanwhile, and begun again.
  expect(waiting()).toMatch(
    /^the cluster to attach volume pv-disk of driver sim.csi.example.com to this node, since/,
  );
  expect(cluster.driver.log()).toEqual([]);
  await cluster.control();
  await agent.member.untilReady('web');
  await cluster.on.delete('web');
  await controlled(30);
  expect(await cluster.remains()).toEqual([]);
  expect(await inUse()).toEqual([]);
});

it('a pod that is deleted while it waits leaves nothing in use, and no driver is called', async () => {
  await begin();
  await cluster.on.create('web', claimed());
  await seconds(20);
  expect(await inUse()).toHaveLength(1);
  await cluster.on.delete('web');
  await seconds(30);
  expect(await inUse()).toEqual([]);
  expect(cluster.driver.log()).toEqual([]);
  expect(await cluster.remains()).toEqual([]);
});

it('a volume stays in use until its driver has unstaged it', async () => {
  await begin();
  await cluster.on.create('web', claimed());
  await controlled(20);
  await agent.member.untilReady('web');
  const effect = { kind: 'error', code: 'Internal' } as const;
  cluster.driver.fail({ method: 'nodeUnstageVolume', when: 'before', times: 1000, effect });
  await cluster.on.delete('web');
  await controlled(60);
  expect(await inUse()).toEqual([cluster.uniqueName('vol-disk')]);
  cluster.driver.mend();
  await controlled(120);
  expect(await inUse()).toEqual([]);
  expect(await cluster.remains()).toEqual([]);
});

describe('a volume that is not attached as it should be waits with', () => {
  const attached = async (): Promise<void> => {
    await cluster.on.api.patch(
      resources.nodes,
      { name: nodeName },
      {
        type: 'merge',
        body: { status: { volumesAttached: [{ name: cluster.uniqueName('vol-disk'), devicePath: '' }] } },
      },
      { subresource: 'status' },
    );
  };
  const withStatus = (status: object) => async (): Promise<void> => {
    await cluster.on.api.create(resources.volumeAttachments, {
      metadata: attachment,
      spec: { attacher: 'sim.csi.example.com', nodeName, source: { persistentVolumeName: 'pv-disk' } },
      status: { attached: false, ...status },
    });
  };
  const name = attachment.name;

  it.each<[string, () => Promise<void>, string]>([
    ['no object', async () => {}, `volume vol-disk has GET error for volume attachment ${name}: `],
    ['no word', withStatus({}), `volume vol-disk is not attached for volume attachment ${name}`],
    ['an error', withStatus({ attachError: { message: 'no such disk' } }), 'no such disk'],
  ])('%s', async (_, make, text) => {
    await begin();
    await make();
    await cluster.on.create('web', claimed());
    await seconds(15);
    await attached();
    await seconds(5);
    expect(mountEvents()[0]).toContain(`MountVolume.WaitForAttach failed for volume "pv-disk" : ${text}`);
    expect(waiting()).toContain(
      'the cluster to attach volume pv-disk of driver sim.csi.example.com to this node',
    );
    expect(waiting()).toContain(text);
    expect(cluster.driver.log()).toEqual([]);
  });
});

it('a driver that needs no attaching has its volumes mounted at once, and they are not in use', async () => {
  await begin({ attachRequired: false });
  await cluster.on.create('web', claimed());
  await agent.member.untilReady('web');
  expect(await inUse()).toEqual([]);
  const reads = cluster.on.api.calls.filter(({ resource }) => resource === 'volumeattachments');
  expect(reads).toEqual([]);
});

it('a driver without an object has its volumes attached, and is told nothing of pods', async () => {
  await cluster.begin();
  await cluster.on.api.delete(resources.csiDrivers, { name: cluster.driver.name });
  await cluster.volume('disk', ['ReadWriteOnce'], { volumeAttributes: { size: 'big' } });
  agent = await cluster.start();
  await cluster.on.create('web', claimed());
  await seconds(20);
  expect(await inUse()).toEqual([cluster.uniqueName('vol-disk')]);
  expect(cluster.driver.log()).toEqual([]);
  await controlled(20);
  await agent.member.untilReady('web');
  expect(cluster.driver.requests('nodePublishVolume')).toMatchObject([
    { volumeContext: { size: 'big' }, secrets: {} },
  ]);
});

it('the node is not ready while the CSINode cannot be made, and drivers register after that', async () => {
  await cluster.begin();
  const error = new ApiError({ code: 503, reason: 'ServiceUnavailable', message: 'the storage is away' });
  const heal = cluster.on.api.faults.add({
    verb: 'create',
    resource: resources.csiNodes,
    times: 1000,
    fault: { kind: 'refuse', error },
  });
  agent = await cluster.start();
  const ready = async () =>
    (await cluster.on.api.get(resources.nodes, { name: nodeName })).status?.conditions?.find(
      ({ type }) => type === 'Ready',
    );
  await seconds(1);
  expect(await ready()).toMatchObject({ status: 'False', message: expect.stringContaining('CSINode') });
  expect(cluster.driver.told).toEqual([]);
  heal();
  await seconds(60);
  // This machine has no disk to speak of.
  expect((await ready())?.message).toBe('missing node capacity for resources: ephemeral-storage');
  expect(cluster.driver.told).toEqual([{ pluginRegistered: true, error: '' }]);
});

it('a pod that waits for the cluster goes on when its driver needs no attaching any more', async () => {
  await begin();
  await cluster.on.create('web', claimed());
  await seconds(20);
  expect(cluster.driver.log()).toEqual([]);
  await cluster.on.api.patch(
    resources.csiDrivers,
    { name: cluster.driver.name },
    { type: 'merge', body: { spec: { attachRequired: false } } },
  );
  await agent.member.untilReady('web');
});

it('a kubelet that starts while the API is away unmounts nothing, and then only what nobody wants', async () => {
  await begin();
  await cluster.volume('other', ['ReadWriteOnce']);
  await cluster.on.create('web', claimed());
  await cluster.on.create('gone', claimed('other'));
  await controlled(20);
  for (const name of ['web', 'gone']) await agent.member.untilReady(name);
  await agent.crash();
  await cluster.on.delete('gone', 0);
  const calls = cluster.driver.log().length;
  cluster.setReachable(false);
  agent = await cluster.start();
  await seconds(90);
  expect(cluster.driver.log().slice(calls)).toEqual([]);
  cluster.setReachable(true);
  await controlled(90);
  expect(cluster.driver.log().slice(calls).sort()).toEqual([
    'nodePublishVolume',
    'nodeStageVolume',
    'nodeUnpublishVolume',
    'nodeUnstageVolume',
  ]);
  expect(await inUse()).toEqual([cluster.uniqueName('vol-disk')]);
});

it('pods wait in silence for the list of drivers, and nothing is unmounted before it is there', async () => {
  await begin();
  await cluster.volume('other', ['ReadWriteOnce']);
  await cluster.on.create('web', claimed());
  await controlled(20);
  await agent.member.untilReady('web');
  await agent.crash();
  const calls = cluster.driver.log().length;
  const heal = cluster.on.api.faults.add({
    verb: 'list',
    resource: resources.csiDrivers,
    times: 1000,
    fault: { kind: 'delay', delayMs: 60 * minute },
  });
  agent = await cluster.start();
  await cluster.on.create('next', claimed('other'));
  await cluster.on.create('plain', {});
  await controlled(60);
  expect(cluster.driver.log().slice(calls)).toEqual([]);
  expect([...mountEvents('web'), ...mountEvents('next')]).toEqual([]);
  // Pods without such a volume do not wait for it.
  expect(agent.member.node.isReady('plain')).toBe(true);
  heal();
  await agent.crash();
  agent = await cluster.start();
  await controlled(30);
  for (const name of ['web', 'next']) await agent.member.untilReady(name);
  expect(cluster.driver.log().slice(calls)).not.toContain('nodeUnpublishVolume');
});

it('the volume of a claim that is being deleted stays while its pod runs, also over a restart', async () => {
  await begin({ attachRequired: false });
  const key = { namespace: 'default', name: 'disk' };
  await cluster.on.api.patch(resources.persistentVolumeClaims, key, {
    type: 'merge',
    body: { metadata: { finalizers: ['kubernetes.io/pvc-protection'] } },
  });
  await cluster.on.create('web', claimed());
  await agent.member.untilReady('web');
  await cluster.on.api.delete(resources.persistentVolumeClaims, key);
  const { metadata } = await cluster.on.api.get(resources.persistentVolumeClaims, key);
  expect(metadata.deletionTimestamp).toBeDefined();
  await agent.crash();
  agent = await cluster.start();
  await seconds(90);
  expect(cluster.driver.log()).toEqual([
    'nodeStageVolume',
    'nodePublishVolume',
    'nodeStageVolume',
    'nodePublishVolume',
  ]);
  expect(agent.member.node.isReady('web')).toBe(true);
  await cluster.on.delete('web');
  await seconds(30);
  expect(await cluster.remains()).toEqual([]);
});

it('a node that attaches volumes itself says that it cannot', async () => {
  await begin({}, { kubelet: { config: { enableControllerAttachDetach: false } } });
  await cluster.on.create('web', claimed());
  await seconds(5);
  const told = agent.member.node.events('web', 'FailedAttachVolume').map(({ message }) => message);
  expect(told[0]).toBe(
    'AttachVolume.Attach failed for volume "pv-disk" : attaching volumes from the kubelet is not supported',
  );
  expect(mountEvents()).toEqual([]);
  expect(cluster.driver.log()).toEqual([]);
});

describe('a driver that wants to publish again', () => {
  it('is asked at every sync, never to stage, and a failure touches nothing', async () => {
    await begin({ requiresRepublish: true, attachRequired: false });
    await cluster.on.create('web', claimed());
    await agent.member.untilReady('web');
    await agent.member.node.advance(4 * minute);
    const log = cluster.driver.log();
    expect(log.filter((call) => call === 'nodeStageVolume')).toHaveLength(1);
    expect(log.filter((call) => call === 'nodePublishVolume').length).toBeGreaterThan(2);
    const before = [...(await cluster.driver.volumes.mounted()).values()].flat();
    const effect = { kind: 'error', code: 'Internal' } as const;
    cluster.driver.fail({ method: 'nodePublishVolume', when: 'before', times: 5, effect });
    await agent.member.node.advance(3 * minute);
    expect(mountEvents()[0]).toContain(
      'MountVolume.SetUp failed for volume "pv-disk" : rpc error: code = Internal',
    );
    expect([...(await cluster.driver.volumes.mounted()).values()].flat()).toEqual(before);
    expect(agent.member.node.isReady('web')).toBe(true);
    await agent.member.node.advance(4 * minute);
    expect(cluster.driver.log().at(-1)).toBe('nodePublishVolume');
    await cluster.on.delete('web');
    await controlled(30);
    expect(await cluster.remains()).toEqual([]);
  });

  it('gets new tokens in time, beside the secret of the volume if it wants them there', async () => {
    const { api } = cluster.on;
    await cluster.begin({
      attachRequired: false,
      requiresRepublish: true,
      tokenRequests: [{ audience: 'vault', expirationSeconds: 600 }],
      serviceAccountTokenInSecrets: true,
    });
    await api.create(resources.serviceAccounts, { metadata: { name: 'sa', namespace: 'default' } });
    const data = { pass: Buffer.from('word').toString('base64') };
    await api.create(resources.secrets, { metadata: { name: 'key', namespace: 'keys' }, data });
    await cluster.volume('disk', ['ReadWriteOnce'], {
      nodePublishSecretRef: { namespace: 'keys', name: 'key' },
    });
    agent = await cluster.start();
    await cluster.on.create('web', claimed('disk', { serviceAccountName: 'sa' }));
    await agent.member.untilReady('web');
    await agent.member.node.advance(12 * minute);
    const requests = cluster.driver.requests<NodePublishVolumeRequest>('nodePublishVolume');
    const key = 'csi.storage.k8s.io/serviceAccount.tokens';
    for (const { secrets, volumeContext } of requests) {
      expect(Object.keys(secrets).sort()).toEqual([key, 'pass']);
      expect(volumeContext).toEqual({});
    }
    const tokens = requests.map(({ secrets }) => JSON.parse(secrets[key] ?? '').vault.token);
    expect(new Set(tokens).size).toBe(2);
    expect(cluster.driver.log().filter((call) => call === 'nodeStageVolume')).toHaveLength(1);
  });

  it('and for tokens is not asked while there are none', async () => {
    await begin({ attachRequired: false, tokenRequests: [{ audience: 'vault' }] });
    await cluster.on.create('web', claimed('disk', { serviceAccountName: 'none' }));
    await seconds(20);
    expect(cluster.driver.log()).toEqual(['nodeStageVolume']);
    expect(mountEvents()[0]).toContain('mounter.SetUpAt failed to get service accoount token attributes: ');
  });
});
