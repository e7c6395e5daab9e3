/** Volumes that are mounted with SELinux labels: which flags the driver gets, who must wait, and what a restart knows of it. */
import { afterEach, describe, expect, it } from 'vitest';
import { settle } from '../../src/async/index.js';
import { resolveFeatureGates } from '../../src/config/index.js';
import { type SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import type { Pod, SELinuxOptions } from '../../src/kube/index.js';
import { samples } from '../../src/metrics/test-samples.js';
import { policyWithoutObject } from '../../src/volumes/csi/driver-policy.js';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { CsiCluster } from './csi-cluster.js';
import { CsiWorld, claimPod } from './csi-world.js';
import { endNodes, hostFacts } from './node.js';

const rootDir = '/var/lib/kubelet';
const label = (level: string): string => `system_u:object_r:container_file_t:${level}`;
const option = (level: string): string => `context="${label(level)}"`;
const policyFiles = {
  '/etc/selinux/config': 'SELINUX=enforcing\nSELINUXTYPE=targeted\n',
  '/etc/selinux/targeted/contexts/lxc_contexts': 'file = "system_u:object_r:container_file_t:s0"\n',
};

let cluster: CsiCluster | undefined;
afterEach(async () => {
  await cluster?.manager.stop();
  cluster = undefined;
  await endNodes();
});

async function write(machine: SimulatedMachine, texts: object): Promise<void> {
  const { files } = simulatedHost({ machine });
  for (const [path, text] of Object.entries(texts)) {
    await files.mkdir(path.replace(/\/[^/]+$/, ''), { recursive: true });
    await files.writeFile(path, text);
  }
}

async function begin(
  seLinux?: 'all modes' | 'one pod',
  files: object = policyFiles,
  claim: object = {},
): Promise<CsiCluster> {
  const begun = await CsiCluster.start('d.test', seLinux);
  cluster = begun;
  begun.policy = { ...begun.policy, seLinuxMount: true };
  await write(begun.machine, files);
  await begun.claim('c', { mountOptions: ['noatime'], ...claim });
  return begun;
}

function podOf(
  on: CsiCluster,
  uid: string,
  seLinuxOptions: SELinuxOptions,
  seLinuxChangePolicy?: string,
): Pod {
  const pod = on.pod(uid, 'c');
  pod.spec.securityContext = {
    seLinuxOptions,
    ...(seLinuxChangePolicy === undefined ? {} : { seLinuxChangePolicy }),
  };
  return pod;
}

const flagsOf = (
  request: NodeStageVolumeRequest | NodePublishVolumeRequest | undefined,
): readonly string[] => {
  const type = request?.volumeCapability?.accessType;
  return type?.case === 'mount' ? type.value.mountFlags : [];
};
const staged = (on: CsiCluster): (readonly string[])[] =>
  on.driver.requests<NodeStageVolumeRequest>('nodeStageVolume').map(flagsOf);
const published = (on: CsiCluster): (readonly string[])[] =>
  on.driver.requests<NodePublishVolumeRequest>('nodePublishVolume').map(flagsOf);

async function contextsOnDisk(on: CsiCluster, uid: string): Promise<unknown[]> {
  const { files } = simulatedHost({ machine: on.machine });
  const drivers = `${rootDir}/plugins/kubernetes.io/csi/d.test`;
  const [name = ''] = await files.readdir(drivers);
  const paths = [`${drivers}/${name}`, `${rootDir}/pods/${uid}/volumes/kubernetes.io~csi/pv-c`];
  const read = async (path: string): Promise<unknown> => {
    const data: { seLinuxMountContext?: unknown } = JSON.parse(
      new TextDecoder().decode(await files.readFile(`${path}/vol_data.json`)),
    );
    return data.seLinuxMountContext;
  };
  return Promise.all(paths.map(read));
}

async function isRelabelled(on: CsiCluster, pod: Pod): Promise<boolean | undefined> {
  const mounts = await on.manager.mounts(pod, pod.spec.containers[0]!, {
    subPath: () => '',
    imageOf: () => undefined,
    runtimeHandler: '',
  });
  return mounts[0]?.selinuxRelabel;
}

const counted = (on: CsiCluster): Record<string, number> =>
  Object.fromEntries(
    Object.entries(samples(on.registry)).filter(([name]) => name.startsWith('volume_manager_selinux_')),
  );

describe('a volume of a driver that mounts with labels', () => {
  it('is staged and published with the label of its pod, which is on disk, and nobody relabels it', async () => {
    const on = await begin('all modes');
    const pod = podOf(on, 'u1', { level: 's0:c1,c2' });
    expect(await on.sync(pod)).toBe('mounted');
    expect(staged(on)).toEqual([['noatime', option('s0:c1,c2')]]);
    expect(published(on)).toEqual([['noatime', option('s0:c1,c2')]]);
    expect(await contextsOnDisk(on, 'u1')).toEqual([label('s0:c1,c2'), label('s0:c1,c2')]);
    expect(await isRelabelled(on, pod)).toBe(false);
    expect(counted(on)).toEqual({
      'volume_manager_selinux_volumes_admitted_total{volume_plugin="kubernetes.io/csi/d.test",access_mode="RWO"}': 1,
    });
    await on.end(pod);
    expect(on.driver.volumes.violations).toEqual([]);
  });

  it.each<[string, (on: CsiCluster) => Pod]>([
    ['the policy Recursive', (on) => podOf(on, 'u1', { level: 's0:c1' }, 'Recursive')],
    [
      'a driver that does not',
      (on) => {
        on.policy = { ...on.policy, seLinuxMount: false };
        return podOf(on, 'u1', { level: 's0:c1' });
      },
    ],
    ['a level that is left to the runtime', (on) => podOf(on, 'u1', { type: 'spc_t' })],
    ['no options', (on) => on.pod('u1', 'c')],
  ])('is relabelled with %s', async (_, podFor) => {
    const on = await begin('all modes');
    const pod = podFor(on);
    expect(await on.sync(pod)).toBe('mounted');
    expect([...staged(on), ...published(on)]).toEqual([['noatime'], ['noatime']]);
    expect(await contextsOnDisk(on, 'u1')).toEqual([undefined, undefined]);
    expect(await isRelabelled(on, pod)).toBe(true);
    expect(counted(on)).toEqual({});
  });

  it('keeps the label that was decided while it could not be mounted', async () => {
    const on = await begin('all modes');
    const pod = podOf(on, 'u1', { level: 's1' });
    const effect = { kind: 'error', code: 'Internal' } as const;
    on.driver.fail({ method: 'nodeStageVolume', when: 'before', effect, times: 1000 });
    expect(await on.sync(pod)).toContain('context deadline exceeded');
    on.policy = { ...on.policy, seLinuxMount: false };
    on.driver.mend();
    expect(await on.sync(pod)).toBe('mounted');
    expect(staged(on).at(-1)).toEqual(['noatime', option('s1')]);
    expect(Object.values(counted(on))).toEqual([1]);
  });

  it('is refused to a pod with a level that would be another mount option', async () => {
    const on = await begin('all modes');
    const pod = podOf(on, 'u1', { level: 's0",exec="' });
    expect(await on.sync(pod)).toContain('is no SELinux level');
    expect(on.driver.log()).toEqual([]);
    expect(counted(on)).toEqual({ 'volume_manager_selinux_container_errors_total{access_mode="RWO"}': 1 });
  });

  it('is mounted as ever where the machine has no SELinux, and its policy is not read', async () => {
    const on = await begin();
    const pod = podOf(on, 'u1', { level: 's0:c1' });
    expect(await on.sync(pod)).toBe('mounted');
    expect([...staged(on), ...published(on)]).toEqual([['noatime'], ['noatime']]);
    expect(await isRelabelled(on, pod)).toBe(false);
    expect(counted(on)).toEqual({});
  });

  it('is relabelled where the policy of the machine cannot be read, which is told once', async () => {
    const on = await begin('all modes', {});
    for (const uid of ['u1', 'u2']) {
      const pod = podOf(on, uid, { level: 's0:c1' });
      expect(await on.sync(pod)).toBe('mounted');
      expect(await isRelabelled(on, pod)).toBe(true);
    }
    expect(on.entries.filter(({ what }) => what === 'volume.selinux')).toHaveLength(1);
  });
});

describe('two pods with one volume', () => {
  it('have it with the same label', async () => {
    const on = await begin('all modes');
    for (const uid of ['u1', 'u2']) expect(await on.sync(podOf(on, uid, { level: 's1' }))).toBe('mounted');
    expect([staged(on).length, published(on).length]).toEqual([1, 2]);
    expect(Object.values(counted(on))).toEqual([1]);
  });

  it('and different labels conflict; when the first has gone, it is staged anew for the second', async () => {
    const on = await begin('all modes');
    const first = podOf(on, 'u1', { level: 's1' });
    const second = podOf(on, 'u2', { level: 's2' });
    expect(await on.sync(first)).toBe('mounted');
    expect(await on.sync(second)).toContain(
      `conflicting SELinux labels of volume pv-c: "${label('s1')}" and "${label('s2')}"`,
    );
    expect(counted(on)).toMatchObject({
      'volume_manager_selinux_volume_context_mismatch_errors_total{volume_plugin="kubernetes.io/csi/d.test",access_mode="RWO"}': 1,
    });
    await on.end(first);
    expect(await on.sync(second)).toBe('mounted');
    expect(on.driver.log()).toEqual([
      'nodeStageVolume',
      'nodePublishVolume',
      'nodeUnpublishVolume',
      'nodeUnstageVolume',
      'nodeStageVolume',
      'nodePublishVolume',
    ]);
    expect(staged(on).at(-1)).toEqual(['noatime', option('s2')]);
    expect(on.driver.volumes.violations).toEqual([]);
  });

  it('that any number of pods may write conflict alike, but not where files are relabelled', async () => {
    const on = await begin('all modes', policyFiles, { accessModes: ['ReadWriteMany'] });
    const first = podOf(on, 'u1', { level: 's1' });
    expect(await on.sync(first)).toBe('mounted');
    expect(await on.sync(podOf(on, 'u2', { level: 's2' }))).toContain('conflicting SELinux labels of volume');
    await on.end(first);
    for (const [uid, level] of [
      ['u3', 's1'],
      ['u4', 's2'],
    ] as const)
      expect(await on.sync(podOf(on, uid, { level }, 'Recursive'))).toBe('mounted');
  });

  it('and different policies conflict', async () => {
    const on = await begin('all modes');
    expect(await on.sync(podOf(on, 'u1', { level: 's1' }))).toBe('mounted');
    expect(await on.sync(podOf(on, 'u2', { level: 's1' }, 'Recursive'))).toContain(
      `conflicting SELinux labels of volume pv-c: "${label('s1')}" and ""`,
    );
  });

  it('the second waits while the driver cannot take it from the first, and says so', async () => {
    const on = await begin('all modes');
    const first = podOf(on, 'u1', { level: 's1' });
    expect(await on.sync(first)).toBe('mounted');
    on.driver.fail({
      method: 'nodeUnpublishVolume',
      when: 'before',
      effect: { kind: 'error', code: 'Internal' },
      times: 1000,
    });
    on.pods.delete('u1');
    const ending = on.manager.waitForUnmounts(first, new AbortController().signal).catch(() => {});
    await settle();
    const second = podOf(on, 'u2', { level: 's2' });
    expect(await on.sync(second)).toContain(
      'waiting for unmount of volume "pv-c", because it is already mounted to a different pod with a different SELinux label',
    );
    expect(published(on)).toHaveLength(1);
    on.driver.mend();
    expect(await on.sync(second)).toBe('mounted');
    await ending;
    expect(published(on).at(-1)).toEqual(['noatime', option('s2')]);
    expect(on.driver.volumes.violations).toEqual([]);
  });
});

describe('containers of one pod with different levels', () => {
  const withTwo = (on: CsiCluster, pod = on.pod('u1', 'c')): Pod => {
    const volumeMounts = [{ name: 'data', mountPath: '/v' }];
    pod.spec.containers = ['s2', 's1'].map((level) => ({
      name: level,
      image: 'i',
      volumeMounts,
      securityContext: { seLinuxOptions: { level } },
    }));
    return pod;
  };

  it('cannot have one volume', async () => {
    const on = await begin('all modes');
    expect(await on.sync(withTwo(on))).toContain(
      `multiple SELinux labels found: ${label('s1')},${label('s2')}`,
    );
    expect(on.driver.log()).toEqual([]);
    expect(counted(on)).toEqual({
      'volume_manager_selinux_pod_context_mismatch_errors_total{access_mode="RWO"}': 1,
    });
  });

  it('are counted once where the volume is inline, and run', async () => {
    const on = await begin('all modes');
    on.policy = { ...on.policy, volumeLifecycleModes: ['Ephemeral'] };
    const pod = withTwo(on, on.podWith('u1', { csi: { driver: 'd.test' } }));
    for (let round = 0; round < 3; round += 1) expect(await on.sync(pod)).toBe('mounted');
    expect(counted(on)).toEqual({
      'volume_manager_selinux_pod_context_mismatch_warnings_total{access_mode="inline"}': 1,
    });
  });
});

describe('with labels only for volumes of one pod', () => {
  it('others are relabelled, and what would not fit is counted', async () => {
    const on = await begin('one pod');
    for (const level of ['s1', 's2']) {
      expect(await on.sync(podOf(on, `u-${level}`, { level }))).toBe('mounted');
    }
    expect(staged(on)).toEqual([['noatime']]);
    expect(counted(on)).toEqual({
      'volume_manager_selinux_volume_context_mismatch_warnings_total{volume_plugin="kubernetes.io/csi/d.test",access_mode="RWO"}': 1,
    });
  });

  it('a volume of one pod is mounted with its label', async () => {
    const on = await begin('one pod');
    await on.claim('own', { accessModes: ['ReadWriteOncePod'] });
    const pod = on.pod('u1', 'own');
    pod.spec.securityContext = { seLinuxOptions: { level: 's1' } };
    expect(await on.sync(pod)).toBe('mounted');
    expect([...staged(on), ...published(on)]).toEqual([[option('s1')], [option('s1')]]);
  });
});

describe('after a restart', () => {
  it('a pod keeps its label, and another one conflicts with it', async () => {
    const on = await begin('all modes');
    const first = podOf(on, 'u1', { level: 's1' });
    await on.sync(first);
    await on.restart();
    expect(await on.sync(first)).toBe('mounted');
    expect(staged(on).at(-1)).toEqual(['noatime', option('s1')]);
    expect(await on.sync(podOf(on, 'u2', { level: 's2' }))).toContain('conflicting SELinux labels');
    expect(on.driver.log()).not.toContain('nodeUnpublishVolume');
  });

  it('a running pod keeps the mount that it has, though its driver has begun to mount with labels', async () => {
    const on = await begin('all modes');
    on.policy = { ...on.policy, seLinuxMount: false };
    const pod = podOf(on, 'u1', { level: 's1' });
    await on.sync(pod);
    on.policy = { ...on.policy, seLinuxMount: true };
    expect(await on.sync(pod)).toBe('mounted');
    await on.restart();
    expect(await on.sync(pod)).toBe('mounted');
    expect(await isRelabelled(on, pod)).toBe(true);
    expect(staged(on)).toEqual([['noatime'], ['noatime']]);
    expect(on.driver.log()).not.toContain('nodeUnpublishVolume');
  });

  it('of a machine that has SELinux no more, labels on disk mean nothing', async () => {
    const on = await begin('all modes');
    const pod = podOf(on, 'u1', { level: 's1' });
    await on.sync(pod);
    on.seLinux = undefined;
    await on.restart();
    for (const each of [podOf(on, 'u2', { level: 's2' }), pod]) expect(await on.sync(each)).toBe('mounted');
    expect([...staged(on).slice(1), ...published(on).slice(1)]).toEqual([
      ['noatime'],
      ['noatime'],
      ['noatime'],
    ]);
  });

  it('a volume that a pod left with its label is unstaged before another pod has it with its own', async () => {
    const on = await begin('all modes');
    const first = podOf(on, 'u1', { level: 's1' });
    await on.sync(first);
    on.pods.delete('u1');
    await on.restart();
    expect(await on.sync(podOf(on, 'u2', { level: 's2' }))).toBe('mounted');
    expect(on.driver.log().slice(2)).toEqual([
      'nodeUnpublishVolume',
      'nodeUnstageVolume',
      'nodeStageVolume',
      'nodePublishVolume',
    ]);
    expect(staged(on).at(-1)).toEqual(['noatime', option('s2')]);
    expect(on.driver.volumes.violations).toEqual([]);
  });
});

describe('a whole kubelet', () => {
  it.each<[string, Record<string, boolean>, boolean, readonly string[]]>([
    ['mounts with labels by default', {}, true, [option('s1')]],
    ['does not where the feature is off', { SELinuxMount: false }, true, []],
    ['does not where the machine has no SELinux', {}, false, []],
  ])('%s', async (_, featureGates, isSelinuxEnabled, flags) => {
    const policy = { ...policyWithoutObject, exists: true, attachRequired: false, seLinuxMount: true };
    const world = new CsiWorld({
      cluster: { policies: { synced: async () => {}, get: () => policy } },
      kubelet: { gates: resolveFeatureGates(featureGates).gates, host: { ...hostFacts, isSelinuxEnabled } },
    });
    world.volume('disk');
    await write(world.files, policyFiles);
    await world.driver.start();
    const kubelet = await world.start();
    const securityContext = { seLinuxOptions: { level: 's1' } };
    kubelet.node.set([claimPod('web', 'disk', { spec: { securityContext } })]);
    await kubelet.node.untilReady('web');
    const requests = [
      ...world.driver.requests<NodeStageVolumeRequest>('nodeStageVolume'),
      ...world.driver.requests<NodePublishVolumeRequest>('nodePublishVolume'),
    ];
    expect(requests.map(flagsOf)).toEqual([flags, flags]);
    expect(kubelet.on.told.get('web/app')?.map(({ selinuxRelabel }) => selinuxRelabel)).toEqual([
      isSelinuxEnabled && flags.length === 0,
    ]);
    await kubelet.end('web');
    await kubelet.untilNothingIsLeft();
  });
});
