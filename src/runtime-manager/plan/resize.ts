/** Plans the resize of running containers: updates in their order, and restarts that a resize requires. */
import type { Container, Pod } from '../../kube/index.js';
import {
  amountsOf,
  changedResources,
  decideResize,
  isDecrease,
  type ResizedResource,
  type ResourceAmounts,
  resizedVolumes,
  wantedResources,
} from '../resize/decide-resize.js';
import {
  type Because,
  becauseOf,
  type PlannedResize,
  type PlannedStart,
  type PlannedUpdate,
  type PlannedVolumeResize,
} from './pod-plan.js';

/** The resources that the runtime was last given. */
export interface ActuatedView {
  container(uid: string, name: string): ResourceAmounts;
  pod(uid: string): ResourceAmounts;
  /** The size limit of a volume in memory; undefined where volumes are not resized. */
  volumeLimit?(uid: string, volume: string): string | undefined;
  /** Whether the last resize to the pod's resources failed; default no. */
  hasFailed?(pod: Pod): boolean;
}

/** A container that must restart for its new resources. */
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
    this.#podResources = actuated.hasFailed?.(pod) ?? false;
  }

  /** Plans the resize of a running container. Returns a restart if the resize requires one. */
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

  /** Notes containers that start anyway, with their new resources. */
  starts(containers: readonly Container[], starts: readonly PlannedStart[]): void {
    for (const { index } of starts) {
      const container = containers[index];
      if (container === undefined) continue;
      const { wanted, actuated } = this.#amounts(container);
      if (changedResources(wanted, actuated).length > 0) this.#podResources = true;
    }
  }

  /** Plans the resize of the pod-level resources. */
  pod(): void {
    const { spec, metadata } = this.#pod;
    const wanted = amountsOf(spec.resources);
    this.#podLevel = changedResources(wanted, this.#actuated.pod(metadata.uid)).length > 0;
  }

  /** Undefined when nothing changes. */
  planned(): PlannedResize | undefined {
    const { memory, cpu } = this.#updates;
    const [podResources, podLevel, volumes] = [this.#podResources, this.#podLevel, this.#volumes()];
    const isUnchanged = memory.length === 0 && cpu.length === 0 && volumes.length === 0;
    if (isUnchanged && !podResources && !podLevel) return undefined;
    return { ...(volumes.length === 0 ? {} : { volumes }), memory, cpu, podResources, podLevel };
  }

  #volumes(): PlannedVolumeResize[] {
    const { uid } = this.#pod.metadata;
    return resizedVolumes(this.#pod, (name) => this.#actuated.volumeLimit?.(uid, name)).map(
      ({ name, limit, decreases }) => ({
        name,
        limit,
        decreases,
        ...becauseOf({ reason: 'VolumeSizeChanged' }),
      }),
    );
  }

  #amounts(container: Container): { readonly wanted: ResourceAmounts; readonly actuated: ResourceAmounts } {
    return {
      wanted: amountsOf(wantedResources(this.#pod, container)),
      actuated: this.#actuated.container(this.#pod.metadata.uid, container.name),
    };
  }
}
