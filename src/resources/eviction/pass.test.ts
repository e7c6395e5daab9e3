import { describe, expect, it } from 'vitest';
import { type EvictionSignal, type EvictionThreshold, readEvictionThresholds } from '../../kube/index.js';
import { decidePass, firstPass, type PassDecision, type PassState } from './pass.js';
import { isRelieved, type NodeReclaim, reclaimFor } from './reclaim.js';
import type { SignalReading } from './signals.js';
import { gi, mi } from './test-pods.js';

const thresholdsOf = (
  settings: Partial<Parameters<typeof readEvictionThresholds>[0]>,
): readonly EvictionThreshold[] =>
  readEvictionThresholds({
    evictionHard: {},
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    ...settings,
  }).thresholds;

/** Passes at given seconds, each with what is available then. */
class Passes {
  state: PassState = firstPass;
  readonly #thresholds: readonly EvictionThreshold[];

  constructor(settings: Parameters<typeof thresholdsOf>[0]) {
    this.#thresholds = thresholdsOf(settings);
  }

  at(
    seconds: number,
    available: Partial<Record<EvictionSignal, number>>,
    measuredAtMs: number | undefined = seconds * 1000,
  ): PassDecision {
    const readings = new Map(
      Object.entries(available).map(([signal, amount]): [EvictionSignal, SignalReading] => [
        // The keys of the record are signals.
        signal as EvictionSignal,
        { available: amount, capacity: 100 * gi, atMs: measuredAtMs },
      ]),
    );
    const decision = decidePass(this.state, {
      thresholds: this.#thresholds,
      readings,
      nowMs: seconds * 1000,
      transitionPeriodMs: 300_000,
    });
    this.state = decision.next;
    return decision;
  }
}
const acting = ({ act }: PassDecision): EvictionSignal[] => act.map(({ signal }) => signal);
const memory = (available: number) => ({ 'memory.available': available });

describe('a hard threshold', () => {
  it('has its condition and is acted on at once', () => {
    const passes = new Passes({ evictionHard: { 'memory.available': '100Mi' } });
    const { conditions, act } = passes.at(0, memory(90 * mi));
    expect(conditions).toEqual(['MemoryPressure']);
    expect(act).toHaveLength(1);
  });

  it('stays met until its minimum is reclaimed', () => {
    const passes = new Passes({
      evictionHard: { 'memory.available': '100Mi' },
      evictionMinimumReclaim: { 'memory.available': '500Mi' },
    });
    expect(acting(passes.at(0, memory(300 * mi)))).toEqual([]);
    expect(acting(passes.at(10, memory(90 * mi)))).toEqual(['memory.available']);
    expect(acting(passes.at(20, memory(300 * mi)))).toEqual(['memory.available']);
    expect(acting(passes.at(30, memory(700 * mi)))).toEqual([]);
    expect(acting(passes.at(40, memory(300 * mi)))).toEqual([]);
  });

  it('is acted on once for each measurement: the condition stays', () => {
    const passes = new Passes({ evictionHard: { 'imagefs.available': '1Gi' } });
    expect(acting(passes.at(0, { 'imagefs.available': 1 }, 0))).toEqual(['imagefs.available']);
    const same = passes.at(10, { 'imagefs.available': 1 }, 0);
    expect(same.conditions).toEqual(['DiskPressure']);
    expect(acting(same)).toEqual([]);
    expect(acting(passes.at(20, { 'imagefs.available': 1 }, 20_000))).toEqual(['imagefs.available']);
  });

  it("is acted on when the machine's clock was set back meanwhile", () => {
    const passes = new Passes({ evictionHard: { 'memory.available': '100Mi' } });
    passes.at(0, memory(90 * mi), 3_600_000);
    expect(acting(passes.at(10, memory(90 * mi), 10_000))).toEqual(['memory.available']);
  });

  it('is acted on each time where nobody knows when it was measured', () => {
    const passes = new Passes({ evictionHard: { 'imagefs.available': '1Gi' } });
    for (const seconds of [0, 10]) {
      const decision = decidePass(passes.state, {
        thresholds: thresholdsOf({ evictionHard: { 'imagefs.available': '1Gi' } }),
        readings: new Map([['imagefs.available', { available: 1, capacity: gi, atMs: undefined }]]),
        nowMs: seconds * 1000,
        transitionPeriodMs: 300_000,
      });
      passes.state = decision.next;
      expect(acting(decision)).toEqual(['imagefs.available']);
    }
  });
});

