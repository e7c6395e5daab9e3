/** The runtime manager: observes, plans and syncs one pod on one CRI runtime. */

import { type Backoff, type Clock, TaskGroup, YieldingSemaphore } from '../async/index.js';
import {
  type CriRuntime,
  newestContainer,
  type ObservedContainerStatus,
  type ObservedPod,
  type ObservedPodStatus,
} from '../cri/index.js';
import type { Pod } from '../kube/index.js';
import { podRef, type Timeline } from '../timeline/index.js';
import { applyPlan, type RuntimeSyncRequest, type SyncPorts } from './apply.js';
import type {
  ContainerRemover,
  ImageEnsurer,
  InternalLifecycle,
  LifecycleHooks,
  OrphanKill,
  PodCgroupResizing,
  PodConfigs,
  PodStates,
  PrepareResources,
  ProbeVerdicts,
  Reinspect,
  SyncStepResult,
  VolumeResizing,
} from './contracts.js';
import { faultOfContainer } from './fault-entry.js';
import { InterruptedKills } from './kill/interrupted-kills.js';
import { killContainer } from './kill/kill-container.js';
import { killPod } from './kill/kill-pod.js';
import { endsAtOnce, TerminationLimiter } from './kill/termination-limiter.js';
import { createRuntimeMetrics, type RuntimeMetrics } from './metrics.js';
import { listPod, listPods, type ObservePorts, podStatus, readPod } from './observe/observe.js';
import { type RuntimeVersion, readVersion } from './observe/version.js';
import { planPod } from './plan/plan.js';
import { planEntry } from './plan/plan-data.js';
import { hasActions, isResizeAlone, type PodPlan } from './plan/pod-plan.js';
import type { PodReader } from './pleg/index.js';
import { type ActuatedResources, isResizeInProgress } from './resize/index.js';
import { LeftCgroups } from './resize/left-cgroups.js';
import { ResizeRetries } from './resize/resize-retries.js';
import { type LogFiles, machineLogFiles } from './start/log-files.js';
import { RecentlyCreated } from './start/recently-created.js';
import { ReservedNames } from './start/reserved-names.js';
import { StartOrder } from './start/start-order.js';
import type { PodSyncResult } from './sync-result.js';

export interface RuntimeManagerOptions {
  readonly cri: CriRuntime;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly images: ImageEnsurer;
  readonly configs: PodConfigs;
  readonly podStates: PodStates;
  readonly remover: ContainerRemover;
  /** Sandboxes and containers started in parallel, those of earlier pods first. */
  readonly startsAtOnce: number;
  readonly crashLoop: Backoff;
  /** The directory of pod logs, with one directory per pod; empty when pods have no log files. */
  readonly podLogsDir: string;
  /** The flat directory of links to container logs; absent: no links are made. */
  readonly containerLogsDir?: string;
  /** Default: the logs of this machine. */
  readonly logFiles?: LogFiles;
  /** Absent: hooks are not run, and each skipped hook is recorded as a problem. */
  readonly hooks?: LifecycleHooks;
  /** Absent: nothing is probed, and no container waits for a probe. */
  readonly probes?: ProbeVerdicts;
  readonly internals?: InternalLifecycle;
  /** Absent: metrics that nobody reads. */
  readonly metrics?: RuntimeMetrics;
  /** The resources last applied to containers; absent: no in-place resize. */
  readonly actuated?: ActuatedResources;
  /** Reinspects a pod although its state is unchanged; called after every resize. */
  readonly reinspect?: Reinspect;
  readonly podCgroups?: PodCgroupResizing;
  /** Absent: no volume is resized. */
  readonly resizeVolume?: VolumeResizing | undefined;
  /** Absent: no pod has resources that are prepared before its sandbox. */
  readonly prepareResources?: PrepareResources | undefined;
  /** The handler of a pod's runtime class; absent: always the runtime's default. */
  readonly runtimeHandler?: (pod: Pod) => Promise<string>;
  /** An exited container's termination message; empty for none. */
  readonly terminationMessage?: (status: ObservedContainerStatus) => Promise<string>;
  /** Whether the kernel killed a process of a container for want of memory; absent: the runtime's word counts. */
  readonly wasOomKilled?: (containerId: string) => Promise<boolean>;
}

export interface SyncPodOptions {
  /** Whether the pod's condition `AllContainersRestarting` is True. */
  readonly restartingAllContainers: boolean;
  readonly onSandboxTurn?: RuntimeSyncRequest['onSandboxTurn'];
  readonly onSandboxReady?: RuntimeSyncRequest['onSandboxReady'];
  readonly signal?: AbortSignal;
}

