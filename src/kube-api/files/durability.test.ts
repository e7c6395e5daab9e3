/** What is stored on a disk that fails, and by a process that is killed. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { DurableFiles, simulatedHost } from '../../host/index.js';
import type { SimulatedHost } from '../../host/simulated/simulated-host.js';
import type { ConfigMap } from '../../kube/types/index.js';
import { resources } from '../../kube-client/resources.js';
import { refusalOf } from '../kinds/kinds-test-api.js';
import { Storage } from '../objects/storage.js';
import { ServedApi } from '../server.js';
import { ObjectFiles } from './object-files.js';

const kept = [
  resources.namespaces,
  resources.serviceAccounts,
  resources.configMaps,
  resources.persistentVolumeClaims,
];

interface Node {
  readonly api: ServedApi;
  readonly host: SimulatedHost;
  readonly clock: VirtualClock;
  readonly told: string[];
}

async function start(host: SimulatedHost = simulatedHost()): Promise<Node> {
  const clock = new VirtualClock();
  const told: string[] = [];
  const durable = new DurableFiles({
    files: host.files,
    clock,
    observer: {
      setAside: ({ path, reason }) => told.push(`set aside ${path}: ${reason}`),
      failing: () => undefined,
      recovered: () => undefined,
    },
  });
  const storage = new Storage();
  const files = new ObjectFiles({
    dir: '/objects',
    files: durable,
    clock,
    kept,
    onFailure: (file) => told.push(`cannot write ${file}`),
  });
  await files.open(storage);
  const api = new ServedApi({ clock, storage, keep: (change) => files.written(change) });
  return { api, host, clock, told };
}

const ref = (name: string) => ({ namespace: 'shop', name });
const map = (name: string, value: string, finalizers?: string[]): ConfigMap => ({
  metadata: { name, ...(finalizers === undefined ? {} : { finalizers }) },
  data: { value, more: 'x\n'.repeat(9) },
});
const patched = (api: ServedApi, name: string, body: unknown): Promise<unknown> =>
  api.patch(resources.configMaps, ref(name), { type: 'merge', body });

async function shop(): Promise<Node> {
  const node = await start();
  await node.api.create(resources.namespaces, { metadata: { name: 'shop' } }, undefined);
  await node.api.create(resources.configMaps, map('old', 'old'), 'shop');
  await node.api.create(resources.configMaps, map('held', 'old', ['a.b/c']), 'shop');
  await node.api.create(resources.configMaps, map('going', 'old', ['a.b/c']), 'shop');
  await node.api.delete(resources.configMaps, ref('going'));
  return node;
}

/** All that is stored, without what differs from one test to the next. */
function contents(api: ServedApi): string[] {
  return kept.flatMap((resource) =>
    api.storage.list(resource).map((object) => {
      const { name, finalizers = [], deletionTimestamp } = object.metadata;
      const rest = { ...object, apiVersion: undefined, kind: undefined, metadata: undefined };
      const end = deletionTimestamp === undefined ? '' : ' ending';
      return `${resource.plural} ${name}${end} [${finalizers.join()}] ${JSON.stringify(rest)}`;
    }),
  );
}

const writes: readonly (readonly [string, (api: ServedApi) => Promise<unknown>])[] = [
  ['a creation', (api) => api.create(resources.configMaps, map('new', 'new'), 'shop')],
  [
    'an update',
    (api) =>
      api.update(resources.configMaps, {
        ...map('old', 'new'),
        metadata: { name: 'old', namespace: 'shop' },
      }),
  ],
  ['a patch', (api) => patched(api, 'old', { data: { value: 'new' } })],
  [
    'an apply',
    (api) =>
      api.apply(resources.configMaps, ref('new'), map('new', 'new'), { fieldManager: 'm', force: true }),
  ],
  ['a deletion', (api) => api.delete(resources.configMaps, ref('old'))],
  ['a deletion that waits', (api) => api.delete(resources.configMaps, ref('held'))],
  ['the last finalizer gone', (api) => patched(api, 'going', { metadata: { finalizers: null } })],
  ['a new namespace', (api) => api.create(resources.namespaces, { metadata: { name: 'new' } }, undefined)],
  ['the deletion of a namespace', (api) => api.delete(resources.namespaces, { name: 'shop' })],
  [
    'the end of a namespace',
    async (api) => {
      const found = api.get(resources.namespaces, { name: 'shop' });
      await api.update(
        resources.namespaces,
        { ...found, spec: { finalizers: [] } },
        { subresource: 'finalize' },
      );
    },
  ],
  ['the deletion of all', (api) => api.deleteCollection(resources.configMaps, {})],
];

