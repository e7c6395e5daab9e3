/** The composition root: builds every part of a kubelet and hands each only what it needs. */
import { release } from 'node:os';
import { asError, Channel, TaskGroup, WorkQueue } from '../async/index.js';
import type { ObservedPod, ObservedPodStatus } from '../cri/index.js';
import type { Pod, PodStatus } from '../kube/index.js';
import type { Registry } from '../metrics/index.js';
import {
  generatePodStatus,
  isPastActiveDeadline,
  PodConfig,
  PodManager,
  PodWorkers,
  ReasonCache,
  StatusManager,
} from '../pods/index.js';
import { cleanPodDirectories, containerRemover, makePodDirectories } from '../runtime/gc/index.js';
import { criEvents, Pleg, type PodLifecycleEvent } from '../runtime/pleg/index.js';
import type { Timeline } from '../timeline/index.js';
import { operatingSystem, podLimit, rejectionLabel } from './admission.js';
import { createCollectors } from './collectors.js';
import { readContext } from './context.js';
import { freeHostPorts } from './host-ports.js';
import { Housekeeping } from './housekeeping.js';
import { containerTypes, plegObserver } from './observers.js';
import type { KubeletOptions } from './options.js';
import { PodHandlers } from './pod-handlers.js';
import { createSources, sourceNames } from './pod-sources.js';
import { KubeletPodSyncer } from './pod-syncer.js';
import { RuntimeCheck } from './runtime-check.js';
import { createRuntimeManager } from './runtime-parts.js';
import { prepareMachine } from './start-up.js';
import { SyncLoop } from './sync-loop.js';
import { allowedSysctls } from './sysctls.js';

export interface Kubelet {
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  /** Starts everything. Never rejects: it resolves only if a part that the agent cannot do without fails, with its error. */
  start(): Promise<Error>;
  /** Stops everything; containers keep running. */
  stop(): Promise<void>;
  /** The configured pods with their current statuses. */
  pods(): Pod[];
  status(uid: string): PodStatus | undefined;
  /** Calls back with each change of a pod's status; returns how to stop that. */
  onStatus(listener: (change: { readonly uid: string; readonly status: PodStatus }) => void): () => void;
  runningPods(): Promise<readonly ObservedPod[]>;
  metricsText(): string;
  /** Why no pod is synced now; empty when all is well. */
  blockers(): readonly string[];
  readonly healthChecks: readonly { readonly name: string; check(): string | undefined }[];
}

