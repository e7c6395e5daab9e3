import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../../async/index.js';
import type { ConfigMap, Pod, Secret } from '../../../kube/index.js';
import { SimulatedKubeApi } from '../../../kube-api/index.js';
import { ApiError, resources } from '../../../kube-client/index.js';
import { Timeline } from '../../../timeline/index.js';
import { type ApiObjectChange, ApiObjectStore, type ChangeDetectionStrategy } from './object-store.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let store: ApiObjectStore;
let changes: ApiObjectChange[];
let ttlSeconds: number | undefined;

function open(strategy: ChangeDetectionStrategy): void {
  store = new ApiObjectStore({
    clock,
    timeline,
    api,
    strategy,
    syncFrequencyMs: 60_000,
    ttlSeconds: () => ttlSeconds,
    random: () => 0.5,
  });
  store.onChange((change) => void changes.push(change));
}
beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  changes = [];
  ttlSeconds = undefined;
});
afterEach(async () => {
  await store.stop();
  expect([clock.pendingTimers, api.openWatches]).toEqual([0, 0]);
});

const pod = (uid: string, maps: readonly string[], secrets: readonly string[] = []): Pod => ({
  metadata: { name: uid, namespace: 'n', uid },
  spec: {
    containers: [{ name: 'c', image: 'i', envFrom: maps.map((name) => ({ configMapRef: { name } })) }],
    imagePullSecrets: secrets.map((name) => ({ name })),
  },
});
const put = (name: string, value = '1', more: Partial<ConfigMap> = {}): Promise<ConfigMap> =>
  api.create(resources.configMaps, { metadata: { name, namespace: 'n' }, data: { value }, ...more });
const change = (name: string, value: string): Promise<ConfigMap> =>
  api.patch(resources.configMaps, { namespace: 'n', name }, { type: 'merge', body: { data: { value } } });
const remove = (name: string) => api.delete(resources.configMaps, { namespace: 'n', name });
const read = async (name: string): Promise<string | undefined> =>
  (await store.configMap('n', name)).data?.value;
const made = (verb: string): number => api.calls.filter((call) => call.verb === verb).length;

describe.each<ChangeDetectionStrategy>(['Watch', 'Cache', 'Get'])('%s', (strategy) => {
  beforeEach(() => open(strategy));
  it('only registered objects can be read, as long as any pod refers to them', async () => {
    await put('a');
    await expect(read('a')).rejects.toThrow('object "n"/"a" not registered');
    store.registerPod(pod('p1', ['a']));
    store.registerPod(pod('p2', ['a']));
    expect(await read('a')).toBe('1');
    store.unregisterPod(pod('p1', ['a']));
    expect(await read('a')).toBe('1');
    store.unregisterPod(pod('p2', ['a']));
    await expect(read('a')).rejects.toThrow('not registered');
    expect(store.size).toBe(0);
  });
  it('a pod that is registered again has its new references', async () => {
    await put('a');
    await put('b');
    store.registerPod(pod('p1', ['a']));
    store.registerPod(pod('p1', ['b']));
    expect(await read('b')).toBe('1');
    await expect(read('a')).rejects.toThrow('not registered');
  });
  it('a missing object gives the usual error', async () => {
    store.registerPod(pod('p1', ['a']));
    await expect(read('a')).rejects.toThrow(/^configmap "a" not found$/);
  });
  it('secrets, such as those for pulls', async () => {
    const secret: Secret = { metadata: { name: 's', namespace: 'n' }, data: { k: 'dg==' } };
    await api.create(resources.secrets, secret);
    store.registerPod(pod('p1', [], ['s']));
    expect((await store.secret('n', 's')).data).toEqual({ k: 'dg==' });
  });
});

