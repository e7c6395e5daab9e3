/** Admits pods: asks every provider where it could serve the pod, agrees on NUMA nodes, and has everything allocated there. */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../async/index.js';
import { type Container, hasPodLevelResources, type Pod } from '../../kube/index.js';
import type { AllocationOutcome, HintProvider, TopologyHint } from './hint-provider.js';
import type { AlignmentMetrics, TopologyManagerMetrics } from './metrics.js';
import type { AligningPolicy } from './policy.js';
import { StoredHints } from './stored-hints.js';

export interface TopologyManagerOptions {
  readonly clock: Clock;
  /** Absent for policy `none`: everything is allocated wherever there is room. */
  readonly policy: AligningPolicy | undefined;
  readonly scope: 'container' | 'pod';
  /** In the order in which they allocate. */
  readonly providers: readonly HintProvider[];
  /** Whether pods with resources of their own are aligned as a whole: the gate PodLevelResourceManagers. */
  readonly alignsPodLevel: boolean;
  readonly metrics: TopologyManagerMetrics;
  readonly alignment: AlignmentMetrics;
}

export interface TopologyRefusal {
  readonly reason: string;
  readonly message: string;
  /** Set if the pod is not refused but to be judged again when this resolves. */
  readonly until?: Promise<void>;
}

/** Containers that are served at a time. The files of who has what are written anew after each turn, so it is no fewer. */
const containersPerTurn = 64;

/** Without nodes: where there is room. */
const anywhere: TopologyHint = { mask: undefined, preferred: false };

const affinityRefusal = 'Resources cannot be allocated with Topology locality';
const podLevelRefusal = {
  container:
    'Pod Scope pod with pod-level resources failed admission with a container-level topology manager',
  pod: 'Pod Scope pod with pod-level resources failed admission under pod-scope topology manager',
};

export class TopologyManager {
  readonly #options: TopologyManagerOptions;
  readonly hints = new StoredHints();

  constructor(options: TopologyManagerOptions) {
    this.#options = options;
    const { policy, alignment } = options;
    if (policy === undefined) return;
    for (const scope of ['container', 'pod']) {
      alignment.aligned.inc({ scope, boundary: 'numa_node' }, 0);
      alignment.failed.inc({ scope, boundary: 'numa_node' }, 0);
    }
  }

  /** Undefined if the pod is admitted; what a refused pod was given until then stays until it is seen to be gone. */
  async admit(
    pod: Pod,
    operation: 'add' | 'resize',
    signal: AbortSignal,
  ): Promise<TopologyRefusal | undefined> {
    const { clock, policy, metrics } = this.#options;
    const startMs = clock.monotonic();
    const counted = (): void => {
      metrics.requests.inc();
      metrics.durationMs.observe(Math.floor(clock.monotonic() - startMs));
    };
    let refusal: TopologyRefusal | undefined;
    try {
      refusal = await this.#admit(pod, operation, signal);
    } catch (error) {
      counted();
      throw error;
    }
    // A pod that is judged again is counted then.
    if (refusal?.until !== undefined) return refusal;
    counted();
    if (refusal !== undefined && policy !== undefined) metrics.errors.inc();
    return refusal;
  }

