import { describe, expect, it } from 'vitest';
import { formatNumber, Registry } from './registry.js';

describe('Registry', () => {
  it('writes counters, gauges and histograms in text form', () => {
    const registry = new Registry();
    registry.counter('b_total', 'Counts b.', ['op']).inc({ op: 'a"b' }, 2);
    registry.gauge('a', 'A value.').set(1.5);
    registry.histogram('c_seconds', 'Takes c.', [], [1, 2]).observe(1.5);
    expect(registry.text()).toBe(
      [
        '# HELP a [ALPHA] A value.',
        '# TYPE a gauge',
        'a 1.5',
        '# HELP b_total [ALPHA] Counts b.',
        '# TYPE b_total counter',
        'b_total{op="a\\"b"} 2',
        '# HELP c_seconds [ALPHA] Takes c.',
        '# TYPE c_seconds histogram',
        'c_seconds_bucket{le="1"} 0',
        'c_seconds_bucket{le="2"} 1',
        'c_seconds_bucket{le="+Inf"} 1',
        'c_seconds_sum 1.5',
        'c_seconds_count 1',
        '',
      ].join('\n'),
    );
  });
  it.each([
    ['Counts.', 'ALPHA', '[ALPHA] Counts.'],
    ['[STABLE] Counts.', 'STABLE', '[STABLE] Counts.'],
    ['[NONE] Counts.', 'NONE', 'Counts.'],
  ])('shows how stable a metric is: %s', (help, stability, shown) => {
    const counter = new Registry().counter('n_total', help);
    expect([counter.stability, counter.help]).toEqual([stability, shown]);
  });
  it.each([
    [0, '0'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [-1.5, '-1.5'],
    [600000, '600000'],
    [2592000, '2.592e+06'],
    [21704316002, '2.1704316002e+10'],
    [1e100, '1e+100'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NaN, 'NaN'],
  ])('writes %d as Go does', (value, text) => {
    expect(formatNumber(value)).toBe(text);
  });
  it('waits for slow values at a scrape only', async () => {
    const registry = new Registry();
    const gauge = registry.gauge('a', 'A value.');
    registry.onScrape(async () => gauge.set(2));
    expect(registry.text()).toContain('a 0\n');
    expect(await registry.scrape()).toContain('a 2\n');
  });
  it('refuses a second metric of the same name', () => {
    const registry = new Registry();
    registry.gauge('a', '');
    expect(() => registry.counter('a', '')).toThrow(/registered twice/);
  });
  it('bounds the series of a metric', () => {
    const registry = new Registry();
    const counter = registry.counter('n_total', '', ['id']);
    for (let n = 0; n < 6000; n++) counter.inc({ id: `${n}` });
    expect(counter.value({ id: 'overflow' })).toBe(1000);
  });
  it('declares shared metrics once, whoever asks first', () => {
    const registry = new Registry();
    const create = (given: Registry) => ({ calls: given.counter('calls_total', '') });
    registry.once(create).calls.inc();
    registry.once(create).calls.inc();
    expect(registry.text()).toContain('calls_total 2\n');
  });
  it('lists metrics that have no series yet', () => {
    const registry = new Registry();
    registry.counter('n_total', 'Counts n.', ['id']);
    expect(registry.text()).toBe('');
    expect(registry.metrics()).toMatchObject([{ name: 'n_total', type: 'counter', labelNames: ['id'] }]);
  });
  it('takes no label that a metric does not have', () => {
    const counter = new Registry().counter('n_total', '', ['id']);
    // @ts-expect-error: the label is misspelt.
    counter.inc({ ID: 'a' });
    expect(counter.value({ id: 'a' })).toBe(0);
  });
});
