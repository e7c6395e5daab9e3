import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { PodConfig } from './config.js';
import { isMirrorOf, PodManager } from './manager.js';
import { mergeSnapshot } from './merge.js';
import type { ConfigUpdate, SourceName } from './types.js';

interface Change {
  name?: string;
  namespace?: string;
  image?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  phase?: 'Pending' | 'Running';
  deletionTimestamp?: string;
}

function pod(uid: string, change: Change = {}): Pod {
  return {
    metadata: {
      uid,
      name: change.name ?? uid.toLowerCase(),
      namespace: change.namespace ?? 'default',
      labels: change.labels,
      annotations: change.annotations,
      deletionTimestamp: change.deletionTimestamp,
    },
    spec: { containers: [{ name: 'c', image: change.image ?? 'i:1' }] },
    status: { phase: change.phase ?? 'Pending' },
  };
}

/** Merges snapshots one after another and returns the operations of the last. */
function play(...snapshots: Pod[][]): { ops: string[]; pods: Map<string, Pod>; duplicates: string[] } {
  let known: ReadonlyMap<string, Pod> = new Map();
  let last: ReadonlyMap<string, Pod> = new Map();
  let ops: string[] = [];
  let duplicates: string[] = [];
  snapshots.forEach((pods, index) => {
    const merge = mergeSnapshot({
      known,
      last,
      snapshot: { source: 'api', pods },
      first: index === 0,
      seen: `seen-${index}`,
    });
    known = merge.pods;
    last = merge.snapshot;
    ops = merge.updates.map((update) => `${update.op}[${update.pods.map((one) => one.metadata.uid).join()}]`);
    duplicates = merge.duplicates.map(({ pod: one, what }) => `${one.metadata.uid}: ${what}`);
  });
  return { ops, pods: new Map(known), duplicates };
}

const now = '2026-01-01T00:00:00Z';

describe('mergeSnapshot', () => {
  it.each<[string, Pod[][], string[]]>([
    ['a first empty snapshot is one empty ADD', [[]], ['ADD[]']],
    ['a second empty snapshot is nothing', [[], []], []],
    [
      'removals come first, then additions, then updates',
      [
        [pod('A'), pod('B'), pod('C')],
        [pod('B', { image: 'i:2' }), pod('C'), pod('D')],
      ],
      ['REMOVE[A]', 'ADD[D]', 'UPDATE[B]'],
    ],
    ['only the status changed', [[pod('A')], [pod('A', { phase: 'Running' })]], ['RECONCILE[A]']],
    ['status and spec changed', [[pod('A')], [pod('A', { phase: 'Running', image: 'i:2' })]], ['UPDATE[A]']],
    ['nothing changed', [[pod('A')], [pod('A')]], []],
    ['a known pod is deleted', [[pod('A')], [pod('A', { deletionTimestamp: now })]], ['DELETE[A]']],
    [
      'a label changes while it is deleted',
      [[pod('A', { deletionTimestamp: now })], [pod('A', { deletionTimestamp: now, labels: { a: 'b' } })]],
      ['DELETE[A]'],
    ],
    ['an unknown pod that is already deleted', [[pod('A', { deletionTimestamp: now })]], ['ADD[A]']],
    [
      'only local annotations differ',
      [
        [pod('A')],
        [
          pod('A', {
            annotations: {
              'kubernetes.io/config.seen': 'x',
              'kubernetes.io/config.source': 'y',
              'kubernetes.io/config.mirror': 'z',
            },
          }),
        ],
      ],
      [],
    ],
    ['an annotation is removed', [[pod('A', { annotations: { a: 'b' } })], [pod('A')]], ['UPDATE[A]']],
    [
      'the same name with another UID',
      [[pod('A', { name: 'x' })], [pod('B', { name: 'x' })]],
      ['REMOVE[A]', 'ADD[B]'],
    ],
    ['the first snapshot of only removals cannot be, but a later one may', [[pod('A')], []], ['REMOVE[A]']],
  ])('%s', (_rule, snapshots, ops) => {
    expect(play(...snapshots).ops).toEqual(ops);
  });

  it('keeps the time at which a pod was first seen, and its source', () => {
    const { pods } = play([pod('A', { annotations: { a: 'b' } })], [pod('A')]);
    expect(pods.get('A')?.metadata.annotations).toEqual({
      'kubernetes.io/config.seen': 'seen-0',
      'kubernetes.io/config.source': 'api',
    });
  });
  it('keeps the first of two pods with one full name, and both with different namespaces', () => {
    const { ops, duplicates } = play([
      pod('A', { name: 'x' }),
      pod('B', { name: 'x' }),
      pod('C', { name: 'x', namespace: 'other' }),
    ]);
    expect(ops).toEqual(['ADD[A,C]']);
    expect(duplicates).toEqual(['B: pod name "x"']);
  });
});