export interface KillPodOptions {
  /** Why the pod is killed, for the timeline. */
  readonly because?: string;
  /** Cancels the waits of the kill; default: the manager's own stop. */
  readonly signal?: AbortSignal;
}

const versionLifeMs = 60_000;
/**
 * A slower start waits for something other than the machine, such as a hung network, and gives up its slot.
 */
const startPatienceMs = 5_000;

const nobodyProbes: ProbeVerdicts = { liveness: () => 'success', startup: () => 'success' };

export class RuntimeManager {
  readonly #ports: SyncPorts & ObservePorts;
  readonly #probes: ProbeVerdicts;
  /** For relists that need no list. */
  readonly byId: PodReader;
  #version: { readonly value: RuntimeVersion; readonly readAtMs: number } | undefined;

  readonly #leftCgroups: LeftCgroups;

  /** The pods being killed. A pod has one worker, which kills it once at a time. */
  readonly #ending = new Set<string>();

  constructor(options: RuntimeManagerOptions) {
    const { timeline, clock, startsAtOnce } = options;
    this.#probes = options.probes ?? nobodyProbes;
    this.#ports = {
      cri: options.cri,
      clock,
      timeline,
      images: options.images,
      configs: options.configs,
      podStates: options.podStates,
      remover: options.remover,
      gate: new YieldingSemaphore({ clock, width: startsAtOnce, patienceMs: startPatienceMs }),
      ends: new TerminationLimiter({ clock, width: endsAtOnce(startsAtOnce) }),
      interrupted: new InterruptedKills(),
      crashLoop: options.crashLoop,
      podLogsDir: options.podLogsDir,
      containerLogsDir: options.containerLogsDir,
      logFiles: options.logFiles ?? machineLogFiles(),
      hooks: options.hooks,
      internals: options.internals,
      metrics: options.metrics ?? createRuntimeMetrics(),
      actuated: options.actuated,
      reinspect: options.reinspect,
      podCgroups: options.podCgroups,
      resizeVolume: options.resizeVolume,
      prepareResources: options.prepareResources,
      resizeRetries: new ResizeRetries(),
      sandboxUpdates: { isIgnored: false },
      runtimeHandler: options.runtimeHandler ?? (() => Promise.resolve('')),
      terminationMessage: options.terminationMessage,
      wasOomKilled: options.wasOomKilled,
      onFault: faultOfContainer(timeline),
      tickets: new StartOrder(),
      creations: new RecentlyCreated(),
      names: new ReservedNames({ clock, timeline }),
      background: new TaskGroup({
        onError: (task, error) =>
          timeline.record({ kind: 'problem', what: 'runtime.task', message: `${task} failed`, error }),
      }),
    };
    this.#leftCgroups = new LeftCgroups(this.#ports);
    const { creations } = this.#ports;
    this.byId = {
      unseen: (podUid) => creations.unseen(podUid),
      seen: (podUid, parts) => creations.seen(podUid, parts),
      read: (podUid, parts, signal) =>
        readPod(this.#ports, podUid, parts, signal, (id) =>
          creations.takeReading(podUid, id, this.#ports.clock.monotonic()),
        ),
    };
  }