describe('Watch', () => {
  beforeEach(() => open('Watch'));
  it('a change shows at once, and is reported with the pods that use it', async () => {
    await put('a');
    store.registerPod(pod('p1', ['a']));
    store.registerPod(pod('p2', ['a', 'b']));
    expect(await read('a')).toBe('1');
    await change('a', '2');
    await settle();
    expect(await read('a')).toBe('2');
    expect(changes).toEqual([{ kind: 'ConfigMap', namespace: 'n', name: 'a', podUids: ['p1', 'p2'] }]);
    expect([made('list'), api.openWatches]).toEqual([2, 2]);
  });
  it('an object that appears later, and one that is deleted', async () => {
    store.registerPod(pod('p1', ['a']));
    await expect(read('a')).rejects.toThrow('not found');
    await put('a');
    await settle();
    expect(await read('a')).toBe('1');
    await remove('a');
    await settle();
    await expect(read('a')).rejects.toThrow('not found');
  });
  it('a read waits a second for the first list', async () => {
    await put('a');
    api.setReachable(false);
    store.registerPod(pod('p1', ['a']));
    const failing = expect(read('a')).rejects.toThrow(
      'failed to sync configmap cache: timed out waiting for the condition',
    );
    await clock.advance(1000);
    await failing;
    api.setReachable(true);
    await clock.advance(5000);
    expect(await read('a')).toBe('1');
  });
  it('without the API the last copy is read; after its return the current one', async () => {
    await put('a');
    store.registerPod(pod('p1', ['a']));
    expect(await read('a')).toBe('1');
    api.setReachable(false);
    await clock.advance(600_000);
    expect(await read('a')).toBe('1');
    api.setReachable(true);
    await change('a', '2');
    await clock.advance(60_000);
    expect(await read('a')).toBe('2');
  });
  it('after a restore to an older state the older object is read', async () => {
    await put('a');
    const backup = api.snapshot();
    store.registerPod(pod('p1', ['a']));
    await change('a', '2');
    await settle();
    expect(await read('a')).toBe('2');
    api.restore(backup);
    await clock.advance(60_000);
    expect(await read('a')).toBe('1');
  });
  it('an immutable object is read once and for all', async () => {
    await put('a', '1', { immutable: true });
    store.registerPod(pod('p1', ['a']));
    expect(await read('a')).toBe('1');
    await settle();
    expect(api.openWatches).toBe(0);
    await remove('a');
    await put('a', 'other');
    await clock.advance(600_000);
    expect(await read('a')).toBe('1');
  });
  it('an unread object is not watched, until it is read again', async () => {
    await put('a');
    store.registerPod(pod('p1', ['a']));
    expect(await read('a')).toBe('1');
    await clock.advance(300_000);
    expect(api.openWatches).toBe(1);
    await clock.advance(60_000);
    expect(api.openWatches).toBe(0);
    await change('a', '2');
    expect(await read('a')).toBe('2');
    expect(api.openWatches).toBe(1);
  });
  it('a rejection is reported once', async () => {
    const error = new ApiError({ code: 403, message: 'no' });
    api.faults.add({ verb: 'list', times: 3, fault: { kind: 'refuse', error } });
    store.registerPod(pod('p1', ['a']));
    await clock.advance(60_000);
    expect(timeline.ofNode().map(({ message }) => message)).toEqual(['configmap n/a cannot be watched: no']);
  });
});

describe('Cache', () => {
  beforeEach(() => open('Cache'));
  it('is fetched again after its TTL, a minute if the node sets none', async () => {
    await put('a');
    store.registerPod(pod('p1', ['a']));
    await read('a');
    await change('a', '2');
    await clock.advance(59_999);
    expect([await read('a'), made('get')]).toEqual(['1', 1]);
    await clock.advance(1);
    expect([await read('a'), made('get')]).toEqual(['2', 2]);
    ttlSeconds = 0;
    await read('a');
    expect(made('get')).toBe(3);
  });
  it('a registration makes the next read fetch', async () => {
    await put('a');
    store.registerPod(pod('p1', ['a']));
    await read('a');
    await change('a', '2');
    store.registerPod(pod('p1', ['a']));
    expect(await read('a')).toBe('2');
  });
  it('concurrent readers share one request', async () => {
    await put('a');
    store.registerPod(pod('p1', ['a']));
    expect(await Promise.all([read('a'), read('a')])).toEqual(['1', '1']);
    expect(made('get')).toBe(1);
  });
  it('caches that an object is missing, too', async () => {
    store.registerPod(pod('p1', ['a']));
    await expect(read('a')).rejects.toThrow('not found');
    await put('a');
    await expect(read('a')).rejects.toThrow('not found');
    await clock.advance(60_000);
    expect(await read('a')).toBe('1');
  });
  it('without the API the old copy is read', async () => {
    await put('a');
    store.registerPod(pod('p1', ['a']));
    await read('a');
    api.setReachable(false);
    await clock.advance(600_000);
    expect(await read('a')).toBe('1');
    store.registerPod(pod('p2', ['a']));
    await expect(read('a')).rejects.toThrow('connection refused');
  });
});

describe('Get', () => {
  it('fetches each time', async () => {
    open('Get');
    await put('a');
    store.registerPod(pod('p1', ['a']));
    await read('a');
    await change('a', '2');
    expect([await read('a'), made('get')]).toEqual(['2', 2]);
  });
});
