import { describe, expect, it } from 'vitest';
import type { RecordedState, StartClaim } from './container-state.js';
import { judge, type SightingVerdict, supervisorOf } from './sighting.js';

const supervisor = { pid: 100, startTime: '5' };
const starting: RecordedState = { kind: 'starting', token: 't', bootId: 'now' };
const running: RecordedState = {
  kind: 'running',
  bootId: 'now',
  supervisor,
  process: { pid: 101, startTime: '6' },
  startedAt: 1n,
};
const exited: RecordedState = {
  kind: 'exited',
  startedAt: 1n,
  finishedAt: 2n,
  exitCode: 0,
  reason: 'Completed',
  message: '',
};
const bySupervisor: StartClaim = { by: 'supervisor', supervisor };
const byAgent: StartClaim = { by: 'agent' };

const rows: [string, RecordedState, StartClaim | undefined, boolean, SightingVerdict][] = [
  ['created stays created', { kind: 'created' }, undefined, false, 'as-recorded'],
  ['exited stays exited', exited, undefined, false, 'as-recorded'],
  ['exited of another boot stays exited', exited, undefined, false, 'as-recorded'],
  ['running with its supervisor runs', running, undefined, true, 'as-recorded'],
  ['running without its supervisor is lost', running, undefined, false, 'lost'],
  [
    'running of another boot is lost, whoever has the number',
    { ...running, bootId: 'then' },
    undefined,
    true,
    'lost',
  ],
  ['a start that nobody claimed waits', starting, undefined, false, 'unclaimed'],
  ['a start claimed by a supervisor goes on', starting, bySupervisor, true, 'starting'],
  ['a start whose supervisor is gone is lost', starting, bySupervisor, false, 'lost'],
  ['a start that the agent claimed never happens', starting, byAgent, false, 'taken-back'],
  [
    'an unclaimed start of another boot never happens',
    { ...starting, bootId: 'then' },
    undefined,
    false,
    'taken-back',
  ],
  ['a claimed start of another boot is lost', { ...starting, bootId: 'then' }, bySupervisor, true, 'lost'],
];

describe('judge', () => {
  it.each(rows)('%s', (_, state, claim, supervisorLives, verdict) => {
    expect(judge({ state, claim, bootId: 'now', supervisorLives })).toBe(verdict);
  });
});

describe('supervisorOf', () => {
  it.each([
    ['the recorded one while it runs', running, undefined, supervisor],
    ['the claimant while it starts', starting, bySupervisor, supervisor],
    ['none when the agent has the claim', starting, byAgent, undefined],
    ['none after the end', exited, bySupervisor, undefined],
  ] as const)('%s', (_, state, claim, expected) => {
    expect(supervisorOf(state, claim)).toEqual(expected);
  });
});
