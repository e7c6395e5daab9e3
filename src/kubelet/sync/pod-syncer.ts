/** The pod syncer: what one step of a pod's life does, as a transaction that is repeated until it succeeds. */
import {
  type Clock,
  errorText,
  isCancelled,
  sleep,
  TimedOut,
  YieldingSemaphore,
  type YieldingSlot,
} from '../../async/index.js';
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';
import {
  configSeenAnnotation,
  isHostNetwork,
  isTerminalPhase,
  type ObjectStore,
  type Pod,
  type PodStatus,
  parseTimestamp,
} from '../../kube/index.js';
import {
  deadlineExceededMessage,
  deadlineExceededReason,
  hasTrueCondition,
  type ReasonCache,
  readyToStartCondition,
  rejectedStatus,
  type StatusManager,
  withCondition,
} from '../../pods/status/index.js';
import {
  outcomeOfError,
  type PodSyncer,
  type SyncOutcome,
  type SyncRequest,
  type TerminatingRequest,
} from '../../pods/workers/index.js';
import {
  isStranded,
  type PodSyncError,
  type RuntimeManager,
  resizeFailure,
  stubPod,
  syncError,
} from '../../runtime-manager/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { AttachLimitReached } from '../../volumes/index.js';
import type { KubeletMetrics } from '../metrics.js';
import type { MirrorPods, PodCgroups, PodProbes, PodVolumes } from '../ports.js';

/** The reference kubelet leaves such a pod Pending for ever. */
const sandboxLostReason = 'SandboxLost';
const sandboxLostMessage =
  'The sandbox of the pod ended before all of its containers had started, and its restartPolicy is Never.';

const volumesGonePollMs = 100;
/** A resize that takes longer is shown to be under way. */
const slowResizeMs = 100;
/** From its first step to its volumes a pod takes less than this where nothing is slow but the number of pods. */
const preparationPatienceMs = 3_000;

/** What the syncer needs of the runtime manager. */
export type SyncerRuntime = Pick<RuntimeManager, 'syncPod' | 'resizeAlone' | 'killPod' | 'podStatus'>;

/** What pods are given, as far as a sync has to do with it. */
export interface PodAllocation {
  /** Tells how far the resize of a pod has come. True if the runtime is to be told of it now. */
  syncBegins(pod: Pod, observed: ObservedPodStatus): boolean;
  /** What the pod was given could not be made real. */
  resizeFailed(pod: Pod, message: string): void;
  /** Resolves once a restart would find what the pod was given. */
  recorded(uid: string): Promise<void>;
}

export interface KubeletPodSyncerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly runtime: SyncerRuntime;
  readonly statuses: StatusManager;
  readonly generateStatus: (pod: Pod, observed: ObservedPodStatus, podIsTerminal: boolean) => PodStatus;
  readonly reasons: ReasonCache;
  readonly volumes: PodVolumes;
  /** Where the pod's ConfigMaps and Secrets come from, which it may read while it is registered. */
  readonly objects?: ObjectStore;
  readonly networkError: () => string | undefined;
  readonly isTerminationRequested: (uid: string) => boolean;
  readonly makePodDirectories: (uid: string) => Promise<void>;
  /** The pod as the runtime shows it after the given moment. */
  readonly observedSince: (uid: string, afterMs: number) => Promise<ObservedPodStatus>;
  /** Has the containers removed that a pod has no use for any more. */
  readonly removeDeadContainers: (uid: string) => void;
  /** Relists this pod at once instead of with the next full relist. */
  readonly requestRelist: (uid: string) => void;
  /** The same for a pod of which all that was made is known, which costs the runtime less. */
  readonly requestPodRelist: (uid: string) => void;
  /** Syncs the pod again without waiting for anything. */
  readonly syncAgain: (uid: string) => void;
  /** Whether the agent is being stopped, so that what fails now has only been cut off. */
  readonly isStopping: () => boolean;
  /** Pods that come into being at the same time; the others keep from them what they need. */
  readonly preparationsAtOnce: number;
  readonly metrics: Pick<KubeletMetrics, 'workerStart' | 'podStart' | 'rejections'>;
  readonly cgroups?: PodCgroups;
  /** Gives back the user ids of a pod that has ended. */
  readonly releaseUserNamespace?: ((uid: string) => Promise<void>) | undefined;
  /** Gives back what was prepared for a pod whose containers have stopped; rejects if it has to be tried again. */
  readonly unprepareResources?: ((pod: Pod, signal: AbortSignal) => Promise<void>) | undefined;
  readonly mirrors?: MirrorPods;
  readonly probes?: PodProbes;
  /** Absent: pods have what they ask for. */
  readonly allocation?: PodAllocation;
}

export class KubeletPodSyncer implements PodSyncer {
  readonly #options: KubeletPodSyncerOptions;
  readonly #preparations: YieldingSemaphore;

