import { describe, expect, it } from 'vitest';
import { CriError } from '../../cri/index.js';
import { type CriFault, FaultPlan } from './faults.js';

const error = new CriError('Internal', 'planned');
/** The outcome of each of the first calls: an error, a delay, a lost response, or nothing. */
function play(faults: readonly CriFault[], calls = 5): string {
  const plan = new FaultPlan();
  for (const fault of faults) plan.add(fault);
  return Array.from({ length: calls }, () => {
    const verdict = plan.take('runPodSandbox');
    if (verdict === undefined) return '-';
    return `${verdict.error ? 'e' : ''}${verdict.delayMs || ''}${verdict.lostAnswer?.codeName[0] ?? ''}`;
  }).join(' ');
}

describe('FaultPlan', () => {
  const rpc = 'runPodSandbox';
  const cases: [rule: string, faults: CriFault[], seen: string][] = [
    ['hits the next call once', [{ rpc, error }], 'e - - - -'],
    ['hits the n-th call', [{ rpc, nth: 3, error }], '- - e - -'],
    ['hits consecutive calls', [{ rpc, nth: 2, times: 2, error }], '- e e - -'],
    ['hits all calls', [{ rpc, times: Number.POSITIVE_INFINITY, error }], 'e e e e e'],
    [
      'adds delays up',
      [
        { rpc, delayMs: 5, times: 2 },
        { rpc, delayMs: 7 },
      ],
      '12 5 - - -',
    ],
    [
      'delays and fails one call',
      [
        { rpc, delayMs: 5 },
        { rpc, error },
      ],
      'e5 - - - -',
    ],
    ['loses a response', [{ rpc, loseResponse: true }], 'U - - - -'],
    ['loses a response late', [{ rpc, loseResponse: true, code: 'DeadlineExceeded' }], 'D - - - -'],
    ['leaves other calls alone', [{ rpc: 'status', error }], '- - - - -'],
  ];
  it.each(cases)('%s', (_, faults, seen) => expect(play(faults)).toBe(seen));

  it('forgets used and removed faults', () => {
    const plan = new FaultPlan();
    plan.add({ rpc: 'status', error });
    const takeBack = plan.add({ rpc: 'version', error });
    expect(plan.size).toBe(2);
    plan.take('status');
    takeBack();
    expect(plan.size).toBe(0);
  });
  it('rejects invalid counts', () => {
    const plan = new FaultPlan();
    expect(() => plan.add({ rpc: 'status', nth: 0, error })).toThrow(RangeError);
    expect(() => plan.add({ rpc: 'status', times: 0, error })).toThrow(RangeError);
  });
});
