/** Collects what a plan changes in containers that run: updates in their order, and what cannot change without a restart. */
import type { Container, Pod } from '../../kube/index.js';
import {
  amountsOf,
  changedResources,
  decideResize,
  isDecrease,
  type ResizedResource,
  type ResourceAmounts,
  wantedResources,
} from '../resize/decide-resize.js';
import {
  type Because,
  becauseOf,
  type PlannedResize,
  type PlannedStart,
  type PlannedUpdate,
} from './pod-plan.js';

/** What the runtime was last told. */
export interface ActuatedView {
  container(uid: string, name: string): ResourceAmounts;
  pod(uid: string): ResourceAmounts;
}

/** A container that has to start over for its new resources. */
export interface ResizeRestart extends Because {
  readonly message: string;
  readonly reason: '';
  readonly startAgain: true;
}

export class ResizePlanner {
  readonly #pod: Pod;
  readonly #actuated: ActuatedView;
  readonly #updates: Record<ResizedResource, PlannedUpdate[]> = { memory: [], cpu: [] };
  #podResources = false;
  #podLevel = false;

  constructor(pod: Pod, actuated: ActuatedView) {
    this.#pod = pod;
    this.#actuated = actuated;
  }

  /** Looks at a container that runs and could go on. */
  running(container: Container, id: string): ResizeRestart | undefined {
    const { name } = container;
    const { wanted, actuated } = this.#amounts(container);
    const verdict = decideResize(container, wanted, actuated);
    switch (verdict.kind) {
      case 'keep':
        return undefined;
      case 'restart':
        this.#podResources = true;
        return {
          message: `Container ${name} resize requires restart`,
          reason: '',
          ...becauseOf({ reason: 'ResizeRequiresRestart', changed: verdict.resource }),
          startAgain: true,
        };
      case 'update':
        for (const resource of verdict.resources) {
          const decreases = isDecrease(resource, wanted, actuated);
          const update: PlannedUpdate = {
            id,
            name,
            decreases,
            memoryLimit: { from: actuated.memory.limit, to: wanted.memory.limit },
            ...becauseOf({ reason: 'ResourceChanged', changed: resource }),
          };
          if (decreases) this.#updates[resource].unshift(update);
          else this.#updates[resource].push(update);
        }
        return undefined;
    }
  }

  /** Containers that start anyway take their new resources with them. */
  starts(containers: readonly Container[], starts: readonly PlannedStart[]): void {
    for (const { index } of starts) {
      const container = containers[index];
      if (container === undefined) continue;
      const { wanted, actuated } = this.#amounts(container);
      if (changedResources(wanted, actuated).length > 0) this.#podResources = true;
    }
  }

  /** Looks at what the pod says for itself. */
  pod(): void {
    const { spec, metadata } = this.#pod;
    const wanted = amountsOf(spec.resources);
    this.#podLevel = changedResources(wanted, this.#actuated.pod(metadata.uid)).length > 0;
  }

  /** Undefined when nothing changes. */
  planned(): PlannedResize | undefined {
    const { memory, cpu } = this.#updates;
    const [podResources, podLevel] = [this.#podResources, this.#podLevel];
    if (memory.length === 0 && cpu.length === 0 && !podResources && !podLevel) return undefined;
    return { memory, cpu, podResources, podLevel };
  }

  #amounts(container: Container): { readonly wanted: ResourceAmounts; readonly actuated: ResourceAmounts } {
    return {
      wanted: amountsOf(wantedResources(this.#pod, container)),
      actuated: this.#actuated.container(this.#pod.metadata.uid, container.name),
    };
  }
}