it('mergeSnapshot does not compare an object that it has seen before', () => {
  const seen = pod('A');
  const unread: Pod = {
    ...seen,
    get spec(): Pod['spec'] {
      throw new Error('compared');
    },
  };
  const merge = mergeSnapshot({
    known: new Map([['A', seen]]),
    last: new Map([['A', unread]]),
    snapshot: { source: 'api', pods: [unread, pod('B')] },
    first: false,
    seen: '',
  });
  expect(merge.updates.map(({ op }) => op)).toEqual(['ADD']);
});

it('mergeSnapshot keeps the first of two pods with one UID', () => {
  const { ops, duplicates } = play([pod('A', { name: 'x' }), pod('A', { name: 'y' })]);
  expect(ops).toEqual(['ADD[A]']);
  expect(duplicates).toEqual(['A: UID "A"']);
});

describe('a pod that nobody can read', () => {
  // What a server sends need not be what the type says.
  const unreadable = (uid: string, change: object = {}): Pod => {
    const good = pod(uid, change);
    return { ...good, spec: { ...good.spec, volumes: [{ name: 'v', emptyDir: { sizeLimit: 'much' } }] } };
  };

  it('is dropped, and the others go on', () => {
    const { ops, pods } = play([pod('A'), unreadable('B'), pod('C')]);
    expect(ops).toEqual(['ADD[A,C]']);
    expect([...pods.keys()]).toEqual(['A', 'C']);
  });
  it('keeps its spec if it was readable before', () => {
    const { ops, pods } = play([pod('A')], [unreadable('A', { image: 'i:2' })]);
    expect(ops).toEqual([]);
    expect(pods.get('A')?.spec).toEqual(pod('A').spec);
  });
  it('is deleted as any other', () => {
    const deleted = unreadable('A', { deletionTimestamp: now });
    deleted.metadata.deletionGracePeriodSeconds = 'soon' as unknown as number;
    const { ops, pods } = play([pod('A')], [deleted]);
    expect(ops).toEqual(['DELETE[A]']);
    expect(pods.get('A')?.metadata.deletionTimestamp).toBe(now);
    expect(pods.get('A')?.metadata.deletionGracePeriodSeconds).toBeUndefined();
  });
  it('comes back when it can be read', () => {
    expect(play([unreadable('A')], [pod('A')]).ops).toEqual(['ADD[A]']);
    expect(play([unreadable('A')], [unreadable('A')], []).ops).toEqual([]);
  });
});

