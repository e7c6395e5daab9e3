/** Shortens a plan that breaks a rule: what can be left out while the same rule breaks is left out. */
import type { Plan, Step } from './plan/step.js';

export interface MinimiseOptions {
  /** Whether the plan still breaks the rule. */
  readonly breaks: (plan: Plan) => Promise<boolean>;
  /** How many plans are tried at most. */
  readonly tries: number;
}

/** Delta debugging: drops ever smaller parts of the steps, then simplifies what is left of them. */
export async function minimise(plan: Plan, options: MinimiseOptions): Promise<Plan> {
  const trial = new Trial(plan, options);
  await dropSteps(trial);
  await simplifySteps(trial);
  await dropSteps(trial);
  await trial.accepts({ ...trial.best, node: { ...trial.best.node, events: true, cpuManager: false } });
  return trial.best;
}

class Trial {
  best: Plan;
  readonly #options: MinimiseOptions;
  #left: number;

  constructor(plan: Plan, options: MinimiseOptions) {
    this.best = plan;
    this.#options = options;
    this.#left = options.tries;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  async accepts(plan: Plan): Promise<boolean> {
    if (this.#left-- <= 0 || !(await this.#options.breaks(plan))) return false;
    this.best = plan;
    return true;
  }
}

async function dropSteps(trial: Trial): Promise<void> {
  let size = Math.ceil(trial.best.steps.length / 2);
  while (size >= 1 && !trial.isSpent) {
    let dropped = false;
    // From the end: what comes later depends on what came before.
    for (let end = trial.best.steps.length; end > 0 && !trial.isSpent; end -= size) {
      const start = Math.max(0, end - size);
      const { steps } = trial.best;
      const shorter = [...steps.slice(0, start), ...steps.slice(end)];
      if (await trial.accepts({ ...trial.best, steps: shorter })) dropped = true;
    }
    if (size === 1 && !dropped) return;
    size = size === 1 ? 1 : Math.floor(size / 2);
  }
}

async function simplifySteps(trial: Trial): Promise<void> {
  for (let index = 0; index < trial.best.steps.length; index++) while (await simplified(trial, index));
}

/** Whether a step of the plan could be made simpler. */
async function simplified(trial: Trial, index: number): Promise<boolean> {
  const step = trial.best.steps[index];
  for (const simpler of step === undefined ? [] : simplerSteps(step)) {
    if (trial.isSpent) return false;
    if (await trial.accepts({ ...trial.best, steps: trial.best.steps.with(index, simpler) })) return true;
  }
  return false;
}

/** Each differs from the step in one thing. */
function simplerSteps(step: Step): Step[] {
  if (step.act === 'create') {
    const { containers, graceSeconds, ...rest } = step.draft;
    const without = Object.keys(rest).map((key) => ({
      ...step,
      draft: {
        containers,
        graceSeconds,
        ...Object.fromEntries(Object.entries(rest).filter(([name]) => name !== key)),
      },
    }));
    return [...(containers > 1 ? [{ ...step, draft: { ...step.draft, containers: 1 } }] : []), ...without];
  }
  if (step.act === 'fault' && step.fault.times > 1) return [{ ...step, fault: { ...step.fault, times: 1 } }];
  return [];
}
