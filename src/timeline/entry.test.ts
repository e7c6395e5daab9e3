/** What the compiler guarantees of entries: `tsc` fails here once it takes one that it should refuse. */
import { expect, it } from 'vitest';
import type { TimelineEntry } from './entry.js';
import { isEntry } from './entry.js';
import type { PlanStep } from './plan-actions.js';
import { Timeline } from './timeline.js';

const message = 'm';

it('leaves names and data to the compiler: recording checks nothing at run time', () => {
  const timeline = new Timeline();
  // @ts-expect-error a name that is not in the table
  timeline.record({ kind: 'effect', what: 'container.begin', message });
  // @ts-expect-error data that belongs to another name
  timeline.record({ kind: 'decision', what: 'container.wait', message, data: { sandboxId: 's' } });
  // @ts-expect-error a value of another type
  timeline.record({ kind: 'decision', what: 'container.wait', message, data: { waitMs: '10s' } });
  // @ts-expect-error a field that the name does not have
  timeline.record({ kind: 'decision', what: 'container.wait', message, data: { waitMs: 1, more: 2 } });
  // @ts-expect-error a name that needs data without it
  timeline.record({ kind: 'transition', what: 'pod.phase', message });
  // @ts-expect-error a name that has no data with some
  timeline.record({ kind: 'decision', what: 'pod.admit', message, data: { steps: 1 } });
  // @ts-expect-error a step of a plan without a field of its action
  const steps: PlanStep[] = [{ action: 'startContainer', container: 'a', reason: 'NotRunYet' }];
  timeline.record({
    kind: 'decision',
    what: 'pod.plan',
    message,
    data: { sandbox: 'keep', attempt: 0, steps, more: 0 },
  });
  expect(timeline.ofNode()).toHaveLength(7);
});

function waited(entry: TimelineEntry): string {
  switch (entry.what) {
    case 'container.wait':
      return `${entry.data.waitMs} ms`;
    case 'pod.phase':
      return `${entry.data.from} to ${entry.data.to}`;
    default:
      return entry.event?.reason ?? '';
  }
}

it('gives a reader that switches on the name the data of that name', () => {
  const timeline = new Timeline();
  const entries = [
    timeline.record({ kind: 'decision', what: 'container.wait', message, data: { waitMs: 10 } }),
    timeline.record({
      kind: 'transition',
      what: 'pod.phase',
      message,
      data: { from: 'none', to: 'Pending' },
    }),
    timeline.nodeEvent('n', 'Normal', 'Starting', message),
  ];
  expect(entries.map(waited)).toEqual(['10 ms', 'none to Pending', 'Starting']);
  expect(entries.map((entry) => isEntry(entry, 'pod.phase', 'pod.ready'))).toEqual([false, true, false]);
});
