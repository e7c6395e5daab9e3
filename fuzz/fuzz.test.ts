/** What every run of the tests fuzzes: the seeds, all inputs that broke a parser once, and a few new ones. */
import { afterAll, describe, expect, it } from 'vitest';
import { keptInputs, keptTargets } from './corpus.js';
import { inputOf, shortened } from './mutate.js';
import { parseOptions } from './options.js';
import { randomOf } from './random.js';
import { isRefusal, PropertyFailed, type Target } from './target.js';
import { liveTargets } from './targets/live.js';
import { targets } from './targets.js';

/** Throws what the parser should not have thrown. */
async function attempt(target: Target, input: Buffer): Promise<void> {
  try {
    await target.run(input);
  } catch (error) {
    if (!isRefusal(target, error)) throw error;
  }
}

afterAll(async () => {
  for (const target of targets) await target.close?.();
});

describe.each(targets.map((target) => [target.name, target] as const))('%s', (name, target) => {
  const few = liveTargets.includes(target) ? 5 : 50;

  it('takes its seeds', async () => {
    for (const seed of target.seeds) await attempt(target, seed);
  });
  it('withstands what broke it once', async () => {
    for (const { input } of keptInputs(name)) await attempt(target, input);
  });
  it('withstands some inputs', async () => {
    for (let number = 0; number < few; number++) await attempt(target, inputOf(target, 1, number));
  });
});

describe('the corpus', () => {
  it('belongs to targets that exist', () => {
    expect(keptTargets().filter((name) => !targets.some((target) => target.name === name))).toEqual([]);
  });
});

describe('inputs', () => {
  const [target] = targets as [Target];
  it('are the same for the same seed and number, and others for another', () => {
    const some = (seed: number): string[] =>
      Array.from({ length: 50 }, (_, number) => inputOf(target, seed, number).toString('hex'));
    expect(some(7)).toEqual(some(7));
    expect(some(7)).not.toEqual(some(8));
    expect(new Set(some(7)).size).toBeGreaterThan(40);
  });
  it('are no longer than the target wants them', () => {
    const short: Target = {
      ...target,
      seeds: [Buffer.from('seed')],
      maxBytes: 20,
      floodBytes: 20,
      run: () => undefined,
    };
    for (let number = 0; number < 200; number++)
      expect(inputOf(short, 1, number).length).toBeLessThanOrEqual(20);
  });
  it('are shortened as long as they fail', () => {
    const input = Buffer.from(`${'a'.repeat(300)}X${'b'.repeat(300)}`);
    expect(shortened(input, (candidate) => candidate.includes('X')).toString()).toBe('X');
  });
});

describe('numbers', () => {
  it('stay below their limit', () => {
    const random = randomOf(1, 'x', 2);
    for (let count = 0; count < 1000; count++) expect(random.below(7)).toBeLessThan(7);
  });
});

describe('refusals', () => {
  const target: Target = { name: 'x', seeds: [], run: () => undefined };
  it.each([
    ['an error of its own', new Error('no'), true],
    ['an error of the language', new TypeError('x is not a function'), false],
    ['a full stack', new RangeError('Maximum call stack size exceeded'), false],
    ['a property that does not hold', new PropertyFailed('same'), false],
    ['what is no error', 'no', false],
  ])('%s', (_, error, refused) => {
    expect(isRefusal(target, error)).toBe(refused);
  });
});

describe('options', () => {
  it('have defaults', () => {
    expect(parseOptions([], 5_000)).toMatchObject({ minutes: 5, targets: [], seed: 5, from: 0 });
  });
  it('are read with and without an equals sign', () => {
    const argv = ['--minutes', '0.5', '--target=a', '--target', 'b', '--seed=9'];
    expect(parseOptions(argv, 0)).toMatchObject({ minutes: 0.5, targets: ['a', 'b'], seed: 9 });
  });
  it.each([
    ['an unknown one', ['--x']],
    ['one without its value', ['--seed']],
    ['text for a number', ['--minutes', 'ten']],
    ['an input without a target', ['--replay', 'AA==']],
  ])('%s is refused', (_, argv) => {
    expect(() => parseOptions(argv, 0)).toThrow();
  });
});
