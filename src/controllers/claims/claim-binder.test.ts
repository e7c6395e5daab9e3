import { afterEach, describe, expect, it } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { TestCluster, testNodeName } from '../test-cluster.js';
import { decideClaim, decideVolume, usesClaim } from './decide.js';

const volume = (
  name: string,
  spec: Partial<PersistentVolume['spec']> = {},
  status?: PersistentVolume['status'],
): PersistentVolume => ({
  metadata: { name, labels: { disk: name } },
  spec: {
    capacity: { storage: '5Gi' },
    accessModes: ['ReadWriteOnce'],
    hostPath: { path: '/data' },
    ...spec,
  },
  ...(status === undefined ? {} : { status }),
});
const claimOf = (spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'default', uid: 'u' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});
const reservedFor = (name: string, uid?: string) => ({
  claimRef: { namespace: 'default', name, ...(uid === undefined ? {} : { uid }) },
});
const late: StorageClass = {
  metadata: { name: 'late' },
  provisioner: 'p',
  volumeBindingMode: 'WaitForFirstConsumer',
};
const made: StorageClass = { metadata: { name: 'made' }, provisioner: 'p' };

describe('decideClaim', () => {
  it.each<
    [
      rule: string,
      claim: PersistentVolumeClaim,
      volumes: PersistentVolume[],
      storageClass: StorageClass | undefined,
      expected: string,
    ]
  >([
    [
      'the smallest that fits',
      claimOf(),
      [volume('b', { capacity: { storage: '9Gi' } }), volume('a')],
      undefined,
      'a',
    ],
    [
      'one that is too small does not',
      claimOf({ resources: { requests: { storage: '6Gi' } } }),
      [volume('a')],
      undefined,
      'FailedBinding',
    ],
    [
      'another class does not',
      claimOf({ storageClassName: 'fast' }),
      [volume('a')],
      undefined,
      'FailedBinding',
    ],
    ['another mode does not', claimOf({ volumeMode: 'Block' }), [volume('a')], undefined, 'FailedBinding'],
    [
      'a missing access mode does not',
      claimOf({ accessModes: ['ReadWriteMany'] }),
      [volume('a')],
      undefined,
      'FailedBinding',
    ],
    [
      'the selector chooses',
      claimOf({ selector: { matchLabels: { disk: 'b' } } }),
      [volume('a'), volume('b')],
      undefined,
      'b',
    ],
    [
      'one that is released does not',
      claimOf(),
      [volume('a', {}, { phase: 'Released' })],
      undefined,
      'FailedBinding',
    ],
    [
      'one that is reserved for another does not',
      claimOf(),
      [volume('a', reservedFor('other'))],
      undefined,
      'FailedBinding',
    ],
    [
      'one that is reserved for it comes first',
      claimOf(),
      [volume('a'), volume('b', reservedFor('data'))],
      undefined,
      'b',
    ],
    [
      'one of a former claim of its name is not its own',
      claimOf(),
      [volume('a', reservedFor('data', 'old'))],
      undefined,
      'FailedBinding',
    ],
    ['the one that it names', claimOf({ volumeName: 'b' }), [volume('a'), volume('b')], undefined, 'b'],
    [
      'the one that it names must fit',
      claimOf({ volumeName: 'a', volumeMode: 'Block' }),
      [volume('a')],
      undefined,
      'VolumeMismatch',
    ],
    [
      'its class may want to wait for a pod',
      claimOf({ storageClassName: 'late' }),
      [volume('a', { storageClassName: 'late' })],
      late,
      'WaitForFirstConsumer',
    ],
    ['no volume is made', claimOf({ storageClassName: 'made' }), [], made, 'ProvisioningFailed'],
  ])('%s', (_, claim, volumes, storageClass, expected) => {
    const decision = decideClaim({ claim, volumes, storageClass, node: undefined });
    expect(
      decision.kind === 'bind'
        ? decision.volume.metadata.name
        : 'reason' in decision
          ? decision.reason
          : decision.kind,
    ).toBe(expected);
  });
});

