import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/types/index.js';
import { type Resource, resources } from '../../../kube-client/resources.js';
import type { ServedApi } from '../../server.js';
import { change, createIn, refusalOf, testApi, testPod } from '../kinds-test-api.js';

let api: ServedApi;
beforeEach(async () => {
  ({ api } = await testApi());
});
const { persistentVolumes, persistentVolumeClaims, storageClasses } = resources;
const size = { requests: { storage: '1Gi' } };
const claim = { accessModes: ['ReadWriteOnce'], resources: size };
const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } };
const create = (resource: Resource, spec: object, name = 'data'): Promise<KubeObject> =>
  createIn(api, resource, { metadata: { name }, spec });

it('volumes and claims get defaults and are protected', async () => {
  expect(await create(persistentVolumes, volume)).toMatchObject({
    metadata: { finalizers: ['kubernetes.io/pv-protection'] },
    spec: { volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain', hostPath: { type: '' } },
    status: { phase: 'Pending' },
  });
  await createIn(api, storageClasses, {
    metadata: { name: 'fast', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'example.com/disk',
  });
  expect(await create(persistentVolumeClaims, claim)).toMatchObject({
    metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
    spec: { volumeMode: 'Filesystem', storageClassName: 'fast' },
    status: { phase: 'Pending' },
  });
});

it.each<[string, Resource, object, string]>([
  ['no size', persistentVolumeClaims, { ...claim, resources: {} }, 'spec.resources.storage: Required value'],
  [
    'no size at all',
    persistentVolumeClaims,
    { ...claim, resources: { requests: { storage: '0' } } },
    'must be greater than zero',
  ],
  [
    'no mode',
    persistentVolumeClaims,
    { resources: size },
    'spec.accessModes: Required value: at least 1 access mode is required',
  ],
  [
    'an unknown mode',
    persistentVolumeClaims,
    { ...claim, accessModes: ['x'] },
    'spec.accessModes: Unsupported value: "x"',
  ],
  [
    'a volume nowhere',
    persistentVolumes,
    { ...volume, hostPath: undefined },
    'spec: Required value: must specify a volume type',
  ],
  [
    'a volume at two places',
    persistentVolumes,
    { ...volume, nfs: { server: 'a', path: '/' } },
    'spec.nfs: Forbidden: may not specify more than 1 volume type',
  ],
  [
    'a local volume of no node',
    persistentVolumes,
    { ...volume, hostPath: undefined, local: { path: '/x' } },
    'spec.nodeAffinity: Required value: Local volume requires node affinity',
  ],
  [
    'an option as server',
    persistentVolumes,
    { ...volume, hostPath: undefined, nfs: { server: '-x', path: '/' } },
    'spec.nfs.server',
  ],
])('%s is refused', async (_rule, resource, spec, why) => {
  expect(await refusalOf(create(resource, spec))).toContain(why);
});

describe('changes', () => {
  const fixed =
    'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
  it.each<[string, Resource, object, object, string]>([
    [
      'the place of a volume',
      persistentVolumes,
      volume,
      { hostPath: { path: '/other' } },
      'spec.persistentvolumesource is immutable after creation',
    ],
    [
      'who has a volume',
      persistentVolumes,
      volume,
      { claimRef: { name: 'x', namespace: 'shop' } },
      'accepted',
    ],
    ['the modes of a claim', persistentVolumeClaims, claim, { accessModes: ['ReadOnlyMany'] }, fixed],
    [
      'the size of a claim that has none',
      persistentVolumeClaims,
      claim,
      { resources: { requests: { storage: '2Gi' } } },
      fixed,
    ],
    ['the volume of a claim', persistentVolumeClaims, claim, { volumeName: 'data' }, 'accepted'],
  ])('%s', async (_rule, resource, spec, patch, why) => {
    await create(resource, spec);
    expect(await refusalOf(change(api, resource, 'data', { spec: patch }))).toContain(why);
  });
  it('a bound claim grows, and does not shrink', async () => {
    await create(persistentVolumeClaims, claim);
    const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
    await change(api, persistentVolumeClaims, 'data', bound, 'status');
    const resized = (storage: string): Promise<string> =>
      refusalOf(
        change(api, persistentVolumeClaims, 'data', { spec: { resources: { requests: { storage } } } }),
      );
    expect(await resized('2Gi')).toBe('accepted');
    expect(await resized('1Mi')).toContain('field can not be less than status.capacity');
  });
});

describe('in use', () => {
  const isThere = (resource: Resource): boolean => api.list(resource).items.length > 0;
  it('a deleted claim stays until its pod has gone', async () => {
    await create(persistentVolumeClaims, claim);
    const volumes = [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }];
    await createIn(api, resources.pods, testPod({ nodeName: 'node', volumes }));
    await api.delete(persistentVolumeClaims, { namespace: 'shop', name: 'data' });
    expect(isThere(persistentVolumeClaims)).toBe(true);
    await api.delete(resources.pods, { namespace: 'shop', name: 'web' }, { gracePeriodSeconds: 0 });
    expect(isThere(persistentVolumeClaims)).toBe(false);
  });
  it('a deleted volume stays while it is bound', async () => {
    await create(persistentVolumes, volume);
    await change(api, persistentVolumes, 'data', { status: { phase: 'Bound' } }, 'status');
    await api.delete(persistentVolumes, { name: 'data' });
    expect(isThere(persistentVolumes)).toBe(true);
    await change(api, persistentVolumes, 'data', { status: { phase: 'Released' } }, 'status');
    expect(isThere(persistentVolumes)).toBe(false);
  });
  it('nothing else holds them', async () => {
    await create(persistentVolumeClaims, claim);
    await api.delete(persistentVolumeClaims, { namespace: 'shop', name: 'data' });
    expect(isThere(persistentVolumeClaims)).toBe(false);
  });
});
