import { describe, expect, it } from 'vitest';
import { readTrace, traceHeaders } from './trace-context.js';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

describe('readTrace', () => {
  it.each<[rule: string, headers: Record<string, string | string[]>, expected: object | undefined]>([
    [
      'a sampled parent',
      { traceparent: `00-${trace}-${span}-01` },
      { context: { traceId: trace, spanId: span, sampled: true } },
    ],
    [
      'a parent that is not sampled; other flags do not count',
      { traceparent: `00-${trace}-${span}-fe` },
      { context: { traceId: trace, spanId: span, sampled: false } },
    ],
    [
      'a later version may have more',
      { traceparent: `01-${trace}-${span}-01-more` },
      { context: { traceId: trace, spanId: span, sampled: true } },
    ],
    ['this version has no more', { traceparent: `00-${trace}-${span}-01-more` }, undefined],
    ['no version 255', { traceparent: `ff-${trace}-${span}-01` }, undefined],
    ['capitals are no digits', { traceparent: `00-${trace.toUpperCase()}-${span}-01` }, undefined],
    ['a trace of zeros is none', { traceparent: `00-${'0'.repeat(32)}-${span}-01` }, undefined],
    ['a span of zeros is none', { traceparent: `00-${trace}-${'0'.repeat(16)}-01` }, undefined],
    ['two parents are none', { traceparent: `00-${trace}-${span}-01, 00-${trace}-${span}-01` }, undefined],
    ['no parent', { tracestate: 'a=b' }, undefined],
    ['what has no end', { traceparent: `01-${trace}-${span}-01-${'x'.repeat(10_000)}` }, undefined],
    [
      'what vendors add, and baggage',
      { traceparent: `00-${trace}-${span}-01`, tracestate: 'v=1', baggage: 'user=1' },
      { context: { traceId: trace, spanId: span, sampled: true, state: 'v=1' }, baggage: 'user=1' },
    ],
    [
      'what would break a header is dropped',
      { traceparent: `00-${trace}-${span}-01`, tracestate: 'v=\n1', baggage: 'x'.repeat(8193) },
      { context: { traceId: trace, spanId: span, sampled: true } },
    ],
  ])('%s', (_, headers, expected) => expect(readTrace(headers)).toEqual(expected));
});

it('what was read is written again', () => {
  const headers = { traceparent: `00-${trace}-${span}-01`, tracestate: 'v=1', baggage: 'a=b' };
  expect(traceHeaders(readTrace(headers)!)).toEqual(headers);
});
