/** Manages the probe workers of all pods on the node and serves their results. */
import { type Clock, TaskGroup } from '../async/index.js';
import { isSidecar, type Pod, type PodStatus, type ProbeResult } from '../kube/index.js';
import type { Timeline } from '../timeline/index.js';
import { type ProbeKind, type ProbeRun, probeKinds, probeOf, probeSettings } from './contracts.js';
import { createProbeMetrics, ProbeCounts, type ProbeMetrics } from './metrics.js';
import type { ProbeConclusion } from './prober.js';
import { ResultStore } from './results.js';
import { firstDelayMs } from './ticker.js';
import { ProbeWorker } from './worker.js';
import { findContainer, isFinished, type WorkerFacts } from './worker-step.js';

export interface ProbeManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random: () => number;
  /** The reported status of a pod. */
  readonly statusOf: (podUid: string) => PodStatus | undefined;
  readonly probe: (run: ProbeRun, signal: AbortSignal) => Promise<ProbeConclusion | undefined>;
  /** Default: metrics that nobody reads. */
  readonly metrics?: ProbeMetrics;
  /** Whether containers older than the agent keep their reported state until a probe changes it. */
  readonly keepsStatusOverRestart: boolean;
}

export class ProbeManager {
  readonly #options: ProbeManagerOptions;
  readonly #metrics: ProbeMetrics;
  readonly #workers = new Map<string, ProbeWorker>();
  readonly #tasks: TaskGroup;
  readonly #startMs: number;
  /** Wall-clock milliseconds at which probing began. */
  readonly startedAtMs: number;
  readonly results: Readonly<Record<ProbeKind, ResultStore>> = {
    startup: new ResultStore(),
    readiness: new ResultStore(),
    liveness: new ResultStore(),
  };

  constructor(options: ProbeManagerOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createProbeMetrics();
    this.#startMs = options.clock.monotonic();
    this.startedAtMs = options.clock.now();
    this.#tasks = new TaskGroup({
      onError: (task, error) => {
        // Calls cut off by the agent's shutdown fail in many ways, none worth logging.
        if (this.#tasks.signal.aborted) return;
        options.timeline.record({ kind: 'problem', what: 'probe.task', message: `${task} failed`, error });
      },
    });
  }

  get size(): number {
    return this.#workers.size;
  }

  /** Creates the workers of a pod. A container that already has one has all of its workers. */
  add(pod: Pod): void {
    const status = this.#options.statusOf(pod.metadata.uid);
    for (const container of probedContainers(pod)) {
      const ended = status && findContainer(status, container.name)?.state?.terminated;
      for (const kind of probeKinds) {
        const probe = probeOf(container, kind);
        if (probe === undefined) continue;
        const key = keyOf(pod.metadata.uid, container.name, kind);
        // The other workers of this container run, too; those of the next one may have ended with it.
        if (this.#workers.has(key)) break;
        // Its worker has exited; a new one would exit at once.
        if (status !== undefined && isFinished({ pod, container }, ended, status)) continue;
        this.#start(key, {
          kind,
          pod,
          container,
          settings: probeSettings(probe),
          probingSinceMs: this.#options.keepsStatusOverRestart ? this.startedAtMs : undefined,
        });
      }
    }
  }

  /** A terminating pod is not restarted, so only its readiness still matters. Sidecars keep all their probes. */
  stopLivenessAndStartup(pod: Pod): void {
    for (const { name } of pod.spec.containers) {
      this.#stop(pod, name, 'liveness');
      this.#stop(pod, name, 'startup');
    }
  }

  remove(pod: Pod): void {
    for (const { name } of probedContainers(pod)) {
      for (const kind of probeKinds) this.#stop(pod, name, kind);
    }
  }

  /** Stops the workers of all other pods. */
  keepOnly(podUids: ReadonlySet<string>): void {
    for (const worker of [...this.#workers.values()]) {
      if (!podUids.has(worker.podUid)) worker.stop();
    }
  }

  has(kind: ProbeKind, podUid: string, container: string): boolean {
    return this.#workers.has(keyOf(podUid, container, kind));
  }

  /** Probes at once. */
  trigger(kind: ProbeKind, podUid: string, container: string): void {
    this.#workers.get(keyOf(podUid, container, kind))?.trigger();
  }

  result(kind: ProbeKind, containerId: string): ProbeResult | undefined {
    return this.results[kind].get(containerId);
  }

  /** Stops everything at once, including running probes. */
  async stop(): Promise<void> {
    for (const worker of this.#workers.values()) worker.abandon();
    this.#workers.clear();
    await this.#tasks.stop();
  }

  #start(key: string, facts: WorkerFacts): void {
    const { clock, timeline, statusOf, probe, random } = this.#options;
    if (this.#tasks.signal.aborted) return;
    const worker = new ProbeWorker({
      facts,
      clock,
      timeline,
      tasks: this.#tasks,
      results: this.results[facts.kind],
      statusOf,
      probe,
      counts: new ProbeCounts(this.#metrics, facts.kind, facts.pod, facts.container),
      onExit: () => {
        if (this.#workers.get(key) === worker) this.#workers.delete(key);
      },
    });
    this.#workers.set(key, worker);
    worker.start(firstDelayMs(facts.settings.periodMs, clock.monotonic() - this.#startMs, random));
  }

  #stop(pod: Pod, container: string, kind: ProbeKind): void {
    this.#workers.get(keyOf(pod.metadata.uid, container, kind))?.stop();
  }
}

/** Regular containers, then sidecars; other init containers and ephemeral containers are never probed. */
function probedContainers(pod: Pod) {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
}

function keyOf(podUid: string, container: string, kind: ProbeKind): string {
  return `${podUid}/${container}/${kind}`;
}
