import { describe, expect, it } from 'vitest';
import type { Event } from '../../kube/index.js';
import { type Correlated, EventCorrelator } from './correlator.js';

let serial = 0;
const event = (message: string, more: Partial<Event> = {}): Event => ({
  metadata: { name: `web.${++serial}`, namespace: 'default' },
  involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web', uid: 'u' },
  reason: 'BackOff',
  message,
  source: { component: 'kubelet', host: 'node' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:00:00Z',
  count: 1,
  type: 'Warning',
  ...more,
});
const told = (correlated: Correlated): string => {
  switch (correlated.kind) {
    case 'create':
      return `create ${correlated.event.message}`;
    case 'update':
      return `${correlated.patch.count}× ${correlated.patch.message}`;
    case 'drop':
      return 'drop';
  }
};
const run = (events: readonly [event: Event, atMs: number][]): string[] => {
  const correlator = new EventCorrelator();
  return events.map(([one, atMs]) => told(correlator.correlate(one, atMs)));
};

describe('EventCorrelator', () => {
  it('forgets deleted objects, but not others and those without a UID', () => {
    const correlator = new EventCorrelator();
    const about = (uid: string | undefined) => ({
      involvedObject: { kind: 'Pod', name: 'web', ...(uid === undefined ? {} : { uid }) },
    });
    for (const uid of ['gone', 'here', undefined]) correlator.correlate(event('a', about(uid)), 0);
    expect(correlator.size).toBe(9);
    correlator.forgetGone((uid) => uid === 'here');
    expect(correlator.size).toBe(6);
    expect(['here', undefined].map((uid) => told(correlator.correlate(event('a', about(uid)), 1)))).toEqual([
      '2× a',
      '2× a',
    ]);
  });
  it('long messages push old ones out before there are many of them', () => {
    const correlator = new EventCorrelator();
    const long = (n: number) => event('m'.repeat(100_000), { reason: `Reason${n}` });
    for (let n = 0; n < 20; n++) correlator.correlate(long(n), 0);
    // Two more maps have small values, whatever the messages are.
    expect(correlator.size).toBeLessThanOrEqual(5 + 20 + 1);
  });
  it('equal events are counted', () => {
    expect(
      run([
        [event('a'), 0],
        [event('a'), 1000],
        [event('a'), 2000],
      ]),
    ).toEqual(['create a', '2× a', '3× a']);
  });
  it('an update keeps the name and first time of the existing event', () => {
    const correlator = new EventCorrelator();
    const first = event('a');
    correlator.correlate(first, 0);
    const second = correlator.correlate(event('a', { firstTimestamp: '2026-01-01T00:05:00Z' }), 1);
    expect(second).toMatchObject({
      kind: 'update',
      event: { metadata: { name: first.metadata.name }, firstTimestamp: '2026-01-01T00:00:00Z', count: 2 },
    });
  });
  it.each<[rule: string, other: Partial<Event>]>([
    [
      'another part of the object',
      { involvedObject: { ...event('').involvedObject, fieldPath: 'spec.containers{b}' } },
    ],
    ['another object', { involvedObject: { ...event('').involvedObject, uid: 'other' } }],
    ['another type', { type: 'Normal' }],
    ['another reason', { reason: 'Failed' }],
    ['another message', { message: 'b' }],
  ])('%s is another event', (_, other) => {
    expect(
      run([
        [event('a'), 0],
        [event('a', other), 0],
      ])[1],
    ).toMatch(/^create/);
  });
  it('similar messages are merged from the tenth on', () => {
    const outcome = run(Array.from({ length: 12 }, (_, n) => [event(`m${n + 1}`), n * 5000]));
    expect(outcome.slice(8)).toEqual([
      'create m9',
      'create (combined from similar events): m10',
      '2× (combined from similar events): m11',
      '3× (combined from similar events): m12',
    ]);
  });
  it('more than ten minutes of silence start a new event', () => {
    const many = Array.from({ length: 9 }, (_, n): [Event, number] => [event(`m${n + 1}`), 0]);
    expect(run([...many, [event('m10'), 600_001]]).at(-1)).toBe('create m10');
    expect(run([...many, [event('m10'), 600_000]]).at(-1)).toBe('create (combined from similar events): m10');
  });
  it('drops everything after the 25th at once but one per five minutes; dropped ones still count', () => {
    const outcome = run([
      ...Array.from({ length: 30 }, (): [Event, number] => [event('a'), 0]),
      [event('a'), 300_000],
      [event('a'), 300_001],
    ]);
    expect(outcome.slice(23)).toEqual(['24× a', '25× a', ...Array(5).fill('drop'), '31× a', 'drop']);
  });
  it('warnings do not use up the budget of normal events', () => {
    const outcome = run([
      ...Array.from({ length: 30 }, (): [Event, number] => [event('a'), 0]),
      [event('n', { type: 'Normal' }), 0],
    ]);
    expect(outcome.at(-1)).toBe('create n');
  });
});
