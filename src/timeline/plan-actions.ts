/** The actions of a pod's plan: the stable name of each with the type of its fields. `docs/timeline.md` shows them. */
import type { NoData } from './entry-data.js';
import type { PlanReason } from './plan-reasons.js';

/** Which list of the pod's spec the container stands in. */
type PlannedContainerType = 'initContainer' | 'container' | 'ephemeralContainer';

type PlannedResource = 'cpu' | 'memory';

export interface PlanActions {
  /** All containers are killed and all sandboxes stopped. */
  killPod: NoData;
  /** One container is killed. */
  killContainer: { container: string };
  /** One instance of a container is removed, after it was killed where it still runs. */
  resetContainer: { container: string };
  /** A sandbox is created. */
  createSandbox: { attempt: number };
  /** A resource of a running container is changed. */
  resizeContainer: { container: string; resource: PlannedResource };
  /** The resources of the pod as a whole are changed. */
  resizePod: NoData;
  /** The size of a volume in memory is changed. */
  resizeVolume: { volume: string };
  /** A container is started. */
  startContainer: { container: string; containerType: PlannedContainerType };
  /** A container is not started before its crash-loop back-off ends. */
  waitForBackOff: { container: string; containerType: PlannedContainerType; untilMs: number };
}

type ActionOf<Name extends keyof PlanActions> = Name extends keyof PlanActions
  ? { readonly action: Name } & (PlanActions[Name] extends NoData ? unknown : Readonly<PlanActions[Name]>)
  : never;

/** What is done, without why. */
export type PlanAction = ActionOf<keyof PlanActions>;

/** One action with its reason, as one flat object. */
export type PlanStep = PlanAction & PlanReason;

/** The action in words. */
export function planActionText(step: PlanAction): string {
  switch (step.action) {
    case 'killPod':
      return 'kill pod';
    case 'killContainer':
      return `kill ${step.container}`;
    case 'resetContainer':
      return `reset ${step.container}`;
    case 'createSandbox':
      return `create sandbox, attempt ${step.attempt}`;
    case 'resizeContainer':
      return `change ${step.resource} of ${step.container}`;
    case 'resizePod':
      return 'change the resources of the pod';
    case 'resizeVolume':
      return `change the size of volume ${step.volume}`;
    case 'startContainer':
      return `start ${typeText[step.containerType]} ${step.container}`;
    case 'waitForBackOff':
      return `${typeText[step.containerType]} ${step.container} waits`;
  }
}

const typeText: Readonly<Record<PlannedContainerType, string>> = {
  initContainer: 'init container',
  container: 'container',
  ephemeralContainer: 'ephemeral container',
};

/** The steps of a plan in words; `more` is the number of steps beyond those listed. */
export function planText(steps: readonly PlanAction[], more: number): string {
  return [...steps.map(planActionText), ...(more > 0 ? [`${more} more`] : [])].join('; ');
}
