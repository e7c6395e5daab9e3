/** Kinds of volumes that need something of the cluster or of other machines, from the pod to the mount and back. */
import { afterEach, describe, expect, it } from 'vitest';
import { resolveFeatureGates } from '../../src/config/index.js';
import type { CriRuntime } from '../../src/cri/index.js';
import { mountAt, simulatedHost } from '../../src/host/index.js';
import type { Pod, Volume, VolumeProjection } from '../../src/kube/index.js';
import type { KubeletOptions } from '../../src/kubelet/index.js';
import { CachedServiceAccountTokens, type PodTokenRequest } from '../../src/volumes/index.js';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, second } from './node.js';
import { apiPod } from './pods.js';
import { Outside, startVolumeNode, type VolumeNode, volumePath } from './volume-node.js';

afterEach(endNodes);

function webPod(name: string, volume: Volume, mount: object = {}): Pod {
  return apiPod(name, {
    containers: [
      { name: 'app', image: 'app:1', volumeMounts: [{ name: volume.name, mountPath: '/v', ...mount }] },
    ],
    spec: { volumes: [volume] },
  });
}

const failures = (node: Node, name: string): string[] =>
  node.events(name, 'FailedMount').map(({ message }) => message);

/** Waits until the first attempt to mount something for the pod failed, and tells how. */
async function refusal({ node }: VolumeNode, pod: Pod): Promise<string> {
  const { name } = pod.metadata;
  node.put(pod);
  await node.until('it is refused', () => failures(node, name).length > 0);
  expect(node.status(name)?.phase).toBe('Pending');
  expect(node.waitingReason(name)).toBe('ContainerCreating');
  return failures(node, name)[0] ?? '';
}

async function removed({ node, host }: VolumeNode, name: string): Promise<void> {
  node.delete(name, 1);
  await node.untilStopped(name);
  node.drop(name);
  await node.advance(5 * second);
  const outside = new Outside(host.machine);
  expect((await outside.mounts()).filter((path) => path.includes(`uid-of-${name}`))).toEqual([]);
  expect(await outside.pods()).not.toContain(`uid-of-${name}`);
}

const projected = (source: VolumeProjection): Volume => ({ name: 'p', projected: { sources: [source] } });

describe('a service account token', () => {
  const token = projected({
    serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 3600 },
  });
  /** A node whose API gives tokens of an hour, or refuses to. */
  async function tokenNode() {
    const machine = new Machine();
    const asked: PodTokenRequest[] = [];
    const api = { isDown: false };
    const tokens = new CachedServiceAccountTokens({
      clock: machine.time,
      random: () => 0,
      requestToken: async (request) => {
        if (api.isDown) throw new Error('the server is away');
        asked.push(request);
        const expiresAtMs = machine.time.now() + 3600 * second;
        return { token: `jwt-${asked.length}`, expiresAtMs, lifetimeSeconds: 3600 };
      },
    });
    const on = await startVolumeNode({ machine, kubelet: { tokens } });
    const pod = webPod('web', token);
    on.node.set([pod]);
    await on.node.untilReady('web');
    const text = (): Promise<string | undefined> =>
      new Outside(on.host.machine).text(`${volumePath(pod, 'projected', 'p')}/token`);
    return { on, pod, asked, api, tokens, text };
  }

  // An hour of a whole node, with a look at its volumes many times a minute.
  const long = { timeout: 60_000 };

  it('is asked for once, and again before it expires', long, async () => {
    const { on, asked, text, tokens } = await tokenNode();
    expect(asked).toEqual([
      {
        namespace: 'default',
        serviceAccountName: 'default',
        audiences: ['vault'],
        expirationSeconds: 3600,
        boundPod: { name: 'web', uid: 'uid-of-web' },
      },
    ]);
    await on.node.advance(10 * minute);
    expect(await text()).toBe('jwt-1');
    await on.node.advance(40 * minute);
    expect(await text()).toBe('jwt-2');
    expect(asked).toHaveLength(2);
    expect(on.node.machine.running('web')[0]?.attempt).toBe(0);
    await removed(on, 'web');
    expect(tokens.size).toBe(0);
    expect(JSON.stringify(on.node.entries)).not.toContain('jwt-');
  });

  it('that cannot be renewed is kept as long as it is good; the pod runs on', long, async () => {
    const { on, api, text } = await tokenNode();
    api.isDown = true;
    await on.node.advance(58 * minute);
    expect(failures(on.node, 'web')).toEqual([]);
    await on.node.advance(5 * minute);
    expect(failures(on.node, 'web')[0]).toMatch(
      /^MountVolume\.SetUp failed for volume "p" : token "default"\/"default"\/\[\]string\{"vault"\}\/3600\/.* expired and refresh failed: the server is away$/,
    );
    expect(await text()).toBe('jwt-1');
    expect(on.node.isReady('web')).toBe(true);
    api.isDown = false;
    await on.node.advance(4 * minute);
    expect(await text()).toBe('jwt-2');
  });

  it('cannot be had without an API server', async () => {
    expect(await refusal(await startVolumeNode(), webPod('web', token))).toBe(
      'MountVolume.SetUp failed for volume "p" : cannot setup projected volume p because kube client is not configured',
    );
  });
});

