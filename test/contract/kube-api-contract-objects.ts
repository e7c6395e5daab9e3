/** Objects: made, read, changed by all kinds of patches, listed by selectors, removed; and every refusal on the way. */
import { describe, expect, it } from 'vitest';
import { type ConfigMap, clone, type Lease, type Node } from '../../src/kube/index.js';
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  isResourceVersionTooLarge,
  mergeSchemaOf,
  resources,
  strategicMergeDiff,
  subresources,
} from '../../src/kube-client/index.js';
import type { KubeApiContract } from './kube-api-contract.js';

/** What a call was refused with. */
export async function refusal(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('the call was not refused');
}

let made = 0;
export function uniqueName(prefix = 'thing'): string {
  return `${prefix}-${++made}-${Date.now().toString(36)}`;
}

export function describeObjects({ api, namespace }: KubeApiContract): void {
  const maps = resources.configMaps;
  const create = (name = uniqueName(), more: Partial<ConfigMap['metadata']> = {}): Promise<ConfigMap> =>
    api().create(maps, { metadata: { name, namespace: namespace(), ...more }, data: { a: '1', b: '2' } });
  const refOf = ({ metadata }: ConfigMap) => ({ namespace: namespace(), name: metadata.name! });

  describe('objects', () => {
    it('are made with an identity and read again as they are', async () => {
      const object = await create();
      expect(object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1', b: '2' } });
      expect(object.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
      expect(object.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(Date.parse(object.metadata.creationTimestamp!)).not.toBeNaN();
      expect(await api().get(maps, refOf(object))).toEqual(object);
      expect(await api().get(maps, refOf(object), { resourceVersion: '0' })).toEqual(object);
    });
    it('get a name when they ask for one', async () => {
      const { metadata } = await api().create(maps, {
        metadata: { generateName: 'gen-', namespace: namespace() },
      });
      expect(metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
    });
    it('are not made twice, nor without a name', async () => {
      const { metadata } = await create();
      const twice = await refusal(create(metadata.name));
      expect(isAlreadyExists(twice)).toBe(true);
      expect(twice).toMatchObject({ code: 409, message: `configmaps "${metadata.name}" already exists` });
      const nameless = await refusal(api().create(maps, { metadata: { namespace: namespace() } }));
      expect(isInvalid(nameless)).toBe(true);
      expect(nameless.message).toContain('name or generateName is required');
    });
    it('that are not there are said to be so', async () => {
      const ref = { namespace: namespace(), name: 'nosuch' };
      const calls = [
        () => api().get(maps, ref),
        () => api().update(maps, { metadata: ref }),
        () => api().patch(maps, ref, { type: 'merge', body: {} }),
        () => api().delete(maps, ref),
      ];
      for (const call of calls) {
        const error = await refusal(call());
        expect(isNotFound(error)).toBe(true);
        expect(error).toMatchObject({ code: 404, message: 'configmaps "nosuch" not found' });
        expect(error.details).toMatchObject({ name: 'nosuch', kind: 'configmaps' });
      }
      const lease = await refusal(api().get(resources.leases, ref));
      expect(lease.message).toBe('leases.coordination.k8s.io "nosuch" not found');
    });
    it('are updated only from the version they have', async () => {
      const first = await create();
      const second = await api().update(maps, { ...first, data: { a: '2' } });
      expect(second.data).toEqual({ a: '2' });
      expect(BigInt(second.metadata.resourceVersion!)).toBeGreaterThan(
        BigInt(first.metadata.resourceVersion!),
      );
      const stale = await refusal(api().update(maps, { ...first, data: { a: '3' } }));
      expect(isConflict(stale)).toBe(true);
      expect(stale.message).toBe(
        `Operation cannot be fulfilled on configmaps "${first.metadata.name}": the object has been modified; please apply your changes to the latest version and try again`,
      );
      const { resourceVersion, ...unversioned } = first.metadata;
      expect((await api().update(maps, { ...first, metadata: unversioned, data: { a: '4' } })).data).toEqual({
        a: '4',
      });
    });
    it('keep their version when nothing changes', async () => {
      const first = await create();
      const again = await api().patch(maps, refOf(first), { type: 'merge', body: { data: { a: '1' } } });
      expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });
    it('are not mistaken for others of their name', async () => {
      const object = await create();
      const uid = '00000000-1111-4222-8333-444444444444';
      const found = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${object.metadata.uid}`;
      const body = { metadata: { uid }, data: { a: '9' } };
      const patched = await refusal(api().patch(maps, refOf(object), { type: 'strategic', body }));
      expect(isInvalid(patched)).toBe(true);
      expect(patched.message).toBe(
        `ConfigMap "${object.metadata.name}" is invalid: metadata.uid: Invalid value: "${uid}": field is immutable`,
      );
      const { resourceVersion: _, ...unversioned } = object.metadata;
      const updated = await refusal(api().update(maps, { metadata: { ...unversioned, uid } }));
      expect(isConflict(updated)).toBe(true);
      expect(updated.message).toContain(found);
      const deleted = await refusal(api().delete(maps, refOf(object), { preconditions: { uid } }));
      expect(isConflict(deleted)).toBe(true);
      expect(deleted.message).toBe(
        `Operation cannot be fulfilled on ConfigMap "${object.metadata.name}": the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid}). The object might have been deleted and then recreated`,
      );
      const { resourceVersion = '' } = object.metadata;
      await api().patch(maps, refOf(object), { type: 'merge', body: { data: { a: '5' } } });
      const old = await refusal(api().delete(maps, refOf(object), { preconditions: { resourceVersion } }));
      expect(isConflict(old)).toBe(true);
      expect(old.message).toContain(
        `the ResourceVersion in the precondition (${resourceVersion}) does not match`,
      );
      await api().delete(maps, refOf(object), { preconditions: { uid: object.metadata.uid! } });
      expect(isNotFound(await refusal(api().get(maps, refOf(object))))).toBe(true);
    });
    it('that wait for a finalizer are there until it is gone', async () => {
      const object = await create(uniqueName(), { finalizers: ['test.nodelet.dev/hold'] });
      const marked = await api().delete(maps, refOf(object));
      expect(marked?.metadata.deletionTimestamp).toBeDefined();
      expect((await api().get(maps, refOf(object))).metadata.deletionTimestamp).toBeDefined();
      await api().patch(maps, refOf(object), { type: 'merge', body: { metadata: { finalizers: null } } });
      expect(isNotFound(await refusal(api().get(maps, refOf(object))))).toBe(true);
    });
  });

  describe('patches', () => {
    it('merge', async () => {
      const ref = refOf(await create());
      const body = { metadata: { labels: { x: 'y' } }, data: { a: null, c: '3' } };
      const patched = await api().patch(maps, ref, { type: 'merge', body });
      expect(patched).toMatchObject({ data: { b: '2', c: '3' }, metadata: { labels: { x: 'y' } } });
      expect(patched.data).not.toHaveProperty('a');
    });
    it('by operations, all or none', async () => {
      const ref = refOf(await create());
      const patched = await api().patch(maps, ref, {
        type: 'json',
        body: [
          { op: 'test', path: '/data/a', value: '1' },
          { op: 'replace', path: '/data/a', value: '9' },
          { op: 'remove', path: '/data/b' },
          { op: 'add', path: '/data/c', value: '3' },
        ],
      });
      expect(patched.data).toEqual({ a: '9', c: '3' });
      const failed = await refusal(
        api().patch(maps, ref, {
          type: 'json',
          body: [
            { op: 'replace', path: '/data/a', value: '0' },
            { op: 'test', path: '/data/c', value: 'other' },
          ],
        }),
      );
      expect([failed.code, isInvalid(failed)]).toEqual([422, true]);
      expect((await api().get(maps, ref)).data).toEqual({ a: '9', c: '3' });
    });
    it('with a version are refused when it is old', async () => {
      const first = await create();
      const ref = refOf(first);
      await api().patch(maps, ref, { type: 'merge', body: { data: { a: '2' } } });
      const { resourceVersion } = first.metadata;
      const stale = api().patch(maps, ref, {
        type: 'merge',
        body: { metadata: { resourceVersion }, data: { a: '3' } },
      });
      expect(isConflict(await refusal(stale))).toBe(true);
    });
    it('strategic ones from a difference make a node what it should be, labels included, through its status', async () => {
      const name = uniqueName('node');
      const ready = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'm' } as const;
      const node = await api().create(resources.nodes, {
        metadata: { name, labels: { 'kubernetes.io/os': 'linux' } },
        status: {
          capacity: { cpu: '2' },
          conditions: [{ type: 'MemoryPressure', status: 'False' }, ready],
          addresses: [
            { type: 'InternalIP', address: '10.0.0.1' },
            { type: 'Hostname', address: name },
          ],
        },
      });
      expect(node.status?.capacity).toEqual({ cpu: '2' });
      const wanted: Node = clone(node);
      wanted.metadata.labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' };
      wanted.spec = { unschedulable: true };
      wanted.status!.capacity = { cpu: '2', memory: '1Gi' };
      wanted.status!.conditions = [
        { type: 'MemoryPressure', status: 'False' },
        { type: 'DiskPressure', status: 'False' },
        { type: 'Ready', status: 'True', reason: 'KubeletReady' },
      ];
      wanted.status!.addresses = [
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'Hostname', address: name },
      ];
      const body = strategicMergeDiff(mergeSchemaOf(resources.nodes), node, wanted);
      const patched = await api().patch(
        resources.nodes,
        { name },
        { type: 'strategic', body },
        { subresource: 'status' },
      );
      expect(patched.metadata.labels).toEqual(wanted.metadata.labels);
      expect(patched.status?.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
        ['MemoryPressure', 'False', undefined],
        ['DiskPressure', 'False', undefined],
        ['Ready', 'True', 'KubeletReady'],
      ]);
      expect(patched.status).toMatchObject({
        capacity: { cpu: '2', memory: '1Gi' },
        addresses: wanted.status!.addresses,
      });
      // The status is no way to change what is wanted.
      expect(patched.spec?.unschedulable).toBeUndefined();
      await api().delete(resources.nodes, { name });
    });
  });

  describe('lists', () => {
    it('select by labels and fields', async () => {
      const mark = uniqueName('mark');
      const [a, b] = [
        await create(undefined, { labels: { mark, n: '1' } }),
        await create(undefined, { labels: { mark, n: '2' } }),
      ];
      const names = async (selection: object): Promise<(string | undefined)[]> => {
        const { items } = await api().list(maps, { namespace: namespace(), ...selection });
        return items.map(({ metadata }) => metadata.name).sort();
      };
      expect(await names({ labelSelector: `mark=${mark}` })).toEqual(
        [a.metadata.name, b.metadata.name].sort(),
      );
      expect(await names({ labelSelector: `mark=${mark},n!=1` })).toEqual([b.metadata.name]);
      expect(await names({ labelSelector: `mark in (${mark},x),n notin (2),n,!q` })).toEqual([
        a.metadata.name,
      ]);
      expect(await names({ fieldSelector: `metadata.name=${a.metadata.name}` })).toEqual([a.metadata.name]);
      expect(
        await names({ labelSelector: `mark=${mark}`, fieldSelector: `metadata.name!=${a.metadata.name}` }),
      ).toEqual([b.metadata.name]);
    });
    it('tell their version, from the cache too', async () => {
      const object = await create();
      const newest = await api().list(maps, { namespace: namespace() });
      expect(BigInt(newest.metadata!.resourceVersion!)).toBeGreaterThanOrEqual(
        BigInt(object.metadata.resourceVersion!),
      );
      expect(newest.items.some(({ metadata }) => metadata.name === object.metadata.name)).toBe(true);
      const cached = await api().list(maps, { namespace: namespace(), resourceVersion: '0' });
      expect(cached.metadata?.resourceVersion).toMatch(/^\d+$/);
      const notOlder = await api().list(maps, {
        namespace: namespace(),
        resourceVersion: object.metadata.resourceVersion!,
      });
      expect(notOlder.items.some(({ metadata }) => metadata.name === object.metadata.name)).toBe(true);
    });
    it('come without anything but metadata when that is enough', async () => {
      const object = await create();
      const { resourceVersion = '' } = object.metadata;
      const fieldSelector = `metadata.name=${object.metadata.name}`;
      const selection = { namespace: namespace(), fieldSelector, resourceVersion };
      const { items, metadata } = await api().list(maps, { ...selection, metadataOnly: true });
      expect(items).toHaveLength(1);
      expect(items[0]?.metadata).toMatchObject({
        name: object.metadata.name,
        uid: object.metadata.uid,
        resourceVersion,
      });
      expect(items[0]).not.toHaveProperty('data');
      expect(metadata?.resourceVersion).toMatch(/^\d+$/);
    });
    it('come in pages', async () => {
      const mark = uniqueName('page');
      for (let n = 0; n < 3; n++) await create(undefined, { labels: { mark } });
      const selection = { namespace: namespace(), labelSelector: `mark=${mark}`, limit: 2 };
      const first = await api().list(maps, selection);
      expect(first.items).toHaveLength(2);
      const second = await api().list(maps, { ...selection, continue: first.metadata!.continue! });
      expect(second.items).toHaveLength(1);
      expect(second.metadata?.continue).toBeFalsy();
    });
    it('of a version that is not there yet are refused as such', async () => {
      const { metadata } = await api().list(maps, { namespace: namespace() });
      const resourceVersion = String(BigInt(metadata!.resourceVersion!) + 1_000_000n);
      const error = await refusal(api().list(maps, { namespace: namespace(), resourceVersion }));
      expect([error.code, isResourceVersionTooLarge(error)]).toEqual([504, true]);
    }, 60_000);
    it('by a field that cannot be selected are refused', async () => {
      const ofMaps = await refusal(api().list(maps, { namespace: namespace(), fieldSelector: 'data.a=1' }));
      expect([ofMaps.code, ofMaps.message]).toEqual([
        400,
        '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
      ]);
      const ofPods = await refusal(api().list(resources.pods, { fieldSelector: 'spec.a=1' }));
      expect([ofPods.code, ofPods.message]).toEqual([400, 'field label not supported: spec.a']);
    });
  });

  describe('other kinds', () => {
    it('a lease is renewed from its last version', async () => {
      const name = uniqueName('lease');
      const renewTime = '2026-01-01T00:00:00.000000Z';
      const lease: Lease = {
        metadata: { name, namespace: namespace() },
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
      };
      const first = await api().create(resources.leases, lease);
      expect(first.spec?.renewTime).toBe(renewTime);
      const second = await api().update(resources.leases, {
        ...first,
        spec: { ...first.spec, renewTime: '2026-01-01T00:00:10.000000Z' },
      });
      expect(second.spec?.renewTime).toBe('2026-01-01T00:00:10.000000Z');
      expect(
        isConflict(
          await refusal(api().update(resources.leases, { ...first, spec: { leaseDurationSeconds: 1 } })),
        ),
      ).toBe(true);
    });
    it('a token is asked for a service account', async () => {
      const name = uniqueName('account');
      const ref = { namespace: namespace(), name };
      expect(
        isNotFound(await refusal(api().post(subresources.token, ref, { spec: { audiences: ['a'] } }))),
      ).toBe(true);
      await api().create(resources.serviceAccounts, { metadata: ref });
      const { status } = await api().post(subresources.token, ref, {
        spec: { audiences: ['a'], expirationSeconds: 600 },
      });
      expect(status?.token).not.toBe('');
      expect(Date.parse(status!.expirationTimestamp)).not.toBeNaN();
    });
    it('a review is answered and not kept', async () => {
      const token = await api().create(resources.tokenReviews, { metadata: {}, spec: { token: 'nobody' } });
      expect(token.status?.authenticated ?? false).toBe(false);
      const access = await api().create(resources.subjectAccessReviews, {
        metadata: {},
        spec: {
          user: 'nobody',
          resourceAttributes: { verb: 'get', resource: 'nodes', subresource: 'metrics' },
        },
      });
      expect(access.status?.allowed).toBe(false);
    });
    it('a bare path answers with text', async () => {
      expect(await api().getText('/healthz')).toBe('ok');
    });
  });
}