describe('a soft threshold', () => {
  const soft = {
    evictionSoft: { 'memory.available': '1Gi' },
    evictionSoftGracePeriod: { 'memory.available': '1m' },
  };
  it('has its condition at once and is acted on after its grace period', () => {
    const passes = new Passes(soft);
    expect(passes.at(0, memory(900 * mi)).conditions).toEqual(['MemoryPressure']);
    expect(acting(passes.at(59, memory(900 * mi)))).toEqual([]);
    expect(acting(passes.at(61, memory(900 * mi)))).toEqual(['memory.available']);
  });

  it('counts its grace period anew after it was not met', () => {
    const passes = new Passes(soft);
    passes.at(0, memory(900 * mi));
    passes.at(30, memory(2 * gi));
    passes.at(40, memory(900 * mi));
    expect(acting(passes.at(99, memory(900 * mi)))).toEqual([]);
    expect(acting(passes.at(100, memory(900 * mi)))).toEqual(['memory.available']);
  });

  it('asks for its minimum only after its grace period', () => {
    const passes = new Passes({ ...soft, evictionMinimumReclaim: { 'memory.available': '500Mi' } });
    passes.at(0, memory(900 * mi));
    expect(passes.at(10, memory(1.2 * gi)).met).toEqual([]);
    passes.at(20, memory(900 * mi));
    passes.at(80, memory(900 * mi));
    expect(acting(passes.at(90, memory(1.2 * gi)))).toEqual(['memory.available']);
    expect(acting(passes.at(100, memory(1.5 * gi)))).toEqual([]);
  });
});

it('a condition stays for the transition period after its threshold was last met', () => {
  const passes = new Passes({ evictionHard: { 'memory.available': '100Mi' } });
  passes.at(0, memory(90 * mi));
  expect(passes.at(299, memory(gi)).conditions).toEqual(['MemoryPressure']);
  expect(passes.at(300, memory(gi)).conditions).toEqual([]);
});

it('memory comes first', () => {
  const passes = new Passes({
    evictionHard: { 'nodefs.available': '10%', 'pid.available': '10', 'memory.available': '100Mi' },
  });
  const decision = passes.at(0, { 'memory.available': 1, 'nodefs.available': 1, 'pid.available': 1 });
  expect(acting(decision)).toEqual(['memory.available', 'nodefs.available', 'pid.available']);
  expect(decision.conditions).toEqual(['DiskPressure', 'MemoryPressure', 'PIDPressure']);
});

it('a new process knows nothing of the last one: the grace period begins anew', () => {
  const soft = {
    evictionSoft: { 'memory.available': '1Gi' },
    evictionSoftGracePeriod: { 'memory.available': '1m' },
  };
  new Passes(soft).at(0, memory(1));
  const next = new Passes(soft);
  expect(next.at(70, memory(1)).conditions).toEqual(['MemoryPressure']);
  expect(acting(next.at(80, memory(1)))).toEqual([]);
});

describe('what the node gives back by itself', () => {
  const one = { dedicated: false, split: false };
  const dedicated = { dedicated: true, split: false };
  const split = { dedicated: true, split: true };
  const both: NodeReclaim[] = ['containers', 'images'];
  it.each<[EvictionSignal, typeof one, NodeReclaim[]]>([
    ['nodefs.available', one, both],
    ['imagefs.inodesFree', one, both],
    ['containerfs.available', one, both],
    ['nodefs.available', dedicated, []],
    ['imagefs.available', dedicated, both],
    ['containerfs.available', dedicated, both],
    ['nodefs.inodesFree', split, ['containers']],
    ['imagefs.available', split, ['images']],
    ['containerfs.available', split, ['containers']],
    ['memory.available', one, []],
    ['allocatableMemory.available', split, []],
    ['pid.available', one, []],
  ])('for %s with %j: %j', (signal, layout, expected) => {
    expect(reclaimFor(signal, layout)).toEqual(expected);
  });

  it.each([
    ['is enough', 12 * gi, 2 * gi, true],
    ['is not enough without the minimum to reclaim', 10.5 * gi, 2 * gi, false],
    ['is not enough while a soft threshold is met, whatever its grace period', 12 * gi, gi / 2, false],
  ])('%s', (_rule, disk, ram, relieved) => {
    const thresholds = thresholdsOf({
      evictionHard: { 'nodefs.available': '10Gi' },
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '1h' },
      evictionMinimumReclaim: { 'nodefs.available': '1Gi' },
    });
    const readings = new Map<EvictionSignal, SignalReading>([
      ['nodefs.available', { available: disk, capacity: 100 * gi, atMs: 0 }],
      ['memory.available', { available: ram, capacity: 8 * gi, atMs: 0 }],
    ]);
    expect(isRelieved(thresholds, readings)).toBe(relieved);
  });
});