describe('PodConfig', () => {
  const setup = (sources: SourceName[]) => {
    const timeline = new Timeline();
    const config = new PodConfig({ clock: new VirtualClock(), timeline, sources });
    return { timeline, config, signal: new AbortController().signal };
  };
  it('is ready once every source delivered and was handled', async () => {
    const { config, signal } = setup(['file', 'http']);
    expect(config.allSourcesReady).toBe(false);
    await config.deliver({ source: 'file', pods: [] }, signal);
    config.markHandled('file');
    expect(config.missingSources).toEqual(['http']);
    await config.deliver({ source: 'http', pods: [] }, signal);
    expect(config.allSourcesReady).toBe(false);
    config.markHandled('http');
    expect(config.allSourcesReady).toBe(true);
  });
  it('is ready without sources', () => {
    expect(setup([]).config.allSourcesReady).toBe(true);
  });
  it('a new pod that was deleted while its update waited is new as a deleted one', async () => {
    const { config, signal } = setup(['api']);
    const deletionOf = (): (string | undefined)[] => {
      const received = config.updates.tryReceive();
      if (received === undefined || received.done) return [];
      return config.asOfNow(received.value).pods.map(({ metadata }) => metadata.deletionTimestamp);
    };
    await config.deliver({ source: 'api', pods: [pod('A'), pod('B')] }, signal);
    await config.deliver({ source: 'api', pods: [pod('A', { deletionTimestamp: now }), pod('B')] }, signal);
    expect(deletionOf()).toEqual([now, undefined]);
    expect(deletionOf()).toEqual([now]);
  });
  it('a changed pod that was deleted while its update waited comes as a deleted one', async () => {
    const { config, signal } = setup(['api']);
    const next = (): ConfigUpdate => {
      const received = config.updates.tryReceive();
      if (received === undefined || received.done) throw new Error('no update');
      return config.asOfNow(received.value);
    };
    await config.deliver({ source: 'api', pods: [pod('A')] }, signal);
    next();
    await config.deliver({ source: 'api', pods: [pod('A', { image: 'i:2' })] }, signal);
    await config.deliver(
      { source: 'api', pods: [pod('A', { image: 'i:2', deletionTimestamp: now })] },
      signal,
    );
    const changed = next();
    expect(changed.op).toBe('UPDATE');
    expect(changed.pods.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([now]);
    expect(next().op).toBe('DELETE');
  });
  it('news of a pod that was deleted while they waited do not bring it back', async () => {
    const { config, signal } = setup(['api']);
    const ops: string[] = [];
    await config.deliver({ source: 'api', pods: [pod('A')] }, signal);
    await config.deliver({ source: 'api', pods: [pod('A', { phase: 'Running' })] }, signal);
    await config.deliver(
      { source: 'api', pods: [pod('A', { phase: 'Running', deletionTimestamp: now })] },
      signal,
    );
    for (let received = config.updates.tryReceive(); received !== undefined && !received.done; ) {
      const { op, pods } = config.asOfNow(received.value);
      ops.push(op);
      expect(pods.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([now]);
      received = config.updates.tryReceive();
    }
    expect(ops).toEqual(['ADD', 'RECONCILE', 'DELETE']);
  });
  it('tells of a deletion before its update is in the channel', async () => {
    const told: string[] = [];
    const config = new PodConfig({
      clock: new VirtualClock(),
      timeline: new Timeline({ clock: new VirtualClock() }),
      sources: ['api'],
      onDeleted: (pods) => told.push(...pods.map(({ metadata }) => metadata.name)),
    });
    const { signal } = new AbortController();
    await config.deliver({ source: 'api', pods: [pod('A'), pod('B')] }, signal);
    expect(told).toEqual([]);
    await config.deliver({ source: 'api', pods: [pod('A', { deletionTimestamp: now }), pod('B')] }, signal);
    expect(told).toEqual(['a']);
  });
  it('a new pod keeps what it was admitted with when only its spec changed or it is gone', async () => {
    const { config, signal } = setup(['api']);
    await config.deliver({ source: 'api', pods: [pod('A'), pod('B')] }, signal);
    await config.deliver({ source: 'api', pods: [pod('A', { image: 'i:2' })] }, signal);
    const received = config.updates.tryReceive();
    if (received === undefined || received.done) throw new Error('no update');
    expect(config.asOfNow(received.value)).toEqual(received.value);
  });
  it('reports duplicates as an event', async () => {
    const { config, timeline, signal } = setup(['http']);
    await config.deliver(
      { source: 'http', pods: [pod('A', { name: 'x' }), pod('B', { name: 'x' })] },
      signal,
    );
    expect(timeline.ofPod('B')[0]).toMatchObject({
      message: 'Error validating pod x_default(B) from http due to duplicate pod name "x", ignoring',
      event: { type: 'Warning', reason: 'FailedValidation' },
    });
  });
  it('tells once of a pod that nobody can read', async () => {
    const { config, timeline, signal } = setup(['api']);
    for (const priority of ['high', 'high', 'higher']) {
      const good = pod('A', { name: 'x' });
      // What a server sends need not be what the type says.
      const spec = { ...good.spec, priority: priority as unknown as number };
      await config.deliver({ source: 'api', pods: [{ ...good, spec }] }, signal);
    }
    expect(timeline.ofPod('A').map(({ message }) => message)).toEqual([
      'Error validating pod x_default(A) from api due to spec.priority is "high", not a whole number, ignoring',
      'Error validating pod x_default(A) from api due to spec.priority is "higher", not a whole number, ignoring',
    ]);
  });
  it('waits for room in the channel and keeps the order', async () => {
    const { config, signal } = setup(['api']);
    const deliveries = Array.from({ length: 60 }, (_, n) =>
      config.deliver({ source: 'api', pods: [pod('A', { image: `i:${n}` })] }, signal),
    );
    await settle();
    expect(config.updates.size).toBe(50);
    const ops: string[] = [];
    for (let n = 0; n < 60; n++) {
      const received = await config.updates.receive();
      if (!received.done)
        ops.push(`${received.value.op} ${received.value.pods[0]?.spec.containers[0]?.image}`);
    }
    await Promise.all(deliveries);
    expect(ops[0]).toBe('ADD i:0');
    expect(ops[59]).toBe('UPDATE i:59');
  });
});

describe('PodManager', () => {
  const staticPod = pod('S', { name: 'web', annotations: { 'kubernetes.io/config.hash': 'h' } });
  const mirror = pod('M', { name: 'web', annotations: { 'kubernetes.io/config.mirror': 'h' } });
  it('tells that pods came, changed and went, and nothing of mirrors', () => {
    const manager = new PodManager();
    let changes = 0;
    const leave = manager.onChange(() => changes++);
    manager.upsert(staticPod);
    manager.upsert(staticPod);
    manager.upsert(mirror);
    manager.remove(mirror);
    manager.remove(staticPod);
    expect(changes).toBe(3);
    leave();
    manager.upsert(staticPod);
    expect(changes).toBe(3);
  });
  it('finds a pod by UID, by full name and through its mirror', () => {
    const manager = new PodManager();
    manager.upsert(staticPod);
    manager.upsert(mirror);
    expect(manager.byUid('S')).toBe(staticPod);
    expect(manager.byUid('M')).toBeUndefined();
    expect(manager.podAndMirror(mirror)).toEqual({ pod: staticPod, mirror, wasMirror: true });
    expect(manager.podAndMirror(staticPod)).toEqual({ pod: staticPod, mirror, wasMirror: false });
    expect([manager.translateUid('M'), manager.translateUid('S'), manager.translateUid('x')]).toEqual([
      'S',
      'S',
      'x',
    ]);
    expect(manager.orphanedMirrors()).toEqual([]);
    manager.remove(staticPod);
    expect(manager.orphanedMirrors()).toEqual(['web_default']);
    manager.remove(mirror);
    expect(manager.orphanedMirrors()).toEqual([]);
  });
  it('a late removal does not take the name from its current pod', () => {
    const manager = new PodManager();
    const old = pod('1', { name: 'web' });
    const fresh = pod('2', { name: 'web' });
    manager.upsert(old);
    manager.upsert(fresh);
    manager.remove(old);
    expect(manager.byFullName('web_default')).toBe(fresh);
  });
  it('a mirror belongs to one version of its pod', () => {
    expect(isMirrorOf(mirror, staticPod)).toBe(true);
    expect(
      isMirrorOf(mirror, pod('S', { name: 'web', annotations: { 'kubernetes.io/config.hash': 'x' } })),
    ).toBe(false);
  });
});
