/** Gives containers CPUs of their own and remembers who has which; the decisions are those of the static policy. */
import {
  type AnyContainer,
  type Container,
  CpuSet,
  hasPodLevelResources,
  type Pod,
} from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import {
  type AlignmentMetrics,
  type AllocationOutcome,
  allocated,
  type HintProvider,
  type PodLevelMetrics,
  type ResourceHints,
  type TopologyHint,
} from '../topology-manager/index.js';
import { cpuHints, hintsOfHeld } from './cpu-hints.js';
import { CpuManagerRecorder } from './cpu-manager-recorder.js';
import {
  baselineSize,
  type CpuState,
  emptyCpuState,
  entryKeys,
  entryOf,
  heldByPod,
  withBaseline,
  withoutEntry,
} from './cpu-state.js';
import {
  type CpuCountRules,
  exclusiveCpuCount,
  podCpuCount,
  podLevelCpuCount,
} from './exclusive-requests.js';
import type { CpuManagerMetrics } from './metrics.js';
import { allocatePodCpus, leavesSharedWithoutCpus } from './pod-level-cpus.js';
import type { RunningCpus } from './start-state.js';
import { isOrdinaryInit, startedContainers } from './started-containers.js';
import type { CpuStateFile, StartedCpuState } from './state-file.js';
import {
  allocateCpus,
  availableCpus,
  type CpuRefusal,
  freshCpuState,
  freshDefault,
  type ReusableCpus,
  reusableFor,
  type StaticPolicy,
} from './static-policy.js';

/** The pods whose containers keep their CPUs. */
export interface CpuManagerPods {
  readonly allSourcesReady: () => boolean;
  /** The pod if it is active: configured, and not known to have ended. */
  readonly activePod: (uid: string) => Pod | undefined;
  /** Whether containers of the pod may run. Those of a pod that was deleted by force run on until they are stopped. */
  readonly mayRun: (uid: string) => boolean;
}

export interface CpuManagerOptions {
  /** Absent for policy `none`: no container has CPUs of its own. */
  readonly policy: StaticPolicy | undefined;
  /** The gate PodLevelResourceManagers. */
  readonly podLevel: boolean;
  /** The gate InPlacePodVerticalScalingExclusiveCPUs: a resize takes no CPUs away. Default off. */
  readonly hasBaselines?: boolean;
  readonly file: Pick<CpuStateFile, 'start' | 'write' | 'written' | 'stop'> | undefined;
  readonly pods: CpuManagerPods;
  readonly timeline: Timeline;
  readonly metrics: CpuManagerMetrics;
  readonly alignment: AlignmentMetrics;
  /** Where the gate PodLevelResourceManagers is on. */
  readonly podLevelMetrics: PodLevelMetrics | undefined;
  /** Called after the shared pool has changed. */
  readonly onPoolChanged?: () => void;
}

export class CpuManager implements HintProvider {
  readonly name = 'cpu';
  readonly #options: CpuManagerOptions;
  readonly #recorder: CpuManagerRecorder;
  #state: CpuState = emptyCpuState;
  #reusable: ReusableCpus | undefined;
  /** The pod that was last asked about: it may not be among the active ones yet. */
  #pending: Pod | undefined;
  /** Entries found out from what runs, as `UID/NAME`, until the pod shows what it asks for. */
  #unproven = new Set<string>();

  readonly #counting: CpuCountRules;
  readonly #names = new WeakMap<Pod, ReadonlyMap<string, Container>>();
  /** The entries of each pod that `removeStale` has seen to be of its containers. */
  readonly #checked = new WeakMap<Pod, ReadonlyMap<string, CpuSet> | undefined>();