describe('a process that is killed between any two calls', () => {
  it.each(writes)('leaves the old or the new objects whole: %s', async (_what, write) => {
    const before = contents((await shop()).api);
    const done = await shop();
    await write(done.api);
    const after = contents(done.api);
    expect(after).not.toEqual(before);
    const all = new Set([...before, ...after]);
    for (let at = 1, isOver = false; !isOver; at++) {
      const { api, host } = await shop();
      host.inject({ at: (host.calls.at(-1)?.number ?? 0) + at, when: 'before', effect: { kind: 'die' } });
      const isTold = await write(api).then(
        () => true,
        () => false,
      );
      isOver = !host.dead;
      const next = await start(simulatedHost({ machine: host.machine }));
      const left = contents(next.api);
      expect(next.told).toEqual([]);
      // What was not touched is there, and nothing is half.
      for (const object of before.filter((one) => after.includes(one))) expect(left).toContain(object);
      for (const object of left) expect(all).toContain(object);
      if (isTold) expect(left).toEqual(after);
      expect(next.api.storage.revision).toBeGreaterThanOrEqual(api.storage.revision);
      expect(at).toBeLessThan(60);
    }
  });
});

describe('a disk that is full', () => {
  const full = (host: SimulatedHost): (() => void) => {
    let isFull = true;
    host.inject({
      at: ({ operation }) => isFull && (operation === 'writeFile' || operation === 'unlink'),
      when: 'before',
      effect: { kind: 'fail', code: 'ENOSPC' },
    });
    return () => {
      isFull = false;
    };
  };

  it.each(writes)('leaves the old objects, and the client is told: %s', async (_what, write) => {
    const { api, host, clock } = await shop();
    const before = contents(api);
    const freed = full(host);
    expect(await refusalOf(write(api))).toMatch(
      /^500 the disk of the node does not take the change, so it was not made: ENOSPC/,
    );
    expect(contents(api)).toEqual(before);
    expect(contents((await start(simulatedHost({ machine: host.machine }))).api)).toEqual(before);
    freed();
    // What failed before does not come back when there is room again.
    await clock.advance(5_000);
    expect(contents((await start(simulatedHost({ machine: host.machine }))).api)).toEqual(before);
    await write(api);
    expect(contents((await start(simulatedHost({ machine: host.machine }))).api)).toEqual(contents(api));
  });

  it('takes back several writes of one object, to what was kept', async () => {
    const { api, host } = await shop();
    const before = contents(api);
    full(host);
    const outcomes = await Promise.all(
      ['one', 'two', 'three'].map((value) => refusalOf(patched(api, 'old', { data: { value } }))),
    );
    for (const outcome of outcomes) expect(outcome).toContain('ENOSPC');
    expect(contents(api)).toEqual(before);
  });

  it('is told to a client whose write another one is making', async () => {
    const { api, host } = await shop();
    full(host);
    const [first, second] = await Promise.all(
      [1, 2].map(() => refusalOf(patched(api, 'old', { data: { value: 'same' } }))),
    );
    expect([first, second]).toEqual([expect.stringContaining('ENOSPC'), expect.stringContaining('ENOSPC')]);
  });

  it('watchers see what is taken back', async () => {
    const { api, host } = await shop();
    full(host);
    const seen: string[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const event of api.watch(resources.configMaps, {
        resourceVersion: String(api.storage.revision),
        signal: stop.signal,
      }))
        if (event.type === 'ADDED' || event.type === 'MODIFIED' || event.type === 'DELETED')
          seen.push(`${event.type} ${event.object.metadata.name}`);
    })().catch(() => undefined);
    await refusalOf(api.create(resources.configMaps, map('new', 'new'), 'shop'));
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await watching;
    expect(seen).toEqual(['ADDED new', 'DELETED new']);
  });
});

it('thousands of objects that go at once are all gone from the disk', async () => {
  const { api, host } = await shop();
  const names = Array.from({ length: 2_500 }, (_, n) => `m${n}`);
  await Promise.all(names.map((name) => api.create(resources.configMaps, map(name, 'x'), 'shop')));
  await api.deleteCollection(resources.configMaps, { fieldSelector: 'metadata.name!=held' });
  const next = await start(simulatedHost({ machine: host.machine }));
  expect(next.api.storage.list(resources.configMaps).map(({ metadata }) => metadata.name)).toEqual([
    'going',
    'held',
  ]);
});