describe('decideVolume', () => {
  it.each<
    [rule: string, volume: PersistentVolume, claim: PersistentVolumeClaim | undefined, expected: string]
  >([
    ['free', volume('a'), undefined, 'Available'],
    ['reserved for a name', volume('a', reservedFor('data')), undefined, 'Available'],
    ['bound', volume('a', reservedFor('data', 'u')), claimOf(), 'Bound'],
    ['its claim is gone', volume('a', reservedFor('data', 'u')), undefined, 'Released'],
    ['its claim is another one now', volume('a', reservedFor('data', 'old')), claimOf(), 'Released'],
    [
      'it goes with its claim',
      volume('a', { ...reservedFor('data', 'u'), persistentVolumeReclaimPolicy: 'Delete' }),
      undefined,
      'delete',
    ],
    [
      'nobody cleans it',
      volume('a', { ...reservedFor('data', 'u'), persistentVolumeReclaimPolicy: 'Recycle' }),
      undefined,
      'Failed',
    ],
  ])('%s', (_, given, claim, expected) => {
    const decision = decideVolume(given, claim);
    expect(decision.kind === 'phase' ? decision.phase : decision.kind).toBe(expected);
  });
});

describe('usesClaim', () => {
  const user = (volume: object, status: Pod['status'] = {}): Pod => ({
    metadata: { name: 'web', namespace: 'default', uid: 'pod' },
    spec: { containers: [], volumes: [{ name: 'v', ...volume }] },
    status,
  });
  const named = { persistentVolumeClaim: { claimName: 'web-v' } };
  const ephemeral = { ephemeral: { volumeClaimTemplate: { spec: {} } } };
  const of = (uid: string): PersistentVolumeClaim => ({
    ...claimOf(),
    metadata: {
      name: 'web-v',
      namespace: 'default',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid, controller: true }],
    },
  });
  it.each<[rule: string, pod: Pod, claim: PersistentVolumeClaim, expected: boolean]>([
    ['a pod uses the claim that it names, whoever owns it', user(named), of('other'), true],
    ['a pod uses the claim of its ephemeral volume', user(ephemeral), of('pod'), true],
    ['a pod does not use the claim of a former pod of its name', user(ephemeral), of('former'), false],
    ['a pod does not use another claim', user(named), claimOf(), false],
    ['a pod that ended uses none', user(named, { phase: 'Failed' }), of('pod'), false],
  ])('%s', (_, given, claim, expected) => {
    expect(usesClaim(given, claim)).toBe(expected);
  });
});