  constructor(options: KubeletPodSyncerOptions) {
    this.#options = options;
    this.#preparations = new YieldingSemaphore({
      clock: options.clock,
      width: options.preparationsAtOnce,
      patienceMs: preparationPatienceMs,
    });
  }

  async syncPod(request: SyncRequest): Promise<SyncOutcome> {
    const { type, pod, status: observed, signal } = request;
    const { statuses, networkError } = this.#options;
    const uid = pod.metadata.uid;
    if (type === 'create') this.#measureSinceSeen(pod, 'workerStart');
    const isResized = this.#options.allocation?.syncBegins(pod, observed) === true;
    if (isResized && type !== 'create') {
      const outcome = await this.#resizeAlone(request);
      if (outcome !== undefined) return outcome;
    }

    const status = this.#options.generateStatus(pod, observed, false);
    if (status.reason === deadlineExceededReason && statuses.get(uid)?.reason !== deadlineExceededReason) {
      this.#options.timeline.event(podRef(pod), 'Normal', deadlineExceededReason, deadlineExceededMessage);
    }
    if (isTerminalPhase(status.phase)) {
      statuses.set(pod, status);
      return { kind: 'done', terminal: true };
    }
    const restartingAllContainers = hasTrueCondition(status.conditions, 'AllContainersRestarting');
    if (isStranded({ pod, status: observed, restartingAllContainers })) {
      // A container that was still to start has no end of its own, so the phase does not follow from those of all.
      statuses.set(pod, {
        ...status,
        phase: 'Failed',
        reason: sandboxLostReason,
        message: sandboxLostMessage,
      });
      this.#options.timeline.event(podRef(pod), 'Warning', sandboxLostReason, sandboxLostMessage);
      return { kind: 'done', terminal: true };
    }
    const before = statuses.get(uid);
    if (before === undefined || (before.phase === 'Pending' && status.phase === 'Running')) {
      this.#measureSinceSeen(pod, 'podStart');
    }
    statuses.set(pod, status);

    const noNetwork = networkError();
    if (noNetwork !== undefined && !isHostNetwork(pod)) {
      const error = new Error(`network is not ready: ${noNetwork}`);
      this.#warn(pod, 'NetworkNotReady', error.message);
      return { kind: 'retry', reason: 'networkNotReady', error };
    }
    if (observed.sandboxes.length > 0) return this.#bringUp(request, status);
    return this.#preparations.run((turn) => this.#bringUp(request, status, turn), { signal });
  }

  /**
   * Whoever resizes a pod waits for that alone, so it comes before all else; the sync after it tells what became of it. Undefined
   * where there is more to do, or the resize failed: then the whole pod is synced.
   */
  async #resizeAlone({ pod, status: observed, signal }: SyncRequest): Promise<SyncOutcome | undefined> {
    const { clock, runtime, statuses, generateStatus, reasons, requestPodRelist } = this.#options;
    const { uid } = pod.metadata;
    if (hasTrueCondition(statuses.get(uid)?.conditions, 'AllContainersRestarting')) return undefined;
    const resizing = runtime.resizeAlone(pod, observed, signal);
    if (resizing === undefined) return undefined;
    const tellsProgress = clock.setTimer(slowResizeMs, () =>
      statuses.set(pod, generateStatus(pod, observed, false)),
    );
    try {
      const result = await resizing;
      if (signal.aborted) return { kind: 'cancelled' };
      if (syncError(result) !== undefined) return undefined;
      reasons.update(uid, result.steps);
      return { kind: 'done', terminal: false, after: () => requestPodRelist(uid) };
    } finally {
      tellsProgress.cancel();
    }
  }

  /** Makes what the pod needs on the machine, and has its containers run. */
  async #bringUp(
    { pod, mirror, status: observed, signal }: SyncRequest,
    status: PodStatus,
    turn?: YieldingSlot,
  ): Promise<SyncOutcome> {
    const { runtime, probes, mirrors, requestRelist, requestPodRelist, syncAgain, reasons } = this.#options;
    const uid = pod.metadata.uid;
    let isKilled = false;
    if (!this.#options.isTerminationRequested(uid)) {
      this.#options.objects?.registerPod(pod);
      isKilled = await this.#ensureCgroup(pod, observed, status);
    }
    await mirrors?.reconcile(pod, mirror);
    await this.#options.makePodDirectories(uid).catch((error: unknown) => {
      this.#warn(pod, 'Failed', `error making pod data directories: ${errorText(error)}`);
      throw error;
    });
    const refusal = await this.#mountVolumes(pod, signal);
    if (refusal !== undefined) return this.#reject(pod, refusal);
    // What it waits for now is its turn to start; there is no use in preparing more pods meanwhile.
    turn?.stay();
    probes?.add(pod);

    // After a crash, what runs must be known to have been admitted.
    await this.#options.allocation?.recorded(uid).catch((error: unknown) => {
      this.#warn(pod, 'Failed', errorText(error));
      throw error;
    });
    const withIps = status.podIPs === undefined ? observed : withPodIps(observed, status);
    const result = await runtime.syncPod(pod, withIps, {
      restartingAllContainers: hasTrueCondition(status.conditions, 'AllContainersRestarting'),
      onSandboxTurn: () => turn?.passOn(),
      onSandboxReady: () => this.#markReadyToStart(pod),
      signal,
    });
    reasons.update(uid, result.steps);
    const unresized = resizeFailure(result);
    if (unresized !== undefined) this.#options.allocation?.resizeFailed(pod, unresized);
    const failure = syncError(result);
    if (failure !== undefined) {
      if (result.steps.length > 0) requestRelist(uid);
      if (signal.aborted) return { kind: 'cancelled' };
      await this.#reportFailedSync(pod, result.sandboxCreated ? undefined : observed);
      return { kind: 'retry', ...failure.retry, error: failure };
    }
    if (result.resyncAtOnce) syncAgain(uid);
    if (result.steps.length === 0) {
      const isUnchanged = !isKilled && result.removedInstances !== true;
      return { kind: 'done', terminal: false, isUnchanged };
    }
    // A sync that something got in the way of may have left what nobody knows of.
    const after = (): void => (result.resyncAtOnce ? requestRelist : requestPodRelist)(uid);
    return { kind: 'done', terminal: false, after };
  }

  /** The waiting reasons are known now; users should not have to wait for the next sync to see them. */
  async #reportFailedSync(pod: Pod, observed: ObservedPodStatus | undefined): Promise<void> {
    const { runtime, statuses, generateStatus, timeline } = this.#options;
    const { uid, name, namespace } = pod.metadata;
    try {
      // A sandbox that was made since the last observation belongs into the report.
      const current = observed ?? (await runtime.podStatus(uid, name, namespace));
      statuses.set(pod, generateStatus(pod, current, false));
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'status.read',
        message: 'the pod could not be relisted after its sync failed; the next relist reports it',
        level: 'debug',
        pod: podRef(pod),
        error,
      });
    }
  }

  async syncTerminatingPod({
    pod,
    status,
    graceSeconds,
    statusOverride,
    signal,
  }: TerminatingRequest): Promise<SyncOutcome> {
    const { clock, statuses, observedSince, generateStatus, probes } = this.#options;
    const { uid } = pod.metadata;
    const reported = generateStatus(pod, status, false);
    statusOverride?.(reported);
    statuses.set(pod, reported);
    probes?.stopLivenessAndStartup(pod);
    const failure = await this.#kill(pod, status, graceSeconds, signal);
    if (failure !== undefined) {
      const error = new Error(`error killing terminating pod: ${failure.message}`, { cause: failure });
      return { kind: 'retry', ...failure.retry, error };
    }
    probes?.remove(pod);

    const settledAtMs = clock.monotonic();
    let after: ObservedPodStatus;
    try {
      after = await observedSince(uid, settledAtMs);
    } catch (cause) {
      if (isCancelled(cause)) throw cause;
      const message = `unable to read pod status prior to final pod termination: ${errorText(cause)}`;
      return { ...outcomeOfError(cause), error: new Error(message, { cause }) };
    }
    const running = after.containers.filter((container) => container.state === 'running');
    if (running.length > 0) {
      const ids = running.map(({ id }) => id).join(' ');
      throw new Error(`detected running containers after a successful KillPod, CRI violation: [${ids}]`);
    }
    await this.#options.unprepareResources?.(pod, signal);
    // Addresses are gone with the sandbox but belong to the pod's last report.
    statuses.set(
      pod,
      generateStatus(pod, { ...after, ips: after.ips.length > 0 ? after.ips : status.ips }, true),
    );
    return { kind: 'done', terminal: false, settledAtMs };
  }

  async syncTerminatingRuntimePod(runtimePod: ObservedPod): Promise<SyncOutcome> {
    const { runtime, timeline, requestRelist, isStopping } = this.#options;
    const { uid, name, namespace } = runtimePod;
    const result = await runtime.killPod(stubPod(runtimePod), runtimePod, 1);
    const failure = syncError(result);
    requestRelist(uid);
    if (failure === undefined) return { kind: 'done', terminal: false };
    if (!isStopping()) {
      timeline.event(
        { uid, name, namespace },
        'Warning',
        'FailedKillPod',
        `error killing pod: ${failure.message}`,
      );
    }
    return { kind: 'retry', ...failure.retry, error: failure };
  }

  async syncTerminatedPod({
    pod,
    status,
    signal,
  }: {
    pod: Pod;
    status: ObservedPodStatus;
    signal: AbortSignal;
  }): Promise<SyncOutcome> {
    const { statuses, generateStatus, volumes, objects, cgroups, clock } = this.#options;
    const uid = pod.metadata.uid;
    statuses.set(pod, generateStatus(pod, status, true));
    await volumes.waitForUnmounts(pod, signal);
    while (volumes.exist(uid)) await sleep(clock, volumesGonePollMs, signal);
    objects?.unregisterPod(pod);
    await cgroups?.destroy(pod);
    await this.#options.releaseUserNamespace?.(uid);
    // They were seen to have died before the pod was known to have ended, when they could still be needed.
    this.#options.removeDeadContainers(uid);
    statuses.terminate(pod);
    return { kind: 'done', terminal: false };
  }

  /** Undefined when nothing of the pod runs any more. */
  async #kill(
    pod: Pod,
    observed: ObservedPodStatus,
    graceSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<PodSyncError | undefined> {
    const failure = syncError(await this.#options.runtime.killPod(pod, observed, graceSeconds, { signal }));
    if (failure !== undefined && !this.#options.isStopping()) {
      this.#warn(pod, 'FailedKillPod', `error killing pod: ${failure.message}`);
    }
    return failure;
  }

  /**
   * Makes sure that the pod has its cgroup. A pod that ran without one is killed first, as nothing bounded it. Resolves with
   * whether that was tried.
   */
  async #ensureCgroup(pod: Pod, observed: ObservedPodStatus, status: PodStatus): Promise<boolean> {
    const { cgroups, runtime, timeline } = this.#options;
    if (cgroups === undefined || (await cgroups.exists(pod))) return false;
    const running = status.containerStatuses?.some(({ state }) => state?.running !== undefined) ?? false;
    if (running) {
      const failure = syncError(await runtime.killPod(pod, observed));
      if (failure !== undefined) {
        timeline.record({
          kind: 'problem',
          what: 'pod.kill',
          message: 'a pod whose cgroup is gone could not be killed',
          pod: podRef(pod),
          error: failure,
        });
      } else if (runsOnce(pod)) return true;
    }
    await cgroups.ensure(pod).catch((error: unknown) => {
      const message = `unable to ensure pod container exists: ${errorText(error)}`;
      this.#warn(pod, 'FailedCreatePodContainer', message);
      throw new Error(message, { cause: error });
    });
    return running;
  }

  /** Resolves with why the pod can never have its volumes here, if so. */
  async #mountVolumes(pod: Pod, signal: AbortSignal): Promise<AttachLimitReached | undefined> {
    try {
      await this.#options.volumes.waitForMounts(pod, signal);
      return undefined;
    } catch (error) {
      if (error instanceof AttachLimitReached) return error;
      // Who was cut off says nothing here; the volumes themselves tell why they took too long.
      if (!isCancelled(error) && !isTimeout(error)) {
        this.#warn(pod, 'FailedMount', `Unable to attach or mount volumes: ${errorText(error)}`);
      }
      throw error;
    }
  }

  /** The pod has failed; nothing of it has run. */
  #reject(pod: Pod, { message }: AttachLimitReached): SyncOutcome {
    const reason = 'VolumeAttachmentLimitExceeded';
    this.#warn(pod, reason, message);
    this.#options.statuses.set(pod, rejectedStatus(pod, reason, message));
    this.#options.metrics.rejections.inc({ reason });
    return { kind: 'done', terminal: true };
  }

  /** The sandbox stands: containers may be started, even if their images still have to be pulled. */
  #markReadyToStart(pod: Pod): void {
    const { statuses } = this.#options;
    const current = statuses.get(pod.metadata.uid);
    if (current === undefined) return;
    const conditions = withCondition(current.conditions, readyToStartCondition(pod));
    statuses.set(pod, { ...current, conditions });
  }

  #measureSinceSeen(pod: Pod, what: 'workerStart' | 'podStart'): void {
    const seen = parseTimestamp(pod.metadata.annotations?.[configSeenAnnotation] ?? '');
    if (seen === undefined) return;
    const { metrics, clock } = this.#options;
    metrics[what].observe((clock.now() - seen) / 1000);
  }

  #warn(pod: Pod, reason: string, message: string): void {
    this.#options.timeline.event(podRef(pod), 'Warning', reason, message);
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof TimedOut || (error instanceof Error && error.cause instanceof TimedOut);
}

/** Whether none of the pod's containers is ever started a second time. */
function runsOnce(pod: Pod): boolean {
  return (
    pod.spec.restartPolicy === 'Never' &&
    !pod.spec.containers.some(({ restartPolicy }) => restartPolicy !== undefined)
  );
}

function withPodIps(observed: ObservedPodStatus, status: PodStatus): ObservedPodStatus {
  return { ...observed, ips: status.podIPs?.map(({ ip }) => ip ?? '') ?? observed.ips };
}
