import { describe, expect, it } from 'vitest';
import {
  formatState,
  parseAgentIdentity,
  parseClaim,
  parseState,
  type RecordedState,
} from './container-state.js';

const states: RecordedState[] = [
  { kind: 'created' },
  { kind: 'starting', token: 'abc', bootId: 'b' },
  {
    kind: 'running',
    bootId: 'b',
    supervisor: { pid: 10, startTime: '1' },
    process: { pid: 11, startTime: '' },
    startedAt: 1_700_000_000_000_000_001n,
  },
  { kind: 'exited', startedAt: 1n, finishedAt: 2n, exitCode: 137, reason: 'Error', message: 'm' },
  {
    kind: 'exited',
    startedAt: 0n,
    finishedAt: 2n,
    exitCode: 128,
    reason: 'StartError',
    message: 'm',
    lostLogRecords: 3,
  },
];

describe('the state file', () => {
  it.each(states)('is read as written: $kind', (state) => {
    expect(parseState(formatState(state))).toEqual(state);
  });

  it.each([
    ['is empty', ''],
    ['is truncated', '{"kind":"run'],
    ['has no known kind', '{"kind":"paused"}'],
    ['lacks a field', '{"kind":"running","bootId":"b"}'],
    ['names all processes', formatState(states[2]!).replace('"pid":11', '"pid":1')],
    ['names its own group', formatState(states[2]!).replace('"pid":11', '"pid":0')],
    ['names a group', formatState(states[2]!).replace('"pid":11', '"pid":-5')],
    ['names something other than a number', formatState(states[2]!).replace('"pid":11', '"pid":"11"')],
  ])('is rejected when it %s', (_, text) => {
    expect(() => parseState(text)).toThrow();
  });
});

describe('identities', () => {
  it('of agents may be pid 1, of supervisors not', () => {
    expect(parseAgentIdentity('{"pid":1,"startTime":"0"}')).toEqual({ pid: 1, startTime: '0' });
    expect(() => parseClaim('{"by":"supervisor","supervisor":{"pid":1,"startTime":"0"}}')).toThrow();
    expect(parseClaim('{"by":"agent"}')).toEqual({ by: 'agent' });
  });
});
