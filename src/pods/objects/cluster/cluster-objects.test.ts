import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../../async/index.js';
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../../kube/index.js';
import { SimulatedKubeApi } from '../../../kube-api/index.js';
import { resources } from '../../../kube-client/index.js';
import { Timeline } from '../../../timeline/index.js';
import { ApiClaims } from './claims.js';
import { ApiRuntimeClasses, ApiServices } from './cluster-lists.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let tasks: TaskGroup;

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
});

describe('ApiServices', () => {
  it('returns a namespace’s services, with only the needed fields', async () => {
    const services = new ApiServices({ clock, timeline, api });
    const create = (name: string, namespace: string) =>
      api.create(resources.services, {
        metadata: { name, namespace, labels: { big: 'x' } },
        spec: { clusterIP: '10.0.0.1', ports: [{ port: 80 }], selector: { app: 'x' } },
      });
    await create('a', 'n');
    expect([services.hasSynced(), services.list('n')]).toEqual([false, []]);
    tasks.start('services', (signal) => services.run(signal));
    await settle();
    await create('b', 'n');
    await create('c', 'other');
    await settle();
    expect(services.hasSynced()).toBe(true);
    expect(services.list('n').map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(services.list('n')[0]).toEqual({
      metadata: { name: 'a', namespace: 'n', resourceVersion: expect.any(String) },
      spec: { clusterIP: '10.0.0.1', ports: [{ port: 80 }] },
    });
    await api.delete(resources.services, { namespace: 'n', name: 'a' });
    await settle();
    expect(services.list('n')).toHaveLength(1);
  });
});

describe('ApiRuntimeClasses', () => {
  it('handlers by name', async () => {
    const classes = new ApiRuntimeClasses({ clock, timeline, api });
    await api.create(resources.runtimeClasses, { metadata: { name: 'gvisor' }, handler: 'runsc' });
    tasks.start('classes', (signal) => classes.run(signal));
    expect(await classes.handler('gvisor')).toBe('runsc');
    expect(await classes.handler('other')).toBeUndefined();
  });
  it('fails before the first list', async () => {
    const classes = new ApiRuntimeClasses({ clock, timeline, api });
    api.setReachable(false);
    tasks.start('classes', (signal) => classes.run(signal));
    const failing = expect(classes.handler('x')).rejects.toThrow('not been read from the API yet');
    await clock.advance(1000);
    await failing;
    expect(timeline.ofNode()).toHaveLength(1);
  });
});

describe('ApiClaims', () => {
  const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } };
  const volume: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } };
  const resolve = (): ReturnType<ApiClaims['resolve']> =>
    new ApiClaims({ api }).resolve(pod, volume, new AbortController().signal);
  const createClaim = async (phase?: string, volumeName?: string): Promise<string> => {
    const claim: PersistentVolumeClaim = {
      metadata: { name: 'c', namespace: 'n' },
      spec: { ...(volumeName === undefined ? {} : { volumeName }) },
    };
    const { metadata } = await api.create(resources.persistentVolumeClaims, claim);
    const body = { status: { phase } };
    const ref = { namespace: 'n', name: 'c' };
    await api.patch(
      resources.persistentVolumeClaims,
      ref,
      { type: 'merge', body },
      { subresource: 'status' },
    );
    return metadata.uid ?? '';
  };
  const createVolume = async (uid: string): Promise<void> => {
    const persistentVolume: PersistentVolume = {
      metadata: { name: 'pv', annotations: { 'pv.beta.kubernetes.io/gid': '77' } },
      spec: { claimRef: { namespace: 'n', name: 'c', uid } },
    };
    await api.create(resources.persistentVolumes, persistentVolume);
  };
  it('a bound claim', async () => {
    await createVolume(await createClaim('Bound', 'pv'));
    const { persistentVolume, readOnly, extraGroup } = await resolve();
    expect([persistentVolume.metadata.name, readOnly, extraGroup]).toEqual(['pv', true, 77]);
  });
  it.each<[rule: string, prepare: () => Promise<unknown>, message: string]>([
    ['no claim', async () => {}, 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found'],
    ['not bound', () => createClaim('Pending'), 'PVC is not bound'],
    [
      'no volume',
      () => createClaim('Bound', 'pv'),
      'failed to fetch PV pv from API server: persistentvolumes "pv" not found',
    ],
    [
      'the volume of another claim',
      async () => {
        await createClaim('Bound', 'pv');
        await createVolume('other');
      },
      'found PV object pv but its pv.Spec.ClaimRef.UID other does not point to claim.UID',
    ],
  ])('%s', async (_, prepare, message) => {
    await prepare();
    await expect(resolve()).rejects.toThrow(`error processing PVC n/c: ${message}`);
  });
  it.each([
    ['of another pod', [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'other', controller: true }]],
    ['that the pod does not control', [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }]],
    ['made by hand', []],
  ])('a claim %s is none of a generic ephemeral volume', async (_, ownerReferences) => {
    await api.create(resources.persistentVolumeClaims, {
      metadata: { name: 'p-data', namespace: 'n', ownerReferences },
      spec: { volumeName: 'pv' },
    });
    const ephemeral: Volume = { name: 'data', ephemeral: { volumeClaimTemplate: { spec: {} } } };
    await expect(
      new ApiClaims({ api }).resolve(pod, ephemeral, new AbortController().signal),
    ).rejects.toThrow(/^PVC n\/p-data was not created for pod n\/p \(pod is not owner\)$/);
  });
});