describe('a bundle of trusted certificates', () => {
  const bundle = projected({ clusterTrustBundle: { name: 'roots', path: 'ca.pem' } });
  const given: Partial<KubeletOptions> = { trustBundles: { bundle: async ({ name }) => `PEM of ${name}` } };
  const { gates } = resolveFeatureGates({ ClusterTrustBundle: true, ClusterTrustBundleProjection: true });

  it('needs the gate ClusterTrustBundleProjection', async () => {
    const { gates: off } = resolveFeatureGates({ ClusterTrustBundleProjection: false });
    expect(
      await refusal(await startVolumeNode({ kubelet: { ...given, gates: off } }), webPod('web', bundle)),
    ).toBe(
      'MountVolume.SetUp failed for volume "p" : ClusterTrustBundle projection is not supported in static kubelet mode',
    );
  });

  it('is a file', async () => {
    const on = await startVolumeNode({ kubelet: { ...given, gates } });
    const pod = webPod('web', bundle);
    on.node.set([pod]);
    await on.node.untilReady('web');
    const path = `${volumePath(pod, 'projected', 'p')}/ca.pem`;
    expect(await new Outside(on.host.machine).text(path)).toBe('PEM of roots');
  });
});

describe('a persistent volume', () => {
  const claimed: Volume = { name: 'd', persistentVolumeClaim: { claimName: 'data' } };
  const ephemeral: Volume = {
    name: 'd',
    ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], volumeName: 'pv-1' } } },
  };
  const claim = (name: string, metadata: object = {}) => ({
    metadata: { name, namespace: 'default', uid: 'c1', ...metadata },
    spec: { volumeName: 'pv-1' },
    status: { phase: 'Bound' },
  });
  const volume = (spec: object, claimName = 'data') => ({
    metadata: { name: 'pv-1' },
    spec: { claimRef: { namespace: 'default', name: claimName, uid: 'c1' }, ...spec },
  });
  async function withVolume(spec: object, name = 'data', metadata: object = {}): Promise<VolumeNode> {
    const on = await startVolumeNode();
    await new Outside(on.host.machine).makeDirectory('/mnt/disk');
    on.objects.set('test', {
      persistentVolumes: [volume(spec, name)],
      persistentVolumeClaims: [claim(name, metadata)],
    });
    return on;
  }
  const owner = (uid: string) => ({
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid, controller: true }],
  });

  it.each([
    ['of a file server', { nfs: { server: 'files', path: '/a' }, mountOptions: ['soft', 'nolock'] }, 'nfs'],
    ['of the machine', { local: { path: '/mnt/disk' } }, 'local-volume'],
  ])('%s is mounted by its own name', async (_kind, spec, plugin) => {
    const on = await withVolume(spec);
    const pod = webPod('web', claimed);
    on.node.set([pod]);
    await on.node.untilReady('web');
    const path = volumePath(pod, plugin, 'pv-1');
    expect([...on.created.get('web/app')!.keys()]).toEqual([path]);
    const mount = await mountAt(simulatedHost({ machine: on.host.machine }), path);
    expect(mount?.source).toBe(plugin === 'nfs' ? 'files:/a' : mount?.source);
    if (plugin === 'nfs') expect(mount?.superOptions).toEqual(expect.arrayContaining(['nolock', 'soft']));
    await removed(on, 'web');
    expect((await new Outside(on.host.machine).names('/mnt')).length).toBe(1);
  });

  it('that is a hostPath is that path itself', async () => {
    const on = await withVolume({ hostPath: { path: '/mnt/disk' } });
    on.node.set([webPod('web', claimed)]);
    await on.node.untilReady('web');
    expect([...on.created.get('web/app')!.keys()]).toEqual(['/mnt/disk']);
    await removed(on, 'web');
  });

  it.each([
    ['made by a controller', 'web-d', owner('uid-of-web')],
    ['of the template', 'other', {}],
  ])('is found by the claim of a generic ephemeral volume, %s', async (_rule, name, metadata) => {
    const on = await startVolumeNode();
    await new Outside(on.host.machine).makeDirectory('/mnt/disk');
    on.objects.set('test', {
      persistentVolumes: [
        name === 'web-d'
          ? volume({ local: { path: '/mnt/disk' } }, name)
          : { metadata: { name: 'pv-1' }, spec: { local: { path: '/mnt/disk' } } },
      ],
      persistentVolumeClaims: [claim(name, metadata)],
    });
    const pod = webPod('web', ephemeral);
    on.node.set([pod]);
    await on.node.untilReady('web');
    expect([...on.created.get('web/app')!.keys()]).toEqual([volumePath(pod, 'local-volume', 'pv-1')]);
    await removed(on, 'web');
  });

  it.each([
    ['rbd', { rbd: { monitors: ['m'], image: 'i' } }],
    ['cephfs', { cephfs: { monitors: ['m'] } }],
  ])('of a kind that no node serves any more is refused: %s', async (kind, source) => {
    const on = await startVolumeNode();
    expect(await refusal(on, webPod('web', { name: 'd', ...source }))).toBe(
      `MountVolume.SetUp failed for volume "d" : volume "d" is of kind ${kind}, which this node does not support; use another kind of volume`,
    );
  });

  it.each([
    ['belongs to another pod', owner('another')],
    ['was made by hand', {}],
  ])('is refused to a generic ephemeral volume whose claim %s', async (_rule, metadata) => {
    const on = await withVolume({ local: { path: '/mnt/disk' } }, 'web-d', metadata);
    expect(await refusal(on, webPod('web', ephemeral))).toBe(
      'Unable to attach or mount volumes: unmounted volumes=[d], unattached volumes=[], failed to process volumes=[d]: PVC default/web-d was not created for pod default/web (pod is not owner)',
    );
  });

  it('for one pod is refused to a second one, until the first is gone', async () => {
    const on = await withVolume({ local: { path: '/mnt/disk' }, accessModes: ['ReadWriteOncePod'] });
    on.node.set([webPod('one', claimed)]);
    await on.node.untilReady('one');
    expect(await refusal(on, webPod('two', claimed))).toBe(
      'MountVolume.SetUp failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
    await removed(on, 'one');
    await on.node.untilReady('two', 5 * minute);
  });

  it('that is a block device is refused in volumeMounts', async () => {
    const on = await withVolume({ local: { path: '/dev/sdb' }, volumeMode: 'Block' });
    expect(await refusal(on, webPod('web', claimed))).toContain(
      'failed to process volumes=[d]: volume d has volumeMode Block, but is specified in volumeMounts',
    );
  });

  it.each([
    [
      'csi without its driver',
      { csi: { driver: 'd', volumeHandle: 'h' } },
      'driver name d not found in the list of registered CSI drivers',
    ],
    [
      'csi with a driver that is a path',
      { csi: { driver: '../d', volumeHandle: 'h' } },
      'csi.driver "../d" is no name of a CSI driver',
    ],
    ['elsewhere', { local: { path: '/mnt/none' } }, 'MountVolume.MountDevice failed for volume "pv-1" : '],
  ])('that cannot be mounted is refused: %s', async (_rule, spec, text) => {
    expect(await refusal(await withVolume(spec), webPod('web', claimed))).toContain(text);
  });
});

