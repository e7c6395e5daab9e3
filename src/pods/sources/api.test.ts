import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Channel, settle, TaskGroup, VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { type ConfigUpdate, PodConfig } from '../desired/index.js';
import { ApiSource } from './api.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let config: PodConfig;
let timeline: Timeline;
let tasks: TaskGroup;
let nodeSynced: Channel<undefined>;

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline();
  config = new PodConfig({ clock, timeline, sources: ['api'] });
  nodeSynced = new Channel(1);
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
  const source = new ApiSource({
    clock,
    timeline,
    api,
    nodeName: 'n1',
    random: () => 0,
    nodeSynced: async (signal) => {
      await nodeSynced.receive(signal);
    },
    deliver: (snapshot, signal) => config.deliver(snapshot, signal),
  });
  tasks.start('source', (signal) => source.run(signal));
});
afterEach(async () => {
  await tasks.stop();
  expect([clock.pendingTimers, api.openWatches]).toEqual([0, 0]);
});

const start = async (): Promise<void> => {
  nodeSynced.trySend(undefined);
  await settle();
};
const create = (name: string, nodeName: string | undefined = 'n1'): Promise<Pod> =>
  api.create(resources.pods, {
    metadata: { name, namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'i' }], nodeName },
  });
const ref = (name: string) => ({ namespace: 'default', name });
/** The operations since the last call, with the pods' names. */
async function operations(): Promise<string[]> {
  await settle();
  const found: ConfigUpdate[] = [];
  while (config.updates.size > 0) {
    const received = await config.updates.receive();
    if (!received.done) found.push(received.value);
  }
  return found.map(({ op, pods }) => [op, ...pods.map(({ metadata }) => metadata.name)].join(' '));
}

describe('ApiSource', () => {
  it('waits until the node is known', async () => {
    await create('a');
    await settle();
    expect(api.calls.filter(({ verb }) => verb === 'list')).toEqual([]);
    await start();
    expect(await operations()).toEqual(['ADD a']);
  });
  it('an empty node is a first snapshot, too', async () => {
    await start();
    expect(await operations()).toEqual(['ADD']);
  });
  it('sees only the pods of its node', async () => {
    await create('a');
    await create('b', 'n2');
    await start();
    await create('c', 'n2');
    await create('d');
    expect(await operations()).toEqual(['ADD a', 'ADD d']);
    expect(api.calls.find(({ verb }) => verb === 'watch')).toBeDefined();
  });
  it('a pod’s life: added, updated, status reconciled, deleted gracefully, removed', async () => {
    await start();
    await operations();
    await create('a');
    expect(await operations()).toEqual(['ADD a']);
    await api.patch(resources.pods, ref('a'), { type: 'merge', body: { metadata: { labels: { l: '1' } } } });
    expect(await operations()).toEqual(['UPDATE a']);
    const body = { status: { phase: 'Running' } };
    await api.patch(resources.pods, ref('a'), { type: 'strategic', body }, { subresource: 'status' });
    expect(await operations()).toEqual(['RECONCILE a']);
    await api.delete(resources.pods, ref('a'), { gracePeriodSeconds: 10 });
    expect(await operations()).toEqual(['DELETE a']);
    await api.delete(resources.pods, ref('a'), { gracePeriodSeconds: 0 });
    expect(await operations()).toEqual(['REMOVE a']);
  });
  it('a pod of the same name that came while the watch was cut is another pod', async () => {
    const old = await create('a');
    await start();
    await operations();
    api.setReachable(false);
    await settle();
    api.setReachable(true);
    await api.delete(resources.pods, ref('a'), { gracePeriodSeconds: 0 });
    const next = await create('a');
    api.compact();
    await clock.advance(10_000);
    expect(await operations()).toEqual(['REMOVE a', 'ADD a']);
    expect(next.metadata.uid).not.toBe(old.metadata.uid);
  });
  it('removes nothing while the server does not respond', async () => {
    await create('a');
    await start();
    await operations();
    api.setReachable(false);
    await clock.advance(600_000);
    expect(await operations()).toEqual([]);
    const problems = timeline.ofNode().filter(({ kind }) => kind === 'problem');
    expect(problems.map(({ what }) => what)).toContain('pods.api');
    expect(problems.length).toBeLessThan(5);
    api.setReachable(true);
    await create('b');
    await clock.advance(60_000);
    expect(await operations()).toEqual(['ADD b']);
    expect(timeline.ofNode().at(-1)?.message).toBe('the API server works again');
  });
  it('goes back with a server that was restored from a backup', async () => {
    await create('a');
    const backup = api.snapshot();
    await start();
    await create('b');
    expect(await operations()).toEqual(['ADD a', 'ADD b']);
    api.restore(backup);
    await clock.advance(10_000);
    expect(await operations()).toEqual(['REMOVE b']);
    await create('c');
    expect(await operations()).toEqual(['ADD c']);
  });
  it('leaves out what has no identity, and tells of it until it has', async () => {
    const { spec } = await create('a');
    const { metadata } = await api.list(resources.pods);
    const items = [
      { metadata: { uid: 'u1', name: 'whole', namespace: 'default' }, spec },
      { metadata: { name: 'no-uid', namespace: 'default' }, spec },
      { metadata: { uid: 'u2', name: '' }, spec },
    ];
    vi.spyOn(api, 'list').mockResolvedValueOnce({ metadata, items });
    await start();
    expect(await operations()).toEqual(['ADD whole']);
    const problems = timeline.ofNode().filter(({ kind }) => kind === 'problem');
    expect(problems).toMatchObject([
      {
        what: 'pods.api',
        message: 'pod "default/no-uid" has no uid, pod "/" has no name and no namespace',
        because: 'such a pod is left out',
      },
    ]);
    await create('b');
    expect(await operations()).toEqual(['ADD b']);
    expect(timeline.ofNode().filter(({ kind }) => kind === 'problem')).toHaveLength(1);
    api.setReachable(false);
    await settle();
    api.compact();
    api.setReachable(true);
    await clock.advance(10_000);
    expect(await operations()).toEqual(['REMOVE whole', 'ADD a']);
    expect(timeline.ofNode().map(({ message }) => message)).toContain(
      'the identity check of API pods works again',
    );
  });
  it('a refused list is tried again', async () => {
    await create('a');
    const error = new ApiError({ code: 403, message: 'pods is forbidden' });
    api.faults.add({ verb: 'list', resource: resources.pods, fault: { kind: 'refuse', error }, times: 3 });
    await start();
    expect(await operations()).toEqual([]);
    await clock.advance(10_000);
    expect(await operations()).toEqual(['ADD a']);
  });
});