export async function createKubelet(options: KubeletOptions): Promise<Kubelet> {
  const context = await readContext(options);
  const { nodeName, rootDir, config, clock, timeline, registry, metrics, cri, volumes, random } = context;
  const { cgroups, mirrors, probes } = options;
  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'kubelet.task', message: `${task} failed`, error }),
  });

  // Who is here: desired pods, their statuses, and what is remembered of failed starts.
  const pods = new PodManager();
  const podConfig = new PodConfig({ clock, timeline, sources: sourceNames(context) });
  const reasons = new ReasonCache();
  const statuses = new StatusManager({
    clock,
    timeline,
    podOf: (uid) => pods.byUid(uid),
    mirrorOf: (pod) => pods.mirrorOf(pod),
    translateUid: (uid) => pods.translateUid(uid),
    onTermination: ({ kind, exitCode, reason }) =>
      metrics.terminatedContainers.inc({
        container_type: containerTypes[kind],
        exit_code: String(exitCode),
        reason,
      }),
  });
  registry.onCollect(() => {
    const counts = pods.list().map(({ spec }) => spec.ephemeralContainers?.length ?? 0);
    metrics.ephemeralContainers.set(counts.reduce((sum, count) => sum + count, 0));
  });

  // What runs and what is seen of it: the runtime manager, the PLEG, and statuses generated from it.
  const podStates = {
    isTerminationRequested: (uid: string) => workers.is('isTerminationRequested', uid),
    shouldContentBeRemoved: (uid: string) => workers.is('shouldContentBeRemoved', uid),
    shouldRuntimeBeRemoved: (uid: string) => workers.is('shouldRuntimeBeRemoved', uid),
  };
  const remover = containerRemover({ cri, timeline, containerLogsDir: context.containerLogsDir });
  const runtime = createRuntimeManager(context, podStates, remover);
  const collectors = createCollectors(context, {
    podStates,
    remover,
    runtime,
    allSourcesReady: () => podConfig.allSourcesReady,
  });
  let runtimeName = 'unknown';
  const pleg = new Pleg({
    clock,
    timeline,
    runtime,
    observer: plegObserver(metrics),
    eventSources: (options.eventSources ?? [criEvents]).map((source) => () => source(cri)),
    onEventsChanged: () => tasks.start('a check of the runtime', () => check.checkOnce()),
  });
  const check = new RuntimeCheck({
    runtime: cri,
    clock,
    timeline,
    healthChecks: [{ name: 'PLEG', check: () => pleg.health() }],
    onFirstReady: async () => {
      runtimeName = (await runtime.version()).runtimeName;
      tasks.start('log rotation', (signal) => collectors.rotator.run(signal));
    },
  });
  const generateStatus = (pod: Pod, observed: ObservedPodStatus, podIsTerminal: boolean): PodStatus => {
    const uid = pod.metadata.uid ?? '';
    return generatePodStatus({
      pod,
      observed,
      cached: statuses.get(uid),
      podIsTerminal,
      nowMs: clock.now(),
      runtimeName,
      startFailure: (container) => reasons.get(uid, container),
      nodeIps: options.nodeIps,
    });
  };

  // What drives: the work queue, one worker per pod, the handlers, the loop.
  const due = new Channel<void>(1);
  const queue = new WorkQueue<string>(clock, () => void due.trySend());
  const syncer = new KubeletPodSyncer({
    clock,
    timeline,
    runtime,
    statuses,
    generateStatus,
    reasons,
    volumes,
    networkError: () => check.networkError,
    isTerminationRequested: podStates.isTerminationRequested,
    makePodDirectories: async (uid) => {
      if (context.podDirectories) await makePodDirectories(rootDir, uid);
    },
    requestRelist: (uid) => pleg.requestRelist(uid),
    syncAgain: (uid) => handlers.syncs([uid]),
    isStopping: () => context.stopping.signal.aborted,
    observer: metrics.syncer,
    ...(cgroups === undefined ? {} : { cgroups }),
    ...(mirrors === undefined ? {} : { mirrors }),
    ...(probes === undefined ? {} : { probes }),
  });
  const workers: PodWorkers = new PodWorkers({
    clock,
    timeline,
    syncer,
    queue,
    resyncMs: config.syncFrequency,
    random,
    observer: metrics.workers,
    statuses: {
      peek: (uid) => pleg.cache.peek(uid),
      newerThan: (uid, afterMs, signal) => pleg.statusNewerThan(uid, afterMs, signal),
    },
  });
  const removeDeadContainers = (uid: string, diedId: string | undefined, all = false): void => {
    const known = pleg.cache.peek(uid);
    if ('status' in known) collectors.garbage.removeDead(known.status, diedId, all);
  };
  const handlers: PodHandlers = new PodHandlers({
    clock,
    timeline,
    pods,
    workers,
    config: podConfig,
    statuses,
    admission: options.admission ?? [
      allowedSysctls(config.allowedUnsafeSysctls, release()),
      operatingSystem,
      podLimit(config.maxPods),
      freeHostPorts,
    ],
    onRejected: (reason) => metrics.rejections.inc({ reason: rejectionLabel(reason) }),
    removeAllDeadContainers: (uid) => removeDeadContainers(uid, undefined, true),
  });
  const housekeeping = new Housekeeping({
    timeline,
    pods,
    workers,
    statuses,
    observedPods: () => pleg.observedPods(),
    listRunningPods: () => runtime.listPods({ runningOnly: true }),
    cleanPodDirectories: async (known) => {
      if (!context.podDirectories) return;
      const { seen, failures } = await cleanPodDirectories(rootDir, known, (uid) => volumes.exist(uid));
      metrics.cleanedVolumes.set(seen);
      metrics.cleanedVolumeErrors.set(failures.length);
      if (failures.length > 0) throw new Error(failures.join('; '));
    },
    collectBackoff: () => runtime.collectBackoff(),
    podVolumesExist: (uid) => volumes.exist(uid),
    observer: metrics.housekeeping,
    ...(cgroups === undefined ? {} : { cgroups }),
    ...(mirrors === undefined ? {} : { mirrors }),
  });
  const loop = new SyncLoop({
    clock,
    timeline,
    config: podConfig,
    plegEvents: pleg.events,
    due,
    resyncMs: config.syncFrequency,
    random,
    blockers: () => check.errors(),
    onConfig: (update) => handlers.handle(update),
    onPleg: ({ uid, type, id }: PodLifecycleEvent) => {
      if (type !== 'ContainerRemoved') handlers.syncs([uid]);
      if (type === 'ContainerDied') removeDeadContainers(uid, id);
    },
    onSyncTick: () => {
      const dueUids = new Set(queue.take());
      for (const pod of pods.list()) if (isOverdue(pod)) dueUids.add(pod.metadata.uid ?? '');
      handlers.syncs([...dueUids]);
    },
    onHousekeeping: () => housekeeping.run(),
  });
  /** Whether a pod that is not being stopped yet has used up its time. */
  const isOverdue = (pod: Pod): boolean => {
    const { uid = '' } = pod.metadata;
    const startTime = statuses.get(uid)?.startTime ?? pod.status?.startTime;
    return isPastActiveDeadline(pod, startTime, clock.now()) && !workers.is('isTerminationRequested', uid);
  };

  const sources = createSources(context, (snapshot, signal) => podConfig.deliver(snapshot, signal));
  const runUntilFailure = (): Promise<Error> =>
    new Promise((fail) => {
      const vital = (name: string, task: (signal: AbortSignal) => Promise<void>): void =>
        tasks.start(name, (signal) =>
          task(signal).catch((error: unknown) => {
            if (!signal.aborted) fail(asError(error));
            throw error;
          }),
        );
      for (const source of sources) vital('a pod source', (signal) => source.run(signal));
      vital('the runtime check', (signal) => check.run(signal));
      vital('the PLEG', (signal) => pleg.run(signal));
      vital('the sync loop', (signal) => loop.run(signal));
      tasks.start('container garbage collection', (signal) => collectors.garbage.run(signal));
      tasks.start('removal of dead containers', (signal) => collectors.garbage.runQueue(signal));
      tasks.start('image garbage collection', (signal) => collectors.images.run(signal));
    });

  return {
    nodeName,
    timeline,
    registry,
    async start() {
      try {
        await prepareMachine(context);
        return await runUntilFailure();
      } catch (error) {
        return asError(error);
      }
    },
    async stop() {
      context.stopping.abort();
      await Promise.all([tasks.stop(), workers.stop(), runtime.stop()]);
      queue.stop();
    },
    pods: () =>
      pods.list().map((pod) => {
        const status = statuses.get(pod.metadata.uid ?? '');
        return status === undefined ? pod : { ...pod, status };
      }),
    status: (uid) => statuses.get(uid),
    onStatus: (listener) => statuses.onChange(({ uid, status }) => listener({ uid, status })),
    runningPods: () => runtime.listPods({ runningOnly: true }),
    metricsText: () => registry.text(),
    blockers: () => check.errors(),
    healthChecks: [{ name: 'syncloop', check: () => loop.health() }],
  };
}
