import { describe, expect, it } from 'vitest';
import { Paces, paceOf } from './pace.js';

describe('paceOf', () => {
  const still = { waitsFor: '', age: '3d', restarts: '0', status: 'Running' };
  it.each([
    ['a young pod', { age: '12s' }, 'seconds'],
    ['a pod of some minutes', { age: '3m20s' }, 'seconds'],
    ['a pod of three whole minutes', { age: '3m' }, 'seconds'],
    ['a pod of an hour', { age: '75m' }, 'minutes'],
    ['a pod of hours and minutes', { age: '3h5m' }, 'minutes'],
    ['an old pod', {}, 'hours'],
    ['a countdown', { waitsFor: 'app: next try at 06:16:29 (in 6s)' }, 'seconds'],
    ['a pod that is not there yet', { age: '', status: 'Pending' }, 'minutes'],
    ['a container that ended seconds ago', { restarts: '2 (14s ago)' }, 'seconds'],
    ['one that ended long ago', { restarts: '2 (5d ago)' }, 'hours'],
  ] as const)('%s', (_, given, pace) => {
    expect(paceOf({ ...still, ...given })).toBe(pace);
  });
});

describe('Paces', () => {
  it('knows each line at its newest pace alone', () => {
    const paces = new Paces();
    paces.set('young', 'seconds');
    paces.set('old', 'hours');
    paces.set('aged', 'seconds');
    paces.set('aged', 'minutes');
    paces.set('gone', 'seconds');
    paces.delete('gone');
    expect(paces.due(1)).toEqual(['young']);
    expect(paces.due(15)).toEqual(['young', 'aged']);
    expect(paces.due(300)).toEqual(['young', 'aged', 'old']);
  });
});