  async #admit(
    pod: Pod,
    operation: 'add' | 'resize',
    signal: AbortSignal,
  ): Promise<TopologyRefusal | undefined> {
    const { policy, scope } = this.#options;
    if (policy === undefined) {
      return operation === 'add' ? this.#allocateEach(pod, () => anywhere, signal) : undefined;
    }
    return scope === 'pod'
      ? this.#admitPod(pod, policy, operation, signal)
      : this.#admitContainers(pod, policy, operation, signal);
  }

  async #admitContainers(
    pod: Pod,
    policy: AligningPolicy,
    operation: 'add' | 'resize',
    signal: AbortSignal,
  ): Promise<TopologyRefusal | undefined> {
    for (const [index, container] of startedContainers(pod).entries()) {
      await pauseBefore(index);
      const answers = this.#askedFor(operation).map((provider) => provider.containerHints(pod, container));
      const hint = this.#agree(pod, policy, answers, 'container');
      if ('reason' in hint) return hint;
      this.hints.set(pod.metadata.uid, container.name, hint);
      if (operation === 'resize') continue;
      const refusal = await this.#allocate(pod, container, hint, signal);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  async #admitPod(
    pod: Pod,
    policy: AligningPolicy,
    operation: 'add' | 'resize',
    signal: AbortSignal,
  ): Promise<TopologyRefusal | undefined> {
    const answers = this.#askedFor(operation).map((provider) => provider.podHints(pod));
    const hint = this.#agree(pod, policy, answers, 'pod');
    if ('reason' in hint) return hint;
    for (const { name } of startedContainers(pod)) this.hints.set(pod.metadata.uid, name, hint);
    if (operation === 'resize') return undefined;
    return this.#alignsPodLevel(pod)
      ? this.#allocatePod(pod, hint, signal)
      : this.#allocateEach(pod, () => hint, signal);
  }

  /** Who is not asked for a resize has no preference, as if it were not there. */
  #askedFor(operation: 'add' | 'resize'): readonly HintProvider[] {
    const { providers } = this.#options;
    return operation === 'add' ? providers : providers.filter(({ hintsOnResize }) => hintsOnResize === true);
  }

  #agree(
    pod: Pod,
    policy: AligningPolicy,
    answers: Parameters<AligningPolicy['merge']>[0],
    scope: 'container' | 'pod',
  ): TopologyHint | TopologyRefusal {
    const { alignment } = this.#options;
    const { hint, admit } = policy.merge(answers);
    if (policy.name === 'single-numa-node') {
      const counter = admit ? alignment.aligned : alignment.failed;
      counter.inc({ scope, boundary: 'numa_node' });
    }
    if (admit) return hint;
    const message = this.#alignsPodLevel(pod) ? podLevelRefusal[scope] : affinityRefusal;
    return { reason: 'TopologyAffinityError', message };
  }

  #alignsPodLevel(pod: Pod): boolean {
    return this.#options.alignsPodLevel && hasPodLevelResources(pod.spec.resources);
  }

  async #allocateEach(
    pod: Pod,
    hintOf: (container: Container) => TopologyHint,
    signal: AbortSignal,
  ): Promise<TopologyRefusal | undefined> {
    for (const [index, container] of startedContainers(pod).entries()) {
      await pauseBefore(index);
      const refusal = await this.#allocate(pod, container, hintOf(container), signal);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  async #allocate(
    pod: Pod,
    container: Container,
    hint: TopologyHint,
    signal: AbortSignal,
  ): Promise<TopologyRefusal | undefined> {
    for (const provider of this.#options.providers) {
      const outcome = await provider.allocate(pod, container, hint, signal);
      if (outcome.kind !== 'allocated') return refusalOf(outcome);
    }
    return undefined;
  }

  async #allocatePod(
    pod: Pod,
    hint: TopologyHint,
    signal: AbortSignal,
  ): Promise<TopologyRefusal | undefined> {
    for (const provider of this.#options.providers) {
      const outcome = await provider.allocatePod?.(pod, hint, signal);
      if (outcome !== undefined && outcome.kind !== 'allocated') return refusalOf(outcome);
    }
    return undefined;
  }
}

/** A pod may have as many containers as it likes; other work has its turn between them. */
async function pauseBefore(index: number): Promise<void> {
  if (index > 0 && index % containersPerTurn === 0) await setImmediate();
}

/** In the order in which they start. */
function startedContainers({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function refusalOf(outcome: Exclude<AllocationOutcome, { readonly kind: 'allocated' }>): TopologyRefusal {
  const { message } = outcome;
  if (outcome.kind === 'pending') return { reason: 'Pending', message, until: outcome.until };
  if (outcome.reason !== undefined) return { reason: outcome.reason, message };
  return {
    reason: 'UnexpectedAdmissionError',
    message: `Allocate failed due to ${message}, which is unexpected`,
  };
}
