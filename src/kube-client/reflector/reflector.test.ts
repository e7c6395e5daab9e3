import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import type { ConfigMap } from '../../kube/types/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError } from '../api-error.js';
import { resources } from '../resources.js';
import { Informer, type InformerUpdate } from './informer.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let informer: Informer<ConfigMap>;
let tasks: TaskGroup;
let updates: string[];
let problems: string[];

const map = (name: string, value = '1'): ConfigMap => ({
  metadata: { name, namespace: 'n' },
  data: { value },
});
const create = (name: string): Promise<ConfigMap> => api.create(resources.configMaps, map(name));
const remove = (name: string) => api.delete(resources.configMaps, { namespace: 'n', name });
const shown = (): string =>
  informer
    .list()
    .map(({ metadata, data }) => `${metadata.name}=${data?.value}`)
    .sort()
    .join(' ');
const counted = (verb: string): number => api.calls.filter((call) => call.verb === verb).length;

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  updates = [];
  problems = [];
  informer = new Informer({
    api,
    clock,
    resource: resources.configMaps,
    namespace: 'n',
    random: () => 0.5,
    onUpdate: (update: InformerUpdate<ConfigMap>) =>
      void updates.push(
        update.kind === 'listed' ? 'listed' : `${update.change.type} ${update.change.object.metadata.name}`,
      ),
    onProblem: (error, then) => void problems.push(`${String(error)}: ${then}`),
  });
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
  expect(api.openWatches).toBe(0);
});
const start = async (): Promise<void> => {
  tasks.start('informer', (signal) => informer.run(signal));
  await settle();
};

describe('Informer', () => {
  it('has the existing objects and their changes', async () => {
    await create('a');
    expect(informer.hasSynced).toBe(false);
    await start();
    expect([informer.hasSynced, shown()]).toEqual([true, 'a=1']);
    await create('b');
    await api.update(resources.configMaps, map('a', '2'));
    await settle();
    expect(shown()).toBe('a=2 b=1');
    await remove('b');
    await settle();
    expect(shown()).toBe('a=2');
    expect(updates).toEqual(['listed', 'ADDED b', 'MODIFIED a', 'DELETED b']);
  });
  it('an empty list is a list', async () => {
    await start();
    expect([informer.hasSynced, updates]).toEqual([true, ['listed']]);
  });
  it('waiters resolve with the first list', async () => {
    let synced = false;
    const waiting = informer.synced().then(() => {
      synced = true;
    });
    api.setReachable(false);
    await start();
    expect(synced).toBe(false);
    api.setReachable(true);
    await clock.advance(5000);
    await waiting;
    expect(synced).toBe(true);
  });
  it('continues from the last version when a watch times out, without a new list', async () => {
    await start();
    await create('a');
    await clock.advance(3_600_000);
    expect(counted('list')).toBe(1);
    expect(counted('watch')).toBe(9);
    expect(updates).toEqual(['listed', 'ADDED a']);
  });
  it('a cut watch continues where it was when nothing changed', async () => {
    await create('a');
    await start();
    api.cutWatches();
    await clock.advance(5000);
    await create('b');
    await settle();
    expect(updates).toEqual(['listed', 'ADDED b']);
  });
  it('a cut watch loses nothing', async () => {
    await start();
    api.cutWatches();
    await create('a');
    await create('b');
    await remove('a');
    await clock.advance(5000);
    expect(updates).toEqual(['listed', 'listed']);
    expect(shown()).toBe('b=1');
  });
  it('lists again when the changes since its version were compacted', async () => {
    await start();
    api.setReachable(false);
    await clock.advance(100);
    api.setReachable(true);
    await create('a');
    api.compact();
    await create('b');
    await clock.advance(10_000);
    expect(updates).toEqual(['listed', 'listed']);
    expect(shown()).toBe('a=1 b=1');
  });
  it('lists again when the watch reports that its version is too old', async () => {
    const error = new ApiError({ code: 410, reason: 'Expired', message: 'too old resource version: 1 (9)' });
    await create('a');
    api.faults.add({ verb: 'watch', fault: { kind: 'refuse', error } });
    await start();
    expect(problems).toEqual([expect.stringContaining('too old resource version')]);
    await create('b');
    await clock.advance(10_000);
    expect(updates).toEqual(['listed', 'listed']);
    expect(shown()).toBe('a=1 b=1');
  });
  it('bookmarks keep the version recent', async () => {
    await start();
    // Changes of other objects, which the watch does not report.
    await api.create(resources.configMaps, { metadata: { name: 'x', namespace: 'other' } });
    await clock.advance(61_000);
    api.compact();
    api.endWatches();
    await clock.advance(10_000);
    expect(updates).toEqual(['listed']);
    expect(problems).toEqual([]);
  });
  it('follows a server that went back to an older state', async () => {
    await create('a');
    const backup = api.snapshot();
    await start();
    await create('b');
    await remove('a');
    await settle();
    expect(shown()).toBe('b=1');
    api.restore(backup);
    await clock.advance(10_000);
    expect(shown()).toBe('a=1');
    await create('c');
    await settle();
    expect(shown()).toBe('a=1 c=1');
  });
  it('follows it even when its versions have overtaken ours', async () => {
    await create('a');
    const backup = api.snapshot();
    await start();
    await create('b');
    await settle();
    api.restore(backup);
    for (let n = 0; n < 10; n++) {
      await api.create(resources.configMaps, { metadata: { name: `x${n}`, namespace: 'other' } });
    }
    await clock.advance(10_000);
    expect(shown()).toBe('a=1');
  });
  it('backs off while the server is away, and returns soon after it', async () => {
    api.setReachable(false);
    await start();
    await clock.advance(600_000);
    // 1.2 + 2.4 + … + 45 s: ten minutes hold five short waits and a dozen long ones.
    expect(counted('list')).toBeLessThan(20);
    api.setReachable(true);
    await create('a');
    await clock.advance(60_000);
    expect(shown()).toBe('a=1');
  });
  it('an error within a watch does not clear the copy', async () => {
    await create('a');
    api.faults.add({
      verb: 'watch',
      fault: { kind: 'refuse', error: new ApiError({ code: 500, message: 'no' }) },
      times: 3,
    });
    await start();
    await create('b');
    expect(shown()).toBe('a=1');
    await clock.advance(20_000);
    expect(shown()).toBe('a=1 b=1');
  });
  it('a busy owner applies back-pressure instead of losing changes', async () => {
    let release = (): void => undefined;
    const slow = new Informer({
      api,
      clock,
      resource: resources.configMaps,
      onUpdate: (update) =>
        update.kind === 'listed'
          ? undefined
          : new Promise<void>((resolve) => {
              release = resolve;
            }),
    });
    tasks.start('slow', (signal) => slow.run(signal));
    await settle();
    await create('a');
    await create('b');
    await settle();
    expect(slow.size).toBe(1);
    release();
    await settle();
    expect(slow.size).toBe(2);
    release();
  });
});