  /** The runtime's version; asked at most once a minute. */
  async version(): Promise<RuntimeVersion> {
    const nowMs = this.#ports.clock.monotonic();
    if (this.#version !== undefined && nowMs - this.#version.readAtMs < versionLifeMs) {
      return this.#version.value;
    }
    const value = await readVersion(this.#ports.cri);
    this.#version = { value, readAtMs: nowMs };
    return value;
  }

  /** Whether pods are being started or stopped. */
  get isBusy(): boolean {
    return this.isStarting || this.#ending.size > 0;
  }

  /** Whether pods are queued to start or stop. */
  get podsWait(): boolean {
    return this.#ports.gate.waiting > 0 || (this.#ports.ends?.waiting ?? 0) > 0;
  }

  /** Whether a pod holds a slot to start or stop. */
  get podsMove(): boolean {
    return this.isStarting || (this.#ports.ends?.inside ?? 0) > 0;
  }

  /** Whether a sandbox or a container is being started. */
  get isStarting(): boolean {
    return this.#ports.gate.inside > 0;
  }

  listPods(options: { readonly runningOnly: boolean } = { runningOnly: false }): Promise<ObservedPod[]> {
    return listPods(this.#ports, options);
  }

  listPod(uid: string): Promise<ObservedPod | undefined> {
    return listPod(this.#ports, uid);
  }

  /** With a recent list of the pod, it is not listed again. */
  podStatus(uid: string, name: string, namespace: string, listed?: ObservedPod): Promise<ObservedPodStatus> {
    return podStatus(this.#ports, uid, name, namespace, listed);
  }

  /** What a sync of the pod would do. */
  plan(pod: Pod, status: ObservedPodStatus, restartingAllContainers: boolean): PodPlan {
    const { actuated, clock, crashLoop, resizeRetries } = this.#ports;
    actuated?.podGoesOn(pod, status);
    this.#leftCgroups.compare(pod, status);
    return planPod({
      pod,
      status,
      nowMs: clock.now(),
      backOff: crashLoop,
      probes: this.#probes,
      restartingAllContainers,
      actuated: actuated && {
        container: (uid, name) => actuated.container(uid, name),
        pod: (uid) => actuated.pod(uid),
        volumeLimit: (uid, name) => actuated.volumeLimit(uid, name),
        hasFailed: (of) => resizeRetries.hasFailed(of),
      },
    });
  }

  /** Whether something of the pod that runs has yet to get what the pod is allocated. */
  isResizeInProgress(pod: Pod, status: ObservedPodStatus): boolean {
    const { actuated, resizeRetries } = this.#ports;
    if (actuated === undefined) return false;
    actuated.podGoesOn(pod, status);
    this.#leftCgroups.compare(pod, status);
    const isRunning = (name: string): boolean => newestContainer(status, name)?.state === 'running';
    return resizeRetries.hasFailed(pod) || isResizeInProgress({ pod, isRunning, actuated });
  }

  /** Brings the pod one step closer to its desired state; `syncError` tells whether something failed. */
  async syncPod(pod: Pod, status: ObservedPodStatus, options: SyncPodOptions): Promise<PodSyncResult> {
    const plan = this.plan(pod, status, options.restartingAllContainers);
    if (hasActions(plan)) this.#recordPlan(pod, plan);
    const { onSandboxTurn, onSandboxReady, signal } = options;
    return applyPlan(this.#ports, { pod, status, plan, onSandboxTurn, onSandboxReady, signal });
  }

  /**
   * Resizes a pod of which nothing else is to be done; undefined if that is not so. It needs nothing of what a pod must
   * have before its containers start, so it need not wait for that.
   */
  resizeAlone(pod: Pod, status: ObservedPodStatus, signal: AbortSignal): Promise<PodSyncResult> | undefined {
    const plan = this.plan(pod, status, false);
    if (!isResizeAlone(plan)) return undefined;
    this.#recordPlan(pod, plan);
    return applyPlan(this.#ports, { pod, status, plan, signal });
  }

  /**
   * Kills all running containers and stops all sandboxes. Without the pod's object, hooks and grace periods
   * are read back from the containers. The override replaces every other grace period.
   */
  async killPod(
    pod: Pod | undefined,
    observed: ObservedPodStatus | ObservedPod,
    graceOverrideSeconds?: number,
    { because = 'the pod ends', signal = this.#ports.background.signal }: KillPodOptions = {},
  ): Promise<{ readonly steps: readonly SyncStepResult[] }> {
    const { uid } = observed;
    this.#ending.add(uid);
    try {
      const steps = await killPod(this.#ports, { pod, observed, graceOverrideSeconds, because, signal });
      this.#ports.tickets.forget(uid);
      this.#ports.creations.forget(uid);
      this.#ports.names.forget(uid);
      this.#ports.resizeRetries.forget(uid);
      this.#leftCgroups.forget(uid);
      this.#ports.interrupted?.forget(observed.containers.map(({ id }) => id));
      return { steps };
    } finally {
      this.#ending.delete(uid);
    }
  }

  /** Whether the whole pod is being killed. */
  isEnding(podUid: string): boolean {
    return this.#ending.has(podUid);
  }

  /**
   * Kills one container whose pod object is unknown: its hook and grace period are read back from the
   * container. Rejects when the runtime could not stop it.
   */
  async killOrphan(container: OrphanKill): Promise<void> {
    const { signal } = this.#ports.background;
    await killContainer(this.#ports, { ...container, pod: undefined, reason: 'Unknown', signal });
  }

  /** Forgets expired back-offs; for housekeeping. */
  collectBackoff(): void {
    this.#ports.crashLoop.collect(this.#ports.clock.now());
  }

  /** Cancels running kills with their preStop hooks, and waits for the hooks to end. */
  async stop(): Promise<void> {
    await this.#ports.background.stop();
  }

  #recordPlan(pod: Pod, plan: PodPlan): void {
    this.#ports.timeline.record({
      kind: 'decision',
      what: 'pod.plan',
      ...planEntry(plan),
      pod: podRef(pod),
    });
  }
}
