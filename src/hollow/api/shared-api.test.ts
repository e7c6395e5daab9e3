import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiUnreachable, Informer, resources } from '../../kube-client/index.js';
import { LineSwitch, NodeLine } from './node-line.js';
import { SharedApi, sharedWatchOf } from './shared-api.js';

describe('which watches are shared', () => {
  it.each([
    ['all Services', resources.services, {}, { owner: '' }],
    ['the pods of a node', resources.pods, { fieldSelector: 'spec.nodeName=n1' }, { owner: 'n1' }],
    ['a Node', resources.nodes, { fieldSelector: 'metadata.name=n1' }, { owner: 'n1' }],
    ['one ConfigMap', resources.configMaps, { namespace: 'a', fieldSelector: 'metadata.name=b' }, undefined],
    ['one object of another kind', resources.csiNodes, { fieldSelector: 'metadata.name=n1' }, undefined],
    ['by labels', resources.services, { labelSelector: 'a=b' }, undefined],
    ['all but the pods of a node', resources.pods, { fieldSelector: 'spec.nodeName!=n1' }, undefined],
    ['two fields', resources.pods, { fieldSelector: 'spec.nodeName=n1,metadata.name=a' }, undefined],
  ])('%s', (_, resource, options, shared) => {
    const found = sharedWatchOf(resource, options);
    if (shared === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(shared);
  });
});

describe('shared watches', () => {
  let clock: VirtualClock;
  let api: SimulatedKubeApi;
  let tasks: TaskGroup;
  let shared: SharedApi;
  const problems: unknown[] = [];

  beforeEach(() => {
    clock = new VirtualClock();
    api = new SimulatedKubeApi({ clock });
    tasks = new TaskGroup({ onError: (_, error) => void problems.push(error) });
    shared = new SharedApi({ api, clock, random: () => 0.5, isOurs: (name) => name.startsWith('n'), tasks });
  });
  afterEach(async () => {
    await tasks.stop();
    expect(problems.splice(0)).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(api.openWatches).toBe(0);
  });

  const create = (name: string, nodeName: string): Promise<Pod> =>
    api.create(resources.pods, {
      metadata: { name, namespace: 'default' },
      spec: { nodeName, containers: [{ name: 'app', image: 'a' }] },
    });
  const remove = (name: string) =>
    api.delete(resources.pods, { namespace: 'default', name }, { gracePeriodSeconds: 0 });

  function follow(nodeName: string, line = new LineSwitch()): Informer<Pod> {
    const informer = new Informer<Pod>({
      api: new NodeLine(api, line, shared),
      clock,
      random: () => 0.5,
      resource: resources.pods,
      fieldSelector: `spec.nodeName=${nodeName}`,
    });
    tasks.start('informer', (signal) => informer.run(signal));
    return informer;
  }
  const names = (informer: Informer<Pod>): string =>
    informer
      .list()
      .map(({ metadata }) => metadata.name)
      .sort()
      .join(' ');

  it('give each node its own pods, by one watch', async () => {
    await create('a', 'n1');
    await create('b', 'n2');
    await create('c', 'other');
    const [first, second, third] = [follow('n1'), follow('n2'), follow('n3')];
    await settle();
    await create('d', 'n1');
    await remove('b');
    await settle();
    expect([names(first), names(second), names(third)]).toEqual(['a d', '', '']);
    expect(third.hasSynced).toBe(true);
    expect(api.openWatches).toBe(1);
    expect(shared.counts).toEqual({ opened: 1, served: 3 });
  });

  it('tell what changed while the connection was gone', async () => {
    await create('a', 'n1');
    await create('b', 'n1');
    const informer = follow('n1');
    await settle();
    api.cutWatches();
    await remove('a');
    await create('c', 'n1');
    await clock.advance(10_000);
    expect(names(informer)).toBe('b c');
  });

  it('an object that was replaced under its name goes and comes', async () => {
    const old = await create('a', 'n1');
    const informer = follow('n1');
    await settle();
    api.cutWatches();
    await remove('a');
    const fresh = await create('a', 'n1');
    await clock.advance(10_000);
    expect(informer.list()[0]?.metadata.uid).toBe(fresh.metadata.uid);
    expect(fresh.metadata.uid).not.toBe(old.metadata.uid);
  });

  it('a node whose line is cut sees nothing, and everything when it is restored', async () => {
    const line = new LineSwitch();
    const [cut, other] = [follow('n1', line), follow('n2')];
    await settle();
    line.cut();
    await create('a', 'n1');
    await create('b', 'n2');
    await clock.advance(30_000);
    expect([names(cut), names(other)]).toEqual(['', 'b']);
    line.restore();
    await clock.advance(60_000);
    expect(names(cut)).toBe('a');
  });

  it('nodes that begin while the server is away begin when it is back', async () => {
    api.setReachable(false);
    const informer = follow('n1');
    await clock.advance(5_000);
    expect(informer.hasSynced).toBe(false);
    api.setReachable(true);
    await clock.advance(60_000);
    expect(informer.hasSynced).toBe(true);
  });

  it('an answer that comes after the line was cut is lost', async () => {
    const line = new LineSwitch();
    const asking = new NodeLine(api, line, shared).list(resources.pods);
    line.cut();
    await expect(asking).rejects.toThrow(ApiUnreachable);
    await expect(new NodeLine(api, line, shared).list(resources.pods)).rejects.toMatchObject({
      unanswered: 'not-sent',
    });
  });
});
