import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../../async/index.js';
import type { PersistentVolume, PersistentVolumeClaim, Pod, PodSpec, Volume } from '../../../kube/index.js';
import { type StandaloneObjectChange, StandaloneObjects } from './standalone-objects.js';

function podOf(name: string, spec: Partial<PodSpec>, namespace = 'shop'): Pod {
  return { metadata: { name, namespace, uid: `uid-${name}` }, spec: { containers: [], ...spec } };
}
const reader = podOf('a', {
  volumes: [
    { name: 'c', configMap: { name: 'settings' } },
    { name: 's', secret: { secretName: 'keys' } },
  ],
});
const settings = (value: string, more = {}) => ({
  metadata: { name: 'settings', namespace: 'shop' },
  data: { k: value },
  ...more,
});

describe('standalone objects', () => {
  it('can be read only while a pod refers to them', async () => {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    store.set('m', { configMaps: [settings('1')] });
    await expect(store.configMap('shop', 'settings')).rejects.toThrow(
      'object "shop"/"settings" not registered',
    );
    store.registerPod(reader);
    const other = { ...reader, metadata: { ...reader.metadata, uid: 'uid-b' } };
    store.registerPod(other);
    store.unregisterPod(reader);
    expect((await store.configMap('shop', 'settings')).data).toEqual({ k: '1' });
    store.unregisterPod(other);
    await expect(store.configMap('shop', 'settings')).rejects.toThrow('not registered');
  });

  it('follow a pod’s references when it is registered again', async () => {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    store.set('m', {
      configMaps: [settings('1')],
      secrets: [{ metadata: { name: 'keys', namespace: 'shop' } }],
    });
    store.registerPod(reader);
    store.registerPod({ ...reader, spec: { containers: [], volumes: reader.spec.volumes?.slice(0, 1) } });
    await store.configMap('shop', 'settings');
    await expect(store.secret('shop', 'keys')).rejects.toThrow('object "shop"/"keys" not registered');
  });

  it('that are missing are named by kind and name', async () => {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    store.registerPod(reader);
    await expect(store.configMap('shop', 'settings')).rejects.toThrow(/^configmap "settings" not found$/);
    await expect(store.secret('shop', 'keys')).rejects.toThrow(/^secret "keys" not found$/);
  });

  it('of the same name in two namespaces are separate', async () => {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    const inDefault = { metadata: { name: 'settings' }, data: { k: 'other' } };
    store.set('m', { configMaps: [settings('own'), inDefault] });
    store.registerPod(reader);
    const other = podOf('o', { volumes: [{ name: 'c', configMap: { name: 'settings' } }] }, 'default');
    store.registerPod(other);
    expect((await store.configMap('shop', 'settings')).data).toEqual({ k: 'own' });
    expect((await store.configMap('default', 'settings')).data).toEqual({ k: 'other' });
  });

  it('show updates on the next read, and plain text of secrets as base64', async () => {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    store.registerPod(reader);
    const keys = { metadata: { name: 'keys', namespace: 'shop' }, data: { a: 'MQ==', b: 'Mg==' } };
    store.set('m', { configMaps: [settings('1')], secrets: [{ ...keys, stringData: { b: 'two' } }] });
    expect((await store.secret('shop', 'keys')).data).toEqual({ a: 'MQ==', b: 'dHdv' });
    store.set('m', { configMaps: [settings('2')] });
    expect((await store.configMap('shop', 'settings')).data).toEqual({ k: '2' });
    await expect(store.secret('shop', 'keys')).rejects.toThrow('not found');
  });

  it('that are immutable are read once, until no pod refers to them', async () => {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    store.registerPod(reader);
    store.set('m', { configMaps: [settings('first', { immutable: true })] });
    await store.configMap('shop', 'settings');
    store.set('m', {});
    expect((await store.configMap('shop', 'settings')).data).toEqual({ k: 'first' });
    store.set('m', { configMaps: [settings('second')] });
    expect((await store.configMap('shop', 'settings')).data).toEqual({ k: 'first' });
    store.unregisterPod(reader);
    store.registerPod(reader);
    expect((await store.configMap('shop', 'settings')).data).toEqual({ k: 'second' });
  });

  it('report changes with the pods that refer to them, and nothing else', () => {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    const changes: StandaloneObjectChange[] = [];
    store.registerPod(reader);
    const stop = store.onChange((change) => changes.push(change));
    store.set('m', { configMaps: [settings('1')] });
    store.set('m', { configMaps: [settings('1')] });
    store.set('n', { secrets: [{ metadata: { name: 'free' } }] });
    store.set('m', { configMaps: [settings('2')] });
    store.remove('m');
    stop();
    store.set('m', { configMaps: [settings('3')] });
    const change = { kind: 'ConfigMap', namespace: 'shop', name: 'settings', podUids: ['uid-a'] };
    const free = { kind: 'Secret', namespace: 'default', name: 'free', podUids: [] };
    expect(changes).toEqual([change, free, change, change]);
  });

  it('are waited for briefly during the first read', async () => {
    const clock = new VirtualClock();
    const store = new StandaloneObjects({ clock, waits: true });
    store.registerPod(reader);
    const late = store.configMap('shop', 'settings');
    const expectation = expect(late).rejects.toThrow(
      'failed to sync configmap cache: timed out waiting for the condition',
    );
    await clock.advance(1_000);
    await expectation;
    const soon = store.configMap('shop', 'settings');
    await settle();
    store.set('m', { configMaps: [settings('1')] });
    store.markRead();
    expect((await soon).data).toEqual({ k: '1' });
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('claims', () => {
  const signal = new AbortController().signal;
  const claimVolume: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } };
  const pod = podOf('a', { volumes: [claimVolume] });
  const volumeOf = (spec: PersistentVolume['spec'] = {}): PersistentVolume => ({
    metadata: { name: 'pv', annotations: { 'pv.beta.kubernetes.io/gid': '4242' } },
    spec: { hostPath: { path: '/data' }, ...spec },
  });
  const claimOf = (spec: PersistentVolumeClaim['spec'] = {}, more: Partial<PersistentVolumeClaim> = {}) => ({
    metadata: { name: 'c', namespace: 'shop' },
    spec,
    ...more,
  });
  function resolve(claims: PersistentVolumeClaim[], volumes: PersistentVolume[], volume = claimVolume) {
    const store = new StandaloneObjects({ clock: new VirtualClock() });
    store.set('m', { persistentVolumeClaims: claims, persistentVolumes: volumes });
    return store.resolve(pod, volume, signal);
  }

  const found: [rule: string, claims: PersistentVolumeClaim[], volumes: PersistentVolume[]][] = [
    ['the claim names the volume', [claimOf({ volumeName: 'pv' })], [volumeOf()]],
    ['the volume names the claim', [claimOf()], [volumeOf({ claimRef: { namespace: 'shop', name: 'c' } })]],
    ['both do', [claimOf({ volumeName: 'pv' })], [volumeOf({ claimRef: { namespace: 'shop', name: 'c' } })]],
    [
      'as the API shows them',
      [
        claimOf(
          { volumeName: 'pv' },
          { metadata: { name: 'c', namespace: 'shop', uid: 'u' }, status: { phase: 'Bound' } },
        ),
      ],
      [volumeOf({ claimRef: { namespace: 'shop', name: 'c', uid: 'u' } })],
    ],
  ];
  it.each(found)('are bound when %s', async (_rule, claims, volumes) => {
    expect(await resolve(claims, volumes)).toMatchObject({
      persistentVolume: { metadata: { name: 'pv' } },
      readOnly: true,
      extraGroup: 4242,
    });
  });

  const prefix = 'error processing PVC shop/c: ';
  const failures: [
    rule: string,
    claims: PersistentVolumeClaim[],
    volumes: PersistentVolume[],
    message: string,
  ][] = [
    ['no claim', [], [], 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found'],
    ['unbound', [claimOf()], [volumeOf()], 'PVC is not bound'],
    [
      'bound to nothing',
      [claimOf({}, { status: { phase: 'Bound' } })],
      [],
      'PVC has empty pvc.Spec.VolumeName',
    ],
    [
      'lost',
      [claimOf({ volumeName: 'pv' }, { status: { phase: 'Lost' } })],
      [volumeOf()],
      'PVC is not bound',
    ],
    [
      'being deleted',
      [
        claimOf(
          { volumeName: 'pv' },
          { metadata: { name: 'c', namespace: 'shop', deletionTimestamp: '2026-01-01T00:00:00Z' } },
        ),
      ],
      [volumeOf()],
      'PVC is being deleted',
    ],
    [
      'no volume',
      [claimOf({ volumeName: 'pv' })],
      [],
      'failed to fetch PV pv from API server: persistentvolumes "pv" not found',
    ],
    [
      'the volume of another claim',
      [claimOf({ volumeName: 'pv' })],
      [volumeOf({ claimRef: { namespace: 'shop', name: 'other' } })],
      'found PV object pv but its pv.Spec.ClaimRef.UID shop/other does not point to claim.UID shop/c',
    ],
    [
      'the volume of an older claim of that name',
      [claimOf({ volumeName: 'pv' }, { metadata: { name: 'c', namespace: 'shop', uid: 'new' } })],
      [volumeOf({ claimRef: { namespace: 'shop', name: 'c', uid: 'old' } })],
      'found PV object pv but its pv.Spec.ClaimRef.UID old does not point to claim.UID new',
    ],
  ];
  it.each(failures)('cannot be used: %s', async (_rule, claims, volumes, message) => {
    await expect(resolve(claims, volumes)).rejects.toThrow(prefix + message);
  });

  const ephemeral: Volume = {
    name: 'data',
    ephemeral: { volumeClaimTemplate: { spec: { volumeName: 'pv' } } },
  };
  it('of a generic ephemeral volume are made from its template', async () => {
    expect(await resolve([], [volumeOf()], ephemeral)).toMatchObject({
      persistentVolume: { metadata: { name: 'pv' } },
    });
  });

  it('of a generic ephemeral volume belong to its pod', async () => {
    const foreign = { ...claimOf({ volumeName: 'pv' }), metadata: { name: 'a-data', namespace: 'shop' } };
    await expect(resolve([foreign], [volumeOf()], ephemeral)).rejects.toThrow(
      /^PVC shop\/a-data was not created for pod shop\/a \(pod is not owner\)$/,
    );
  });
});
