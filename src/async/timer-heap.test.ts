import { describe, expect, it } from 'vitest';
import { type PendingTimer, TimerHeap } from './timer-heap.js';

function timer(dueMs: number, order: number): PendingTimer {
  return { dueMs, order, fire: () => {} };
}

function drain(heap: TimerHeap): PendingTimer[] {
  const drained: PendingTimer[] = [];
  for (let next = heap.earliest(); next !== undefined; next = heap.earliest()) {
    drained.push(next);
    heap.delete(next);
  }
  return drained;
}

describe('timer heap', () => {
  it('returns timers by due time, then in the order they were set', () => {
    const heap = new TimerHeap();
    const timers = Array.from({ length: 2_000 }, (_, order) => timer((order * 7919) % 101, order));
    for (const one of timers) heap.add(one);
    const wanted = [...timers].sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    expect(drain(heap)).toEqual(wanted);
    expect(heap.size).toBe(0);
  });

  it('never returns a cancelled timer, however many there are', () => {
    const heap = new TimerHeap();
    const timers = Array.from({ length: 1_000 }, (_, order) => timer((order * 31) % 997, order));
    for (const one of timers) heap.add(one);
    const kept = timers.filter(({ order }) => order % 10 === 3);
    for (const one of timers) if (one.order % 10 !== 3) heap.delete(one);
    expect(heap.size).toBe(kept.length);
    expect(drain(heap)).toEqual([...kept].sort((a, b) => a.dueMs - b.dueMs || a.order - b.order));
  });

  it('accepts a second cancel, and one after firing', () => {
    const heap = new TimerHeap();
    const one = timer(1, 0);
    heap.add(one);
    heap.delete(one);
    heap.delete(one);
    expect(heap.earliest()).toBeUndefined();
  });
});
