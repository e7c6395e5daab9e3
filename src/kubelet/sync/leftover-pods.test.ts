import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { ObservedPod } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { LeftoverPods } from './leftover-pods.js';

interface Given {
  readonly running: readonly string[];
  readonly configured?: readonly string[];
  readonly ready?: boolean;
}

function world({ running, configured = [], ready = false }: Given) {
  const clock = new VirtualClock();
  const runs = new Set(running);
  const wanted = new Set(configured);
  const sources = { ready };
  const told: string[] = [];
  const stop = new AbortController();
  const observed = (): ObservedPod[] =>
    [...runs].map(
      // Only what is read of an observed pod.
      (uid) =>
        ({
          uid,
          name: uid,
          namespace: 'default',
          sandboxes: [{ state: 'running' }],
          containers: [],
        }) as never,
    );
  const timeline = new Timeline({ clock });
  timeline.subscribe(({ message }) => told.push(message));
  const leftovers = new LeftoverPods({
    clock,
    timeline,
    observedPods: observed,
    isConfigured: (uid) => wanted.has(uid),
    allSourcesReady: () => sources.ready,
    signal: stop.signal,
  });
  return { clock, runs, wanted, sources, told, stop, leftovers };
}

const pod = (uid: string, annotations: Record<string, string> = {}): Pod => ({
  metadata: { uid, name: uid, namespace: 'default', annotations },
  spec: { containers: [] },
});
const staticPod = pod('static', { 'kubernetes.io/config.source': 'file' });

it('nothing waits where nothing is left', () => {
  expect(world({ running: [] }).leftovers.before(pod('new'))).toBeUndefined();
  expect(world({ running: ['a'], configured: ['a'] }).leftovers.before(pod('new'))).toBeUndefined();
});

it('a new pod waits until what is left has ended', async () => {
  const { leftovers, clock, runs, told } = world({ running: ['old'] });
  let isOver = false;
  void leftovers.before(pod('new'))?.then(() => {
    isOver = true;
  });
  await clock.advance(3_000);
  expect(isOver).toBe(false);
  runs.delete('old');
  await clock.advance(100);
  expect(isOver).toBe(true);
  expect(told).toHaveLength(1);
  expect(leftovers.before(pod('next'))).toBeUndefined();
});

it('all new pods wait for the same', () => {
  const { leftovers, told } = world({ running: ['old'] });
  expect(leftovers.before(pod('a'))).toBe(leftovers.before(pod('b')));
  expect(told).toHaveLength(1);
});

it('a pod that a source shows late is not left', async () => {
  const { leftovers, clock, wanted } = world({ running: ['late'] });
  const wait = leftovers.before(pod('new'));
  wanted.add('late');
  await clock.advance(100);
  await wait;
});

it('a pod that starts later is never waited for', () => {
  const { leftovers, runs } = world({ running: ['old'], configured: ['old'] });
  expect(leftovers.before(pod('new'))).toBeUndefined();
  runs.add('started');
  expect(leftovers.before(pod('next'))).toBeUndefined();
});

it('a static pod waits only where what is left is being ended', () => {
  const { leftovers, sources } = world({ running: ['old'] });
  expect(leftovers.before(staticPod)).toBeUndefined();
  sources.ready = true;
  expect(leftovers.before(staticPod)).toBeDefined();
});

it('what cannot be stopped keeps nobody for long, and is told', async () => {
  const { leftovers, clock, told } = world({ running: ['stuck'] });
  const wait = leftovers.before(pod('new'));
  await clock.advance(30_000);
  await wait;
  expect(told.at(-1)).toBe('1 of them still run after 30 s; new pods start beside them');
  expect(leftovers.before(pod('next'))).toBeUndefined();
});

it('the wait ends with the kubelet', async () => {
  const { leftovers, stop } = world({ running: ['old'] });
  const wait = leftovers.before(pod('new'));
  stop.abort();
  await wait;
});