describe('the claim binder', () => {
  let cluster: TestCluster;
  afterEach(() => cluster.stop());
  const pod = (volumes: object[]) => ({
    metadata: { name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'main', image: 'i' }], volumes: volumes as never },
  });

  it('binds a claim, runs the pod that waits for it, and releases the volume', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.persistentVolumeClaims, claimOf());
    await cluster.api.create(
      resources.pods,
      pod([{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]),
    );
    await cluster.settle();
    expect((await cluster.get(resources.persistentVolumeClaims, 'data')).status?.phase).toBe('Pending');
    expect((await cluster.get(resources.pods, 'web')).spec.nodeName).toBeUndefined();
    await cluster.api.create(resources.persistentVolumes, volume('a'));
    await cluster.advance(1000);
    const bound = await cluster.get(resources.persistentVolumeClaims, 'data');
    expect([bound.spec.volumeName, bound.status]).toEqual([
      'a',
      { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' } },
    ]);
    expect((await cluster.get(resources.persistentVolumes, 'a')).status?.phase).toBe('Bound');
    expect((await cluster.get(resources.pods, 'web')).spec.nodeName).toBe(testNodeName);
    await cluster.api.delete(resources.persistentVolumeClaims, { namespace: 'default', name: 'data' });
    await cluster.settle();
    expect((await cluster.get(resources.persistentVolumes, 'a')).status?.phase).toBe('Released');
  });

  it('gives no volume to two claims', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.persistentVolumes, volume('a'));
    for (const name of ['one', 'two', 'three'])
      await cluster.api.create(resources.persistentVolumeClaims, {
        ...claimOf(),
        metadata: { name, namespace: 'default' },
      });
    await cluster.advance(2000);
    const phases = (await cluster.list(resources.persistentVolumeClaims))
      .map(({ status }) => status?.phase)
      .sort();
    expect(phases).toEqual(['Bound', 'Pending', 'Pending']);
  });

  it('waits for the pod where the class wants it, and makes the claims of ephemeral volumes', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.storageClasses, {
      ...late,
      provisioner: 'kubernetes.io/no-provisioner',
    });
    await cluster.api.create(resources.persistentVolumes, volume('a', { storageClassName: 'late' }));
    const { spec } = claimOf({ storageClassName: 'late' });
    await cluster.api.create(
      resources.pods,
      pod([{ name: 'v', ephemeral: { volumeClaimTemplate: { spec } } }]),
    );
    await cluster.advance(1000);
    expect((await cluster.get(resources.pods, 'web')).spec.nodeName).toBe(testNodeName);
    expect(
      (await cluster.get(resources.persistentVolumeClaims, 'web-v')).metadata.ownerReferences,
    ).toMatchObject([{ kind: 'Pod', name: 'web' }]);
    await cluster.api.delete(resources.pods, { namespace: 'default', name: 'web' });
    await cluster.advance(1000);
    expect(await cluster.list(resources.persistentVolumeClaims)).toEqual([]);
  });

  it('keeps a protected claim until no pod uses it', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.persistentVolumes, volume('a'));
    const claim = claimOf();
    await cluster.api.create(resources.persistentVolumeClaims, {
      ...claim,
      metadata: { ...claim.metadata, finalizers: ['kubernetes.io/pvc-protection'] },
    });
    await cluster.api.create(
      resources.pods,
      pod([{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]),
    );
    await cluster.advance(1000);
    await cluster.api.delete(resources.persistentVolumeClaims, { namespace: 'default', name: 'data' });
    await cluster.advance(1000);
    expect(await cluster.list(resources.persistentVolumeClaims)).toHaveLength(1);
    await cluster.api.delete(resources.pods, { namespace: 'default', name: 'web' });
    await cluster.advance(1000);
    expect(await cluster.list(resources.persistentVolumeClaims)).toEqual([]);
  });

  it('gives a pod that came back under its name an ephemeral claim of its own', async () => {
    cluster = await TestCluster.started();
    for (const name of ['a', 'b'])
      await cluster.api.create(
        resources.persistentVolumes,
        volume(name, { persistentVolumeReclaimPolicy: 'Delete' }),
      );
    const { spec } = claimOf();
    const web = pod([{ name: 'v', ephemeral: { volumeClaimTemplate: { spec } } }]);
    await cluster.api.create(resources.pods, web);
    await cluster.advance(1000);
    const ref = { namespace: 'default', name: 'web-v' };
    const first = await cluster.get(resources.persistentVolumeClaims, 'web-v');
    // The server protects every claim; the simulated one does not.
    const body = { metadata: { finalizers: ['kubernetes.io/pvc-protection'] } };
    await cluster.api.patch(resources.persistentVolumeClaims, ref, { type: 'merge', body });
    await cluster.api.delete(
      resources.pods,
      { namespace: 'default', name: 'web' },
      { gracePeriodSeconds: 0 },
    );
    await cluster.api.create(resources.pods, web);
    await cluster.advance(5000);
    const second = await cluster.get(resources.persistentVolumeClaims, 'web-v');
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect((await cluster.get(resources.pods, 'web')).spec.nodeName).toBe(testNodeName);
  });

  it('makes the claim of an ephemeral volume when a claim in its way goes', async () => {
    cluster = await TestCluster.started();
    const ref = { namespace: 'default', name: 'web-v' };
    const old = await cluster.api.create(resources.persistentVolumeClaims, {
      ...claimOf(),
      metadata: ref,
    });
    const { spec } = claimOf();
    const web = pod([{ name: 'v', ephemeral: { volumeClaimTemplate: { spec } } }]);
    await cluster.api.create(resources.pods, {
      ...web,
      spec: { ...web.spec, schedulingGates: [{ name: 'example.com/later' }] },
    });
    await cluster.advance(1000);
    await cluster.api.delete(resources.persistentVolumeClaims, ref);
    await cluster.advance(1000);
    const made = await cluster.get(resources.persistentVolumeClaims, 'web-v');
    expect(made.metadata.uid).not.toBe(old.metadata.uid);
  });
});
