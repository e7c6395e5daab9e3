import { describe, expect, it } from 'vitest';
import { endsLives, lastingPods, planCycle, planLimits, scheduleOf } from './plan.js';
import { destinyOf, manifestOf, shapeNames } from './shapes.js';

const minute = 60_000;
const settings = { seed: 7, durationMs: 60 * minute, cluster: false };
const cycles = (more: Partial<typeof settings> = {}) =>
  Array.from({ length: 20 }, (_, index) => planCycle({ ...settings, ...more }, index));

describe('the plan', () => {
  it('is the same for the same seed, and another one for another', () => {
    expect(cycles()).toEqual(cycles());
    expect(cycles({ seed: 8 })).not.toEqual(cycles());
  });

  it('wants no more pods at a time than it may, and changes and deletes only what is there', () => {
    for (const { steps, left } of cycles({ durationMs: 300 * minute })) {
      const wanted = new Map<string, number>();
      for (const { step } of steps) {
        if (step.kind === 'create') wanted.set(step.pod.name, step.pod.revision);
        if (step.kind === 'change') {
          expect(wanted.get(step.pod.name)).toBe(step.pod.revision - 1);
          wanted.set(step.pod.name, step.pod.revision);
        }
        if (step.kind === 'delete') expect(wanted.delete(step.name)).toBe(true);
        expect(wanted.size + lastingPods.length).toBeLessThanOrEqual(planLimits.pods);
      }
      expect(left.map(({ name, revision }) => [name, revision])).toEqual([...wanted]);
    }
  });

  it('does its steps in order, within the churn and at a bounded rate', () => {
    const { churnMs } = scheduleOf(settings);
    for (const { steps } of cycles()) {
      const moments = steps.map(({ atMs }) => atMs);
      expect(moments).toEqual([...moments].sort((a, b) => a - b));
      expect(moments.every((atMs) => atMs >= 0 && atMs < churnMs)).toBe(true);
      expect(steps.length).toBeLessThan(churnMs / planLimits.leastPauseMs + 10);
    }
  });

  it('comes to every kind of pod, step and fault, and cuts the API only where there is one', () => {
    const steps = cycles({ cluster: true }).flatMap((cycle) => cycle.steps.map(({ step }) => step));
    const kinds = new Set(steps.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(
      ['change', 'client', 'create', 'delete', 'fault', 'resize', 'write-objects'].sort(),
    );
    expect(new Set(steps.flatMap((step) => (step.kind === 'create' ? [step.pod.shape] : [])))).toEqual(
      new Set(shapeNames),
    );
    const faults = (all: typeof steps) =>
      new Set(all.flatMap((step) => (step.kind === 'fault' ? [step.fault.kind] : [])));
    expect(faults(steps).size).toBe(6);
    const alone = cycles().flatMap((cycle) => cycle.steps.map(({ step }) => step));
    expect(faults(alone).has('cut-api')).toBe(false);
    expect(alone.some(({ kind }) => kind === 'resize')).toBe(false);
  });

  it('ends lives of the agent only in the cycles for that', () => {
    for (const { index, steps, endsLives: ends } of cycles()) {
      const deaths = steps.filter(
        ({ step }) =>
          step.kind === 'fault' && (step.fault.kind === 'kill-agent' || step.fault.kind === 'stop-agent'),
      );
      expect([index, deaths.length > 0]).toEqual([index, ends]);
    }
  });
});

describe('the schedule', () => {
  const rows: [minutes: number, atLeastCycles: number][] = [
    [20, 8],
    [40, 12],
    [60, 15],
    [480, 80],
  ];
  it.each(rows)(
    'of %i minutes has at least %i quiet points, a quarter and at least three to warm up',
    (minutes, least) => {
      const schedule = scheduleOf({ durationMs: minutes * minute });
      expect(schedule.cycles).toBeGreaterThanOrEqual(least);
      expect(schedule.warmUpCycles).toBeGreaterThanOrEqual(Math.max(3, schedule.cycles / 4));
      expect(schedule.lifeCycles).toBeGreaterThanOrEqual(12);
    },
  );

  it('lets the agent live through the first cycles that are judged', () => {
    const schedule = { churnMs: 1, cycles: 20, warmUpCycles: 5, lifeCycles: 6 };
    const deaths = Array.from({ length: 20 }, (_, index) => index).filter((index) =>
      endsLives(index, schedule),
    );
    expect(deaths).toEqual([0, 1, 2, 8, 14]);
  });
});

describe('the shapes', () => {
  const ground = {
    busybox: 'b',
    pulledImage: 'p',
    csiDriver: 'd',
    startsDir: '/starts',
    sharedDir: '/shared',
  };
  it.each(shapeNames)('%s notes every start of every container', (shape) => {
    const { spec } = manifestOf({ name: 'x', shape, variant: 3, revision: 2 }, ground);
    for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
      expect(container.command?.[2]).toContain(`/starts/$POD_UID.${container.name}`);
      expect(container.volumeMounts?.[0]).toEqual({ name: 'starts', mountPath: '/starts' });
    }
    expect(spec.volumes?.[0]?.name).toBe('starts');
  });

  it('lasting pods run and come to rest', () => {
    expect(lastingPods.map(({ shape }) => destinyOf(shape))).toEqual(lastingPods.map(() => 'runs'));
  });
});
