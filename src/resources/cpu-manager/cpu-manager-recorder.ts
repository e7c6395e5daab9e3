/** Tells of what the CPU manager gives and takes: on the timeline and in metrics. */
import type { CpuSet, Pod } from '../../kube/index.js';
import { type PodRef, podRef, type Timeline } from '../../timeline/index.js';
import type { AlignmentMetrics, PodLevelMetrics } from '../topology-manager/index.js';
import type { CpuState } from './cpu-state.js';
import { groupIds } from './cpu-topology.js';
import { exclusiveCpuCount } from './exclusive-requests.js';
import type { CpuManagerMetrics } from './metrics.js';
import { availableCpus, freshDefault, type StaticPolicy } from './static-policy.js';

export interface CpuManagerRecorderOptions {
  readonly policy: StaticPolicy | undefined;
  readonly timeline: Timeline;
  readonly metrics: CpuManagerMetrics;
  readonly alignment: AlignmentMetrics;
  /** Where the gate PodLevelResourceManagers is on. */
  readonly podLevelMetrics: PodLevelMetrics | undefined;
}

const physicalCpu = { scope: 'container', boundary: 'physical_cpu' };
const uncoreCache = { scope: 'container', boundary: 'uncore_cache' };

export class CpuManagerRecorder {
  readonly #options: CpuManagerRecorderOptions;
  readonly #shownNodes = new Set<number>();

  constructor(options: CpuManagerRecorderOptions) {
    this.#options = options;
  }

  started(state: CpuState): void {
    const { policy, alignment } = this.#options;
    if (policy === undefined) return;
    alignment.aligned.inc(physicalCpu, 0);
    alignment.aligned.inc(uncoreCache, 0);
    alignment.failed.inc(physicalCpu, 0);
    this.#figures(state);
  }

  /** A container asked for CPUs of the node, or a pod for CPUs as a whole. */
  asked(source: 'node' | 'pod', outcome: 'kept' | 'given' | 'refused'): void {
    const { policy, metrics, alignment, podLevelMetrics } = this.#options;
    metrics.pinningRequests.inc();
    if (outcome === 'refused') {
      metrics.pinningErrors.inc();
      podLevelMetrics?.errors.inc({ resource_name: 'cpu', source });
    }
    if (policy?.options.fullPcpusOnly !== true) return;
    if (outcome === 'refused') alignment.failed.inc(physicalCpu);
    else alignment.aligned.inc(physicalCpu);
  }

  given(pod: Pod, container: string | undefined, cpus: CpuSet, state: CpuState): void {
    const { policy, timeline, alignment } = this.#options;
    if (policy === undefined) return;
    const caches = groupIds(policy.topology, cpus, (place) => place.uncoreCache);
    if (caches.size <= 1) alignment.aligned.inc(uncoreCache);
    this.#figures(state);
    this.#countAssignments(pod, container);
    timeline.record({
      kind: 'decision',
      what: 'cpu.allocate',
      message: `gave CPUs ${cpus} to ${container ?? 'the pod as a whole'}`,
      because: 'it is Guaranteed and asks for whole CPUs',
      pod: podRef(pod),
      ...(container === undefined ? {} : { container }),
      data: { cpus: String(cpus), shared: String(state.defaultCpuSet) },
    });
  }

  /** `pod` is undefined where only its UID is known. */
  released(pod: PodRef | undefined, uid: string, container: string, cpus: CpuSet, state: CpuState): void {
    this.#figures(state);
    this.#options.timeline.record({
      kind: 'decision',
      what: 'cpu.release',
      message: `took CPUs ${cpus} back from ${container} of pod ${pod?.name ?? uid}`,
      because: pod === undefined ? 'the pod is not active any more' : 'the container does not ask for them',
      ...(pod === undefined ? {} : { pod }),
      container,
      data: { cpus: String(cpus), shared: String(state.defaultCpuSet) },
    });
  }

  #countAssignments(pod: Pod, container: string | undefined): void {
    const { podLevelMetrics } = this.#options;
    if (podLevelMetrics === undefined) return;
    const { allocations, assignments } = podLevelMetrics;
    allocations.inc({ resource_name: 'cpu', source: container === undefined ? 'pod' : 'node' });
    if (container !== undefined) {
      assignments.inc({ resource_name: 'cpu', assignment_type: 'node_exclusive' });
      return;
    }
    for (const one of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const isExclusive = exclusiveCpuCount(pod, one, { podLevel: true }) > 0;
      assignments.inc({
        resource_name: 'cpu',
        assignment_type: isExclusive ? 'pod_exclusive' : 'pod_shared',
      });
    }
  }

  #figures(state: CpuState): void {
    const { policy, metrics } = this.#options;
    if (policy === undefined) return;
    // All that was in the pool and is not any more, whoever has it.
    const exclusive = freshDefault(policy).difference(state.defaultCpuSet);
    metrics.sharedPoolMillis.set(availableCpus(policy, state).size * 1000);
    metrics.exclusiveCount.set(exclusive.size);
    for (const [node, cpus] of policy.topology.numaNodes) {
      const count = exclusive.intersection(cpus).size;
      if (count === 0 && !this.#shownNodes.has(node)) continue;
      this.#shownNodes.add(node);
      metrics.perNuma.set(count, { numa_node: String(node) });
    }
  }
}
