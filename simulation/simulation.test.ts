/** The simulation itself: it repeats itself anywhere, finds what is broken on purpose, and shortens the way to it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { asTest } from './as-test.js';
import { Draw } from './draw.js';
import { phaseProblems } from './invariants/status-book.js';
import { Journal } from './journal.js';
import { live } from './life.js';
import { minimise } from './minimise.js';
import { drawPlan } from './plan/draw-plan.js';
import type { Plan } from './plan/step.js';
import { Director } from './ports/director.js';
import { runSeed } from './seed-run.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

describe('a seed', () => {
  it('has the same hash in another process, time zone and language', async () => {
    const task = { seed: 7, events: 8_000, profile: 'churn', life: undefined, trace: false } as const;
    const { hash, events, broken } = await runSeed(task, () => undefined);
    expect(broken).toBeUndefined();
    const args = [
      '--import',
      'tsx',
      'simulation/run.ts',
      '--seed',
      '7',
      '--events',
      '8000',
      '--profile',
      'churn',
    ];
    const env = { ...process.env, TZ: 'Pacific/Chatham', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' };
    const { stdout } = await run(process.execPath, args, { cwd: root, env });
    expect(stdout).toContain(`${events} events  ${hash}`);
  }, 120_000);

  it('draws the same plan, and another seed another one', () => {
    expect(drawPlan(3)).toEqual(drawPlan(3));
    expect(drawPlan(3)).not.toEqual(drawPlan(4));
  });
});

describe('a rule that is broken on purpose', () => {
  /** It breaks when a pod of this name ends after a container of the machine exited with this code. */
  const planted =
    (name: string) => (entry: { readonly what: string; readonly pod?: { readonly name: string } }) =>
      entry.what === 'pod.terminating' && entry.pod?.name === name ? `${name} ends` : undefined;

  it('is found, shortened to what it needs, and printed as a test', async () => {
    const plan: Plan = {
      ...drawPlan(11, 'churn'),
      steps: [
        ...drawPlan(11, 'churn').steps.slice(0, 6),
        {
          atMs: 90_000,
          act: 'create',
          name: 'planted',
          draft: { containers: 2, graceSeconds: 3, probes: true },
        },
        { atMs: 95_000, act: 'break-events' },
        { atMs: 99_000, act: 'delete', name: 'planted' },
      ],
      calmAtMs: 100_000,
    };
    const options = { planted: planted('planted') };
    const { violation } = await live(plan, options);
    expect(violation).toMatchObject({ rule: 'planted', message: 'planted ends' });
    const breaks = async (shorter: Plan): Promise<boolean> =>
      (await live(shorter, options)).violation?.rule === 'planted';
    const shortest = await minimise(plan, { breaks, tries: 100 });
    expect(JSON.parse(JSON.stringify(shortest.steps))).toEqual([
      { atMs: 90_000, act: 'create', name: 'planted', draft: { containers: 1, graceSeconds: 3 } },
      { atMs: 99_000, act: 'delete', name: 'planted' },
    ]);
    const text = asTest(shortest, violation!);
    expect(text).toContain('"name":"planted","draft":{"containers":1,"graceSeconds":3}');
    expect(text).toContain('expect((await live(plan)).violation).toBeUndefined()');
  }, 60_000);
});

describe('a plan', () => {
  it('is tried no more often than allowed', async () => {
    const plan = drawPlan(1);
    let tries = 0;
    const breaks = async (): Promise<boolean> => ++tries < 0;
    await minimise(plan, { breaks, tries: 10 });
    expect(tries).toBe(10);
  });
});

describe('a fault', () => {
  it('strikes the calls that it names, as often as it says, after those that pass', () => {
    const director = new Director();
    director.arm({ port: 'cri', call: 'stopContainer', skip: 1, times: 2, effect: { do: 'lose' } });
    const calls = ['stopContainer', 'listContainers', 'stopContainer', 'stopContainer', 'stopContainer'];
    expect(calls.map((call) => director.verdict('cri', call, true).effect?.do)).toEqual([
      undefined,
      undefined,
      'lose',
      'lose',
      undefined,
    ]);
  });

  it('ends a process at a change, not at a look', () => {
    const director = new Director();
    director.armDeath({ skip: 1, when: 'after' });
    expect(director.verdict('api', 'patch pods', true).death).toBeUndefined();
    expect(director.verdict('api', 'get pods', false).death).toBeUndefined();
    expect(director.verdict('cri', 'createContainer', true).death).toBe('after');
    expect(director.verdict('cri', 'createContainer', true).death).toBeUndefined();
  });
});

describe('the journal', () => {
  it('has another hash for another order of events', () => {
    const hashOf = (texts: readonly string[]): string => {
      const journal = new Journal();
      for (const text of texts) journal.event('arrival', text, 0);
      return journal.hash;
    };
    expect(hashOf(['a', 'b'])).toBe(hashOf(['a', 'b']));
    expect(hashOf(['a', 'b'])).not.toBe(hashOf(['b', 'a']));
    expect(hashOf(['ab'])).not.toBe(hashOf(['a', 'b']));
  });
});

describe('a phase', () => {
  it.each([
    ['Pending', 'Running', 0],
    ['Running', 'Pending', 0],
    ['Running', 'Failed', 0],
    ['Failed', 'Running', 1],
    ['Succeeded', 'Failed', 1],
    ['Failed', 'Failed', 0],
  ])('from %s to %s is %i problem', (before, after, count) => {
    expect(phaseProblems(before, after)).toHaveLength(count);
  });
});

describe('a draw by weights', () => {
  it('comes as often as they say', () => {
    const draw = new Draw(1);
    const drawn = Array.from({ length: 1000 }, () =>
      draw.weighted([
        [1, 'a'],
        [3, 'b'],
        [0, 'c'],
      ]),
    );
    const count = drawn.filter((each) => each === 'b').length;
    expect(count).toBeGreaterThan(700);
    expect(count).toBeLessThan(800);
    expect(drawn).not.toContain('c');
  });
});