it('an image volume is left to the runtime, with all that it needs', async () => {
  const on = await startVolumeNode();
  const pod = webPod('web', { name: 'i', image: { reference: 'data:2' } }, { subPath: 'part' });
  on.node.set([pod]);
  await on.node.untilReady('web');
  const [mount, ...others] = on.told.get('web/app') ?? [];
  expect(others).toEqual([]);
  expect(mount).toMatchObject({
    containerPath: '/v',
    readonly: true,
    image: { userSpecifiedImage: 'data:2', annotations: pod.metadata.annotations },
    imageSubPath: 'part',
  });
  expect(mount?.image?.image).toBeTruthy();
  expect(mount?.hostPath).toBeUndefined();
  expect(await new Outside(on.host.machine).mounts()).toEqual([]);
  await removed(on, 'web');
});

it.each([
  ['gitRepo', { gitRepo: { repository: 'r' } }, 'git-repo volume plugin has been disabled'],
  [
    'csi without its driver',
    { csi: { driver: 'd' } },
    'driver name d not found in the list of registered CSI drivers',
  ],
])('a volume of kind %s is refused with the reason', async (_kind, source, text) => {
  const volume: Volume = { name: 'v', ...source };
  expect(await refusal(await startVolumeNode(), webPod('web', volume))).toContain(text);
});

