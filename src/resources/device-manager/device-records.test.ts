/** Who holds which devices: the counts that admission asks for follow every change. */
import { expect, it } from 'vitest';
import type { DeviceRecord } from './contracts.js';
import { DeviceRecords } from './device-records.js';

const record = (...ids: string[]): DeviceRecord => ({
  idsByNode: new Map([[-1, ids]]),
  response: {} as never,
});

it('counts a device once, however many containers hold it', () => {
  const records = new DeviceRecords();
  records.set('p', 'init', 'x', record('a', 'b'));
  records.set('p', 'app', 'x', record('a'));
  records.set('q', 'app', 'y', record('a'));
  expect([...records.inUse('x')]).toEqual(['a', 'b']);
  expect([...records.heldCounts()]).toEqual([
    ['x', 2],
    ['y', 1],
  ]);
});

it('forgets what a record had when another takes its place', () => {
  const records = new DeviceRecords();
  records.set('p', 'app', 'x', record('a', 'b'));
  records.set('p', 'app', 'x', record('b', 'c'));
  expect([...records.inUse('x')]).toEqual(['b', 'c']);
});

it('frees what no pod that is kept holds, and keeps what another one shares', () => {
  const records = new DeviceRecords();
  records.set('p', 'app', 'x', record('a'));
  records.set('q', 'app', 'x', record('a', 'b'));
  expect(records.keepOnly((uid) => uid === 'p').map(({ podUid }) => podUid)).toEqual(['q']);
  expect([[...records.inUse('x')], records.isHeld('x'), records.has('q')]).toEqual([['a'], true, false]);
  records.keepOnly(() => false);
  expect([records.isHeld('x'), records.isEmpty, records.heldCounts().size]).toEqual([false, true, 0]);
});
