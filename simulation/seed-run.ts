/** Lives the lives of one seed, one after another, until there were enough events or a rule broke. */
import { createHash } from 'node:crypto';
import { mixedSeed } from './draw.js';
import type { Violation } from './invariants/violation.js';
import { live } from './life.js';
import { drawPlan } from './plan/draw-plan.js';
import type { ProfileName } from './plan/profiles.js';
import type { Plan } from './plan/step.js';

export interface SeedTask {
  readonly seed: number;
  readonly events: number;
  readonly profile: ProfileName | undefined;
  readonly life: number | undefined;
  readonly trace: boolean;
}

export interface SeedReport {
  readonly seed: number;
  readonly lives: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly processes: number;
  readonly hash: string;
  readonly broken: { readonly life: number; readonly plan: Plan; readonly violation: Violation } | undefined;
}

export function planOf({ seed, profile }: Pick<SeedTask, 'seed' | 'profile'>, life: number): Plan {
  return drawPlan(mixedSeed(seed, life), profile);
}

export async function runSeed(task: SeedTask, print: (line: string) => void): Promise<SeedReport> {
  const hash = createHash('sha256');
  const sum = { lives: 0, events: 0, virtualMs: 0, processes: 0 };
  let broken: SeedReport['broken'];
  for (let life = task.life ?? 0; ; life++) {
    const plan = planOf(task, life);
    const outcome = await live(plan, task.trace ? { trace: print } : {});
    sum.lives++;
    sum.events += outcome.events;
    sum.virtualMs += outcome.virtualMs;
    sum.processes += outcome.processes;
    hash.update(outcome.hash);
    if (outcome.violation !== undefined) broken = { life, plan, violation: outcome.violation };
    if (broken !== undefined || task.life !== undefined || sum.events >= task.events) break;
  }
  return { seed: task.seed, ...sum, hash: hash.digest('hex').slice(0, 16), broken };
}
