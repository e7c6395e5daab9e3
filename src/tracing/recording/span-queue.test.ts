import { describe, expect, it } from 'vitest';
import { Cancelled, settle, VirtualClock } from '../../async/index.js';
import { Registry } from '../../metrics/index.js';
import { traceLimits } from '../limits.js';
import { createTracingMetrics } from './metrics.js';
import { type FinishedSpan, spanBytes } from './recorded-span.js';
import { type ExportOutcome, SpanQueue } from './span-queue.js';

const span = (name: string, text = ''): FinishedSpan => ({
  context: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), sampled: true },
  parentSpanId: undefined,
  name,
  kind: 'internal',
  startMs: 0,
  endMs: 1,
  attributes: new Map([['text', text]]),
  droppedAttributes: 0,
  events: [],
  droppedEvents: 0,
  links: [],
  failure: undefined,
});

function queueWith(answer: () => ExportOutcome) {
  const clock = new VirtualClock();
  const registry = new Registry();
  const batches: string[][] = [];
  const states: object[] = [];
  const queue = new SpanQueue({
    clock,
    metrics: createTracingMetrics(registry),
    onState: (state) => states.push(state),
    exporter: {
      export: async (batch, signal) => {
        if (signal.aborted) throw new Cancelled();
        batches.push(batch.map(({ name }) => name));
        return answer();
      },
      close() {},
    },
  });
  const stop = new AbortController();
  const ended = queue.run(stop.signal).catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await ended;
  };
  return { clock, registry, batches, states, queue, end };
}

const done: ExportOutcome = { kind: 'done', rejected: 0 };
const away: ExportOutcome = { kind: 'failed', message: 'away', canRetry: true };
const never: ExportOutcome = { kind: 'failed', message: 'no', canRetry: false };

describe('SpanQueue', () => {
  it('sends what waits together, after a delay', async () => {
    const { clock, batches, queue, end } = queueWith(() => done);
    queue.add(span('a'));
    queue.add(span('b'));
    await settle();
    expect(batches).toEqual([]);
    await clock.advance(traceLimits.batchDelayMs);
    expect(batches).toEqual([['a', 'b']]);
    await end();
  });

  it('sends a full batch at once', async () => {
    const { batches, queue, end } = queueWith(() => done);
    for (let index = 0; index <= traceLimits.batchSpans; index++) queue.add(span('a'));
    await settle();
    expect(batches.map(({ length }) => length)).toEqual([traceLimits.batchSpans]);
    await end();
  });

  it('sends large spans at once that are a batch by their size', async () => {
    const { clock, registry, batches, queue, end } = queueWith(() => done);
    const large = (name: string): FinishedSpan => {
      const attributes = Array.from({ length: 60 }, (_, key) => [`${key}`, 'x'.repeat(1024)] as const);
      return { ...span(name), attributes: new Map(attributes) };
    };
    const each = spanBytes(large('a'));
    for (let sent = 0; sent < 3 * traceLimits.waitingBytes; sent += each) {
      queue.add(large('a'));
      await settle();
    }
    await clock.advance(traceLimits.batchDelayMs);
    expect(registry.text()).not.toContain('cause="queue full"');
    expect(batches.length).toBeGreaterThan(3);
    await end();
  });

  it('drops and counts what has no place, by number and by size', async () => {
    const { registry, queue, end } = queueWith(() => never);
    for (let index = 0; index < traceLimits.waitingSpans + 3; index++) queue.add(span('a'));
    expect(queue.size).toBe(traceLimits.waitingSpans);
    expect(registry.text()).toContain('nodelet_trace_spans_dropped_total{cause="queue full"} 3');
    await end();
    const other = queueWith(() => never);
    for (let index = 0; index < 20; index++) other.queue.add(span('a', 'x'.repeat(200_000)));
    expect(other.queue.size).toBeLessThan(20);
    await other.end();
  });

  it('tries again what may be accepted later, and says once that it fails and once that it works', async () => {
    let answer: ExportOutcome = away;
    const { clock, batches, states, queue, registry, end } = queueWith(() => answer);
    queue.add(span('a'));
    await clock.advance(traceLimits.batchDelayMs + 2_000);
    expect(batches.length).toBeGreaterThan(1);
    answer = done;
    await clock.advance(10_000);
    expect(states).toEqual([{ failed: 'away' }, { lostSpans: 0 }]);
    expect(registry.text()).toContain('nodelet_trace_spans_exported_total 1');
    await end();
  });

  it('gives up after a number of tries', async () => {
    const { clock, batches, registry, queue, end } = queueWith(() => away);
    queue.add(span('a'));
    await clock.advance(300_000);
    expect(batches).toHaveLength(traceLimits.exportTries);
    expect(registry.text()).toContain('nodelet_trace_spans_dropped_total{cause="export failed"} 1');
    await end();
  });

  it('at the end sends what waits, also what it was trying again', async () => {
    let answer: ExportOutcome = away;
    const { clock, batches, queue, end } = queueWith(() => answer);
    queue.add(span('a'));
    await clock.advance(traceLimits.batchDelayMs);
    queue.add(span('b'));
    await end();
    answer = done;
    await queue.flush(new AbortController().signal);
    expect(batches.at(-1)).toEqual(['a', 'b']);
    expect(queue.size).toBe(0);
  });
});
