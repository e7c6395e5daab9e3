/** The trace of a pod: one connected tree from the moment it is shown until it is ready, whatever happens beside it. */
import { afterEach, describe, expect, it } from 'vitest';
import { Registry } from '../../src/metrics/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { openTracing } from '../../src/tracing/recording/open-tracing.js';
import type { FinishedSpan } from '../../src/tracing/recording/recorded-span.js';
import { ClusterMachine, startMember } from './cluster-machine.js';
import { Machine } from './machine.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod } from './pods.js';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await endNodes();
});

function tracedOn(machine: Machine, samplingRatePerMillion = 1_000_000) {
  const spans: FinishedSpan[] = [];
  const timeline = new Timeline({ clock: machine.time });
  const registry = new Registry();
  const tracing = openTracing({
    clock: machine.time,
    timeline,
    registry,
    nodeName: 'n1',
    version: '1',
    settings: { samplingRatePerMillion },
    exporter: {
      export: async (batch) => {
        spans.push(...batch);
        return { kind: 'done', rejected: 0 };
      },
      close() {},
    },
  });
  closing.push(() => tracing.close());
  return { spans, tracing, options: { timeline, registry, tracer: tracing.tracer } };
}

function treeOf(spans: readonly FinishedSpan[], parent?: string, depth = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .sort((a, b) => a.startMs - b.startMs)
    .flatMap((span) => ['  '.repeat(depth) + span.name, ...treeOf(spans, span.context.spanId, depth + 1)]);
}

function startOf(spans: readonly FinishedSpan[], pod: string): FinishedSpan[] {
  const root = spans.find(
    ({ name, attributes }) => name === 'startPod' && attributes.get('k8s.pod.name') === pod,
  );
  return spans.filter(({ context }) => context.traceId === root?.context.traceId);
}

describe('the start of a pod', () => {
  it('is one tree, from the moment the API shows it until the API knows that it is ready', async () => {
    const on = new ClusterMachine();
    const { spans, tracing, options } = tracedOn(on.machine);
    const member = await startMember({ on, kubelet: options });
    await on.create('a');
    await member.node.until('a is ready', () => spans.concat().some(({ name }) => name === 'startPod'));
    await member.node.advance(10 * second);
    await tracing.close();
    const trace = startOf(spans, 'a');
    const tree = treeOf(trace);
    expect(tree[0]).toBe('startPod');
    expect(tree).toHaveLength(trace.length);
    expect(new Set(tree.map((line) => line.trim()))).toEqual(
      new Set([
        'startPod',
        'pod.admit',
        'syncPod',
        'image.pulled',
        'sandbox.create',
        'container.start',
        'pod.ready',
        'writeStatus',
      ]),
    );
    expect(tree).toContain('    sandbox.create');
    expect(tree).toContain('    container.start');
    const root = trace.find(({ name }) => name === 'startPod')!;
    expect(Object.fromEntries(root.attributes)).toMatchObject({
      'k8s.pod': 'default/a',
      'k8s.namespace.name': 'default',
      'nodelet.source': 'api',
      'nodelet.outcome': 'ready',
    });
    // The last write tells of the end, and so begins after it.
    for (const { name, startMs, endMs } of trace.filter((span) => span.name !== 'writeStatus')) {
      expect(startMs, name).toBeGreaterThanOrEqual(root.startMs);
      expect(endMs, name).toBeLessThanOrEqual(root.endMs + 1);
    }
    const sync = trace.find(({ name }) => name === 'syncPod')!;
    expect(sync.attributes.get('k8s.pod.update_type')).toBe('create');
  });

  it('of many pods at once does not mix', async () => {
    const machine = new Machine({ images: 'any' });
    const { spans, tracing, options } = tracedOn(machine);
    const node = await startNode({ machine, kubelet: options });
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    node.set(names.map((name) => apiPod(name)));
    for (const name of names) await node.untilReady(name);
    await tracing.close();
    for (const name of names) {
      const trace = startOf(spans, name);
      expect(treeOf(trace)).toHaveLength(trace.length);
      const pods = new Set(trace.flatMap(({ attributes }) => attributes.get('k8s.pod.name') ?? []));
      expect(pods).toEqual(new Set([name]));
    }
  });

  it('ends when the pod goes before it is ready', async () => {
    const machine = new Machine({ images: [] });
    const { spans, tracing, options } = tracedOn(machine);
    const node = await startNode({ machine, kubelet: options });
    node.set([apiPod('a')]);
    await node.advance(30 * second);
    node.delete('a', 0);
    await node.advance(minute);
    await tracing.close();
    const [root] = startOf(spans, 'a').filter(({ name }) => name === 'startPod');
    expect(root?.attributes.get('nodelet.outcome')).toBe('ended');
    const failed = startOf(spans, 'a').filter(({ name }) => name === 'syncPod');
    expect(failed.map(({ failure }) => failure)).toContainEqual(expect.stringContaining('ErrImagePull'));
  });
});

it('later steps are traces of their own that name the start', async () => {
  const machine = new Machine({ images: 'any' });
  const { spans, tracing, options } = tracedOn(machine);
  const node = await startNode({ machine, kubelet: options });
  node.set([apiPod('a')]);
  await node.untilReady('a');
  const [root] = treeOf(startOf(spans, 'a'));
  node.delete('a', 1);
  await node.advance(minute);
  await tracing.close();
  expect(root ?? 'startPod').toBe('startPod');
  const start = spans.find(({ name }) => name === 'startPod')!;
  for (const name of ['syncTerminatingPod', 'syncTerminatedPod']) {
    const step = spans.find((span) => span.name === name)!;
    expect(step.parentSpanId).toBeUndefined();
    expect(step.context.traceId).not.toBe(start.context.traceId);
    expect(step.links.map(({ traceId }) => traceId)).toEqual([start.context.traceId]);
  }
  const stop = spans.find(({ name }) => name === 'container.stop')!;
  const terminating = spans.find(({ name }) => name === 'syncTerminatingPod')!;
  expect(stop.parentSpanId).toBe(terminating.context.spanId);
});

it('with a rate of 0 nothing is kept, and the pods run', async () => {
  const machine = new Machine({ images: 'any' });
  const { spans, tracing, options } = tracedOn(machine, 0);
  const node = await startNode({ machine, kubelet: options });
  node.set([apiPod('a')]);
  await node.untilReady('a');
  await tracing.close();
  expect(spans).toEqual([]);
});

it('collections of garbage are spans', async () => {
  const machine = new Machine({ images: 'any' });
  const { spans, tracing, options } = tracedOn(machine);
  const node = await startNode({
    machine,
    kubelet: { ...options, config: { imageGCHighThresholdPercent: 85 } },
  });
  await node.advance(3 * minute);
  await tracing.close();
  const names = new Set(spans.map(({ name }) => name));
  expect(names).toContain('Containers/GarbageCollect');
  expect(names).toContain('Images/GarbageCollect');
});
