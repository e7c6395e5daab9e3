/** The export of traces against a collector that listens on a port: what arrives, and what a bad collector cannot do. */
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { Registry } from '../../src/metrics/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { traced, traceLimits } from '../../src/tracing/index.js';
import { type OpenTracing, openTracing } from '../../src/tracing/recording/open-tracing.js';
import { TraceCollector, traceTree } from '../env/trace-collector.js';

let collector: TraceCollector;
let timeline: Timeline;
let registry: Registry;

beforeEach(async () => {
  collector = await new TraceCollector().listen();
  timeline = new Timeline();
  registry = new Registry();
});
afterEach(() => collector.close());

function open(endpoint = collector.endpoint): OpenTracing {
  return openTracing({
    clock: systemClock,
    timeline,
    registry,
    nodeName: 'n1',
    version: '1.2',
    settings: { endpoint, samplingRatePerMillion: 1_000_000 },
  });
}

const dropped = (): string[] =>
  registry
    .text()
    .split('\n')
    .filter((line) => line.startsWith('nodelet_trace_spans_dropped_total'));

describe('a collector', () => {
  it('gets spans with their attributes, times, events and errors, each below its parent', async () => {
    const { tracer, close } = open();
    await traced(
      tracer,
      { name: 'outer', attributes: { text: 'a', whole: 7, share: 0.5, flag: true } },
      async (outer) => {
        outer.event('half way', { at: 1 });
        const failing = traced(tracer, { name: 'inner', kind: 'client' }, async () => {
          throw new Error('it broke');
        });
        await expect(failing).rejects.toThrow('it broke');
      },
    );
    await close();
    expect(traceTree(collector.spans)).toEqual(['outer', '  inner']);
    const [outer] = collector.named('outer');
    expect(outer).toMatchObject({
      service: 'kubelet',
      kind: 1,
      attributes: { text: 'a', whole: 7, share: 0.5, flag: true },
      events: ['half way'],
      error: undefined,
    });
    expect(collector.named('inner')[0]).toMatchObject({ kind: 3, error: 'it broke' });
    expect(outer!.endNs).toBeGreaterThanOrEqual(outer!.startNs);
    expect(Math.abs(Number(outer!.startNs / 1_000_000n) - Date.now())).toBeLessThan(60_000);
  });

  it('gets no request that is larger than collectors take', async () => {
    const { tracer, close } = open();
    const long = 'ä'.repeat(traceLimits.textChars);
    const attributes = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`key${index}`, long]));
    for (let index = 0; index < 30; index++) tracer.begin({ name: `huge${index}`, attributes }).end();
    await close();
    expect(collector.spans).toHaveLength(30);
    expect(collector.requests).toBeGreaterThan(1);
    expect(collector.largestBytes).toBeLessThan(4 << 20);
  });

  it('that rejects some spans has them counted', async () => {
    collector.answer = { do: 'accept', rejected: 2 };
    const { tracer, close } = open();
    for (const name of ['a', 'b', 'c']) tracer.begin({ name }).end();
    await close();
    expect(dropped()).toEqual(['nodelet_trace_spans_dropped_total{cause="rejected"} 2']);
    expect(registry.text()).toContain('nodelet_trace_spans_exported_total 1');
  });
});

describe('a collector that does not work', () => {
  it.each([
    ['refuses', 7],
    ['is overloaded', 14],
  ])('and %s costs its spans alone', async (_, code) => {
    collector.answer = { do: 'refuse', code };
    const { tracer, close } = open();
    tracer.begin({ name: 'a' }).end();
    await close();
    expect(dropped()).toEqual(['nodelet_trace_spans_dropped_total{cause="export failed"} 1']);
    expect(timeline.ofNode().map(({ what, level }) => [what, level])).toEqual([['tracing.export', 'warn']]);
  });

  it('and is absent costs its spans alone', async () => {
    const { endpoint } = collector;
    await collector.close();
    const { tracer, close } = open(endpoint);
    tracer.begin({ name: 'a' }).end();
    await close();
    expect(dropped()).toHaveLength(1);
    expect(timeline.ofNode()[0]?.message).toContain('connection refused');
    collector = await new TraceCollector().listen();
  });

  it('and accepts connections without ever answering does not hold up the end of the agent', async () => {
    collector.answer = { do: 'hang' };
    const { tracer, close } = open();
    for (let index = 0; index < 600; index++) tracer.begin({ name: 'a' }).end();
    await expect.poll(() => collector.requests).toBeGreaterThan(0);
    await close();
    expect(dropped()).toEqual(['nodelet_trace_spans_dropped_total{cause="agent stopped"} 600']);
  });

  it('and speaks something else costs its spans alone', async () => {
    const odd = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('SSH-2.0-odd\r\n'),
    );
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
    const address = odd.address();
    const { tracer, close } = open(`127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
    tracer.begin({ name: 'a' }).end();
    await close();
    expect(dropped()).toHaveLength(1);
    await new Promise<void>((resolve) => void odd.close(() => resolve()));
  });
});