it('recursiveReadOnly is up to the runtime handler of the pod, and its status says what became of it', async () => {
  const machine = new Machine({ images: 'any', runtimeHandlers: ['able'] });
  const features = (isAble: boolean) => ({ recursiveReadOnlyMounts: isAble, userNamespaces: false });
  const status = async (...request: Parameters<Machine['status']>) => ({
    ...(await machine.status(...request)),
    runtimeHandlers: ['', 'able'].map((name) => ({ name, features: features(name === 'able') })),
  });
  const through = (): CriRuntime =>
    new Proxy<CriRuntime>(machine, {
      get: (target, name) => {
        if (name === 'status') return status;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  const runtimeClasses = { handler: async () => 'able' };
  const on = await startVolumeNode({ machine, through, kubelet: { runtimeClasses } });
  const wish = { readOnly: true, recursiveReadOnly: 'IfPossible' };
  const able = webPod('able', { name: 'e', emptyDir: {} }, wish);
  able.spec.runtimeClassName = 'able';
  on.node.set([able, webPod('plain', { name: 'e', emptyDir: {} }, wish)]);
  for (const [name, isRecursive] of [
    ['able', true],
    ['plain', false],
  ] as const) {
    await on.node.untilReady(name);
    expect(on.told.get(`${name}/app`)?.[0]).toMatchObject({ readonly: true, recursiveReadOnly: isRecursive });
    expect(on.node.container(name)?.volumeMounts).toEqual([
      {
        name: 'e',
        mountPath: '/v',
        readOnly: true,
        recursiveReadOnly: isRecursive ? 'Enabled' : 'Disabled',
      },
    ]);
  }
});

it('a mount that a container left in an emptyDir does not keep it', async () => {
  const on = await startVolumeNode();
  const pod = webPod('web', { name: 'e', emptyDir: {} }, { mountPropagation: 'Bidirectional' });
  on.node.set([pod]);
  await on.node.untilReady('web');
  const machine = simulatedHost({ machine: on.host.machine });
  const target = `${volumePath(pod, 'empty-dir', 'e')}/sub`;
  await machine.files.mkdir(target);
  await machine.mounts.mount({ source: 'tmpfs', target, fsType: 'tmpfs' });
  await removed(on, 'web');
});

it('an image that is mounted as a volume outlives the collection of images', async () => {
  const { node } = await startVolumeNode({ kubelet: { config: { imageMaximumGCAge: minute } } });
  const data = webPod('data', { name: 'i', image: { reference: 'data:2' } });
  node.set([data, apiPod('other', { image: 'other:3' })]);
  await node.untilReady('data');
  await node.untilReady('other');
  node.set([data]);
  await node.advance(11 * minute);
  const isThere = async (name: string): Promise<boolean> =>
    (await node.machine.imageStatus({ image: { image: name } })).image !== undefined;
  expect([await isThere('data:2'), await isThere('other:3')]).toEqual([true, false]);
});
