/** The entry of a plan in the timeline: a bounded list of flat steps, in the order of execution. */
import { type EntryData, type PlanAction, type PlanStep, planText } from '../../timeline/index.js';
import { type Because, becauseOf, type PodPlan } from './pod-plan.js';

/** The steps of a plan that the timeline keeps; a pod may have hundreds of containers. */
const maxSteps = 32;
/** Longer texts are cut; valid container names are shorter. */
const longestText = 256;

export interface PlanEntry {
  readonly data: EntryData<'pod.plan'>;
  readonly message: string;
  readonly because: string;
}

export function planEntry(plan: PodPlan): PlanEntry {
  const listed: PlannedStep[] = [];
  let more = 0;
  for (const step of stepsOf(plan)) {
    if (listed.length < maxSteps) listed.push(step);
    else more++;
  }
  // Steps are kept, and Node 20 gives each object of two spreads a hidden class of its own, 200 bytes.
  const steps = listed.map(({ action, cause }) => boundedStep(Object.assign({}, action, cause)));
  const reasons = new Set(listed.map(({ because }) => because.slice(0, longestText)));
  return {
    data: { sandbox: sandboxPlan(plan), attempt: plan.attempt, steps, more },
    message: planText(steps, more),
    because: [...reasons].join('; '),
  };
}

interface PlannedStep extends Because {
  readonly action: PlanAction;
}

function* stepsOf(plan: PodPlan): Generator<PlannedStep> {
  const step = ({ cause, because }: Because, action: PlanAction): PlannedStep => ({ action, cause, because });
  const isFirstSandbox = plan.attempt === 0 && plan.sandboxId === '';
  if (plan.killPod !== undefined && !isFirstSandbox) yield step(plan.killPod, { action: 'killPod' });
  for (const kill of plan.containersToKill.values()) {
    yield step(kill, { action: 'killContainer', container: kill.name });
  }
  for (const reset of plan.containersToReset) {
    yield step(reset, { action: 'resetContainer', container: reset.name });
  }
  if (plan.createSandbox !== undefined) {
    yield step(plan.createSandbox, { action: 'createSandbox', attempt: plan.attempt });
  }
  for (const resource of ['memory', 'cpu'] as const) {
    for (const update of plan.resize?.[resource] ?? []) {
      yield step(update, { action: 'resizeContainer', container: update.name, resource });
    }
  }
  if (plan.resize?.podLevel === true) {
    yield step(becauseOf({ reason: 'PodResourcesChanged' }), { action: 'resizePod' });
  }
  for (const volume of plan.resize?.volumes ?? []) {
    yield step(volume, { action: 'resizeVolume', volume: volume.name });
  }
  for (const [containerType, starts] of [
    ['ephemeralContainer', plan.ephemeralContainersToStart],
    ['initContainer', plan.initContainersToStart],
    ['container', plan.containersToStart],
  ] as const) {
    for (const start of starts) {
      yield step(start, { action: 'startContainer', container: start.name, containerType });
    }
  }
  for (const { kind, name, untilMs, cause, message } of plan.waiting) {
    const action = { action: 'waitForBackOff', container: name, containerType: kind, untilMs } as const;
    // The message names the back-off; the cause says how the container ended.
    yield { action, cause, because: message };
  }
}

function sandboxPlan({ createSandbox, killPod }: PodPlan): EntryData<'pod.plan'>['sandbox'] {
  if (createSandbox !== undefined) return 'create';
  return killPod === undefined ? 'keep' : 'stop';
}

function boundedStep(step: PlanStep): PlanStep {
  const isLong = (value: unknown): value is string => typeof value === 'string' && value.length > longestText;
  if (!Object.values(step).some(isLong)) return step;
  const entries = Object.entries(step).map(([key, value]) => [
    key,
    isLong(value) ? value.slice(0, longestText) : value,
  ]);
  // Every key keeps its type: names of actions and reasons are short, so only free text is cut.
  return Object.fromEntries(entries) as PlanStep;
}