  constructor(options: CpuManagerOptions) {
    this.#options = options;
    this.#recorder = new CpuManagerRecorder(options);
    const kept = (uid: string, name: string): number | undefined => baselineSize(this.#state, uid, name);
    this.#counting = { podLevel: options.podLevel, kept };
  }

  /** Must be done before any pod is admitted. Tells whether containers are to be set free before `unbound` is called. */
  async start(
    running: () => Promise<readonly RunningCpus[]>,
  ): Promise<Pick<StartedCpuState, 'awaitsUnbinding'>> {
    const { policy, file } = this.#options;
    let awaitsUnbinding = false;
    if (file === undefined) {
      if (policy !== undefined) this.#state = freshCpuState(policy, this.#options.hasBaselines);
    } else {
      const started = await file.start(running);
      this.#state = started.state;
      awaitsUnbinding = started.awaitsUnbinding;
      if (started.isRecovered) this.#unproven = new Set(entryKeys(this.#state));
    }
    this.#recorder.started(this.#state);
    return { awaitsUnbinding };
  }

  /** No container is bound to CPUs any more. */
  unbound(): void {
    this.#options.file?.write(this.#state);
  }

  /** Resolves when everything given out is on disk. Rejects if it cannot be written. */
  async written(): Promise<void> {
    await this.#options.file?.written();
  }

  async stop(): Promise<void> {
    await this.#options.file?.stop();
  }

  /** What may be given to containers, held or not; empty where nothing is given out. */
  get allocatable(): CpuSet {
    const { policy } = this.#options;
    return policy === undefined ? CpuSet.empty : freshDefault(policy).difference(policy.reserved);
  }

  get state(): CpuState {
    return this.#state;
  }

  /** The CPUs that a container may run on: its own, else the shared pool. Empty for all that there are. */
  cpusOf(podUid: string, container: string): CpuSet {
    return entryOf(this.#state, podUid, container) ?? this.#state.defaultCpuSet;
  }

  /** Whether a container, or the pod as a whole, has CPUs that nobody else uses; it needs no quota then. */
  hasExclusiveCpus(pod: Pod, container?: AnyContainer): boolean {
    const isExclusive = (one: AnyContainer): boolean =>
      this.#countOf(pod, one) > 0 && entryOf(this.#state, pod.metadata.uid, one.name) !== undefined;
    if (container !== undefined) return isExclusive(container);
    const all = startedContainers(pod);
    return hasPodLevelResources(pod.spec.resources) ? all.every(isExclusive) : all.some(isExclusive);
  }

  containerHints(pod: Pod, container: AnyContainer): ResourceHints | undefined {
    const { policy } = this.#options;
    const count = this.#countOf(pod, container);
    if (policy === undefined || count === 0) return undefined;
    this.#admitting(pod);
    const { uid } = pod.metadata;
    const known = entryOf(this.#state, uid, container.name);
    if (known !== undefined) return hintsFor(hintsOfHeld(policy, known, count));
    const available = availableCpus(policy, this.#state);
    const reusable = reusableFor(this.#state, this.#reusable, uid);
    return hintsFor(cpuHints(policy, { count, available, reusable }));
  }

  podHints(pod: Pod): ResourceHints | undefined {
    const { policy, podLevel } = this.#options;
    if (policy === undefined) return undefined;
    const isWhole = podLevel && hasPodLevelResources(pod.spec.resources);
    const count = isWhole ? podLevelCpuCount(pod) : podCpuCount(pod, this.#counting);
    if (count === 0) return undefined;
    this.#admitting(pod);
    const { uid } = pod.metadata;
    const available = availableCpus(policy, this.#state);
    if (isWhole) {
      const known = this.#state.podEntries.get(uid);
      if (known !== undefined) return hintsFor(hintsOfHeld(policy, known, count));
      if (leavesSharedWithoutCpus(pod)) return hintsFor([]);
      return hintsFor(cpuHints(policy, { count, available, reusable: CpuSet.empty }));
    }
    for (const container of startedContainers(pod)) {
      const known = entryOf(this.#state, uid, container.name);
      if (known !== undefined && known.size !== this.#countOf(pod, container)) return hintsFor([]);
    }
    const held = heldByPod(this.#state, uid);
    if (held.size === count) return hintsFor(hintsOfHeld(policy, held, count));
    const reusable = reusableFor(this.#state, this.#reusable, uid).union(held);
    return hintsFor(cpuHints(policy, { count, available, reusable }));
  }

  allocate(pod: Pod, container: AnyContainer, hint: TopologyHint): AllocationOutcome {
    const { policy } = this.#options;
    const count = this.#countOf(pod, container);
    if (policy === undefined || count === 0) return allocated;
    this.#admitting(pod);
    const isInit = isOrdinaryInit(pod, container);
    const decision = allocateCpus(policy, this.#state, this.#reusable, {
      podUid: pod.metadata.uid,
      container: container.name,
      count,
      isOrdinaryInit: isInit,
      mask: hint.mask,
      // Apps have CPUs before an init container only if they run, and its entry was lost.
      ...(isInit ? { sharable: this.#heldByApps(pod) } : {}),
    });
    this.#recorder.asked('node', decision.kind);
    if (decision.kind === 'refused') return refusalOf(decision);
    this.#reusable = decision.reusable;
    if (decision.kind === 'kept') return allocated;
    const { uid } = pod.metadata;
    const isChecked = this.#checked.get(pod) === this.#state.entries.get(uid);
    this.#become(decision.state);
    // The new entry is of this container; with those that were checked before, all are.
    if (isChecked) this.#checked.set(pod, this.#state.entries.get(uid));
    this.#recorder.given(pod, container.name, decision.cpus, this.#state);
    return allocated;
  }

  allocatePod(pod: Pod, hint: TopologyHint): AllocationOutcome {
    const { policy } = this.#options;
    if (policy === undefined) return allocated;
    this.#admitting(pod);
    const decision = allocatePodCpus(policy, this.#state, pod, hint.mask);
    if (decision.kind === 'shared') return allocated;
    this.#recorder.asked('pod', decision.kind);
    if (decision.kind === 'refused') return refusalOf(decision);
    if (decision.kind === 'kept') return allocated;
    this.#become(decision.state);
    this.#recorder.given(pod, undefined, decision.cpus, this.#state);
    return allocated;
  }

  /** The pod is admitted and active, or refused: from now on it keeps its CPUs only as an active pod. */
  admissionEnded(podUid: string): void {
    if (this.#pending?.metadata.uid === podUid) this.#pending = undefined;
  }

  /** Gives back the CPUs of containers that no active pod has any more. Nobody knows who is active before the sources are. */
  removeStale(): void {
    const { policy, pods } = this.#options;
    if (policy === undefined || !pods.allSourcesReady()) return;
    for (const [uid, containers] of this.#state.entries) {
      const pod = this.#pending?.metadata.uid === uid ? this.#pending : pods.activePod(uid);
      if (pod === undefined ? pods.mayRun(uid) : this.#isKnownGood(pod, containers)) continue;
      const names = this.#namesOf(pod);
      for (const [name, cpus] of containers) {
        const container = names.get(name);
        if (pod !== undefined && container !== undefined && this.#isProven(pod, container, cpus)) continue;
        this.#become(withoutEntry(this.#state, uid, name));
        this.#recorder.released(pod === undefined ? undefined : podRef(pod), uid, name, cpus, this.#state);
      }
      if (pod !== undefined) this.#checked.set(pod, this.#state.entries.get(uid));
    }
  }

  /** Whether the entries are those that were all found to be the pod's: each container asks for each pod. */
  #isKnownGood(pod: Pod, containers: ReadonlyMap<string, CpuSet>): boolean {
    return this.#checked.get(pod) === containers;
  }

  /** Each container of a pod that is admitted asks for the names of all of them. */
  #namesOf(pod: Pod | undefined): ReadonlyMap<string, Container> {
    if (pod === undefined) return new Map();
    const names = this.#names.get(pod) ?? new Map(startedContainers(pod).map((one) => [one.name, one]));
    this.#names.set(pod, names);
    return names;
  }

  /** CPUs that a container had before its file was lost are its own only if it asks for as many. */
  #isProven(pod: Pod, container: Container, cpus: CpuSet): boolean {
    const { uid } = pod.metadata;
    if (!this.#unproven.delete(`${uid}/${container.name}`) || this.#state.podEntries.has(uid)) return true;
    if (this.#countOf(pod, container) !== cpus.size) return false;
    const next = withBaseline(this.#state, uid, container.name, cpus);
    if (next !== this.#state) this.#options.file?.write(next);
    this.#state = next;
    return true;
  }

  #countOf(pod: Pod, container: AnyContainer): number {
    return exclusiveCpuCount(pod, container, this.#counting);
  }

  #heldByApps({ metadata, spec }: Pod): CpuSet {
    return CpuSet.union(
      spec.containers.map(({ name }) => entryOf(this.#state, metadata.uid, name) ?? CpuSet.empty),
    );
  }

  #admitting(pod: Pod): void {
    this.#pending = pod;
    this.removeStale();
  }

  #become(state: CpuState): void {
    const { file, onPoolChanged } = this.#options;
    this.#state = state;
    file?.write(state);
    onPoolChanged?.();
  }
}

function hintsFor(hints: readonly TopologyHint[]): ResourceHints {
  return new Map([['cpu', hints]]);
}

function refusalOf({ reason, message }: CpuRefusal): AllocationOutcome {
  return { kind: 'refused', message, ...(reason === undefined ? {} : { reason }) };
}
