/** The composition root: builds every part of a kubelet and hands each only what it needs. */
import { asError, Channel, TaskGroup, WorkQueue } from '../async/index.js';
import type { ObservedPodStatus } from '../cri/index.js';
import type { Pod, PodStatus } from '../kube/index.js';
import {
  generatePodStatus,
  hostIpsOf,
  isPastActiveDeadline,
  PodConfig,
  PodManager,
  PodWorkers,
  ReasonCache,
  StatusManager,
} from '../pods/index.js';
import { containerRemover, RecentlyRemoved } from '../runtime-manager/gc/index.js';
import { mountedImages } from '../runtime-manager/images/index.js';
import { criEvents, Pleg, type PodLifecycleEvent } from '../runtime-manager/pleg/index.js';
import { ActuatedResources } from '../runtime-manager/resize/index.js';
import { idMappingsInForce, UserNamespaces } from '../runtime-manager/userns/index.js';
import { cleanOrphanedPods } from '../volumes/index.js';
import { rejectionLabel } from './admission/admission.js';
import { nodeAdmission } from './admission/node-admission.js';
import type { Kubelet } from './kubelet.js';
import { containerTypes, plegObserver } from './metrics/observers.js';
import type { KubeletOptions } from './options.js';
import { createCollectors } from './rooms/create-collectors.js';
import { createImageParts } from './rooms/create-images.js';
import { createProbes } from './rooms/create-probes.js';
import { createRuntimeManager, nodeAllocatable, startsAtOnce } from './rooms/create-runtime-manager.js';
import { createSources, sourceNames } from './rooms/create-sources.js';
import { createVolumes } from './rooms/create-volumes.js';
import { readContext } from './settings.js';
import { runtimeStart } from './start-up/managers.js';
import { prepareMachine } from './start-up/prepare-machine.js';
import { RuntimeCheck } from './start-up/runtime-check.js';
import { Housekeeping, isRunning, passesToWait } from './sync/housekeeping.js';
import { mirrorDeletions } from './sync/mirror-deletions.js';
import { PodDirectories } from './sync/pod-directories.js';
import { PodHandlers } from './sync/pod-handlers.js';
import { KubeletPodSyncer } from './sync/pod-syncer.js';
import { SyncLoop } from './sync/sync-loop.js';

export async function createKubelet(options: KubeletOptions): Promise<Kubelet> {
  const context = await readContext(options);
  const { nodeName, rootDir, config, clock, timeline, registry, metrics, cri, random } = context;
  const { cgroups, mirrors, modules = {}, node: nodeNow = () => undefined } = options;
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
    isTerminationRequested: (uid: string) => workers.isTerminationRequested(uid),
    shouldContentBeRemoved: (uid: string) => workers.shouldContentBeRemoved(uid),
    shouldRuntimeBeRemoved: (uid: string) => workers.shouldRuntimeBeRemoved(uid),
  };
  /** Of a pod that has no worker only the runtime knows whether it runs. */
  const isRuntimeGone = (uid: string): boolean =>
    podStates.shouldRuntimeBeRemoved(uid) &&
    (workers.stateOf(uid) !== undefined ||
      !pleg.observedPods().some((pod) => pod.uid === uid && isRunning(pod)));
  const supportsRecursiveReadOnly = (handler: string): boolean =>
    check.handlers.find(({ name }) => name === handler)?.features?.recursiveReadOnlyMounts ?? false;
  const volumes = createVolumes(context, {
    pods: {
      allSourcesReady: () => podConfig.allSourcesReady,
      isConfigured: (uid) => pods.byUid(uid) !== undefined,
      isRuntimeGone,
    },
    nodeAllocatable: () => nodeNow()?.status?.allocatable ?? nodeAllocatable(context.host),
    supportsRecursiveReadOnly,
  });
  const removals = new RecentlyRemoved();
  const onRemove = (id: string): void => removals.add(id);
  const { containerLogsDir } = context;
  const remover = containerRemover({ cri, timeline, containerLogsDir, onRemove });
  const probes = createProbes(context, { statuses, sync: (uid) => handlers.syncs([uid]) });
  const images = createImageParts(context);
  const users = context.podDirectories
    ? new UserNamespaces({
        rootDir,
        timeline,
        store: context.durable,
        inForce: (uid) => idMappingsInForce(cri, uid),
        idsPerPod: config.userNamespaces?.idsPerPod ?? 65_536,
        blocks: config.maxPods,
        isSupported: (handler) =>
          check.handlers.find(({ name }) => name === handler)?.features?.userNamespaces ?? false,
      })
    : undefined;
  const actuated = new ActuatedResources({
    checkpoint: context.podDirectories ? { rootDir, store: context.durable } : undefined,
  });
  const runtime = createRuntimeManager(context, {
    podStates,
    remover,
    volumes,
    probes: probes.verdicts,
    images: images.manager,
    users,
    actuated,
    reinspect: (uid) => pleg.requestReinspect(uid),
  });
  const collectors = createCollectors(context, {
    podStates,
    remover,
    runtime,
    onRemove,
    pullRecords: images.records,
    allSourcesReady: () => podConfig.allSourcesReady,
    observed: (uid) => {
      const known = pleg.cache.peek(uid);
      return 'status' in known ? known.status : undefined;
    },
    mountedImages: () => {
      const seen = pleg.cache.statuses();
      return seen && mountedImages(seen, pods.list());
    },
  });
  const startWithRuntime = runtimeStart(modules, tasks, (signal) => collectors.rotator.run(signal));
  let runtimeName = 'unknown';
  const pleg = new Pleg({
    clock,
    timeline,
    runtime,
    observer: plegObserver(metrics),
    eventSources: (options.eventSources ?? [criEvents]).map((source) => () => source(cri)),
    isOwnRemoval: (id) => removals.has(id),
    onEventsChanged: () => tasks.start('a check of the runtime', () => check.checkOnce()),
  });
  const check = new RuntimeCheck({
    runtime: cri,
    clock,
    timeline,
    healthChecks: [{ name: 'PLEG', check: () => pleg.health() }],
    onFirstReady: async () => {
      runtimeName = (await runtime.version()).runtimeName;
      await startWithRuntime();
    },
  });
  const member = await options.join?.({
    context,
    pods,
    statuses,
    check,
    couldHaveRunningContainers: (uid) => workers.couldHaveRunningContainers(uid),
    turns: runtime,
  });
  const showsStopSignals = context.gates.enabled('ContainerStopSignals');
  const generateStatus = (pod: Pod, observed: ObservedPodStatus, podIsTerminal: boolean): PodStatus => {
    const uid = pod.metadata.uid ?? '';
    const handler = pod.spec.runtimeClassName ? observed.sandboxes[0]?.runtimeHandler : '';
    return generatePodStatus({
      pod,
      observed,
      cached: statuses.get(uid),
      podIsTerminal,
      nowMs: clock.now(),
      runtimeName,
      startFailure: (container) => reasons.get(uid, container),
      probes: probes.view,
      nodeIps: options.nodeIps,
      hostIps: hostIpsOf(nodeNow()?.status?.addresses ?? []),
      supportsRecursiveReadOnly: handler === undefined ? undefined : supportsRecursiveReadOnly(handler),
      showsStopSignals,
      actuatedResources: (container) => actuated.requirements(uid, container),
    });
  };

  // What drives: the work queue, one worker per pod, the handlers, the loop.
  const podDirectories = new PodDirectories(context.machine.ownFiles, rootDir);
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
    releaseUserNamespace: users && ((uid) => users.release(uid)),
    isTerminationRequested: podStates.isTerminationRequested,
    makePodDirectories: async (uid) => {
      if (context.podDirectories) await podDirectories.make(uid);
    },
    observedSince: (uid, afterMs) => pleg.statusNewerThan(uid, afterMs, context.stopping.signal),
    removeDeadContainers: (uid) => removeDeadContainers(uid, undefined),
    requestRelist: (uid) => pleg.requestRelist(uid),
    requestPodRelist: (uid) => pleg.requestPodRelist(uid),
    syncAgain: (uid) => handlers.syncs([uid]),
    isStopping: () => context.stopping.signal.aborted,
    // Enough that some are ready whenever those that start make room for them.
    preparationsAtOnce: 4 * startsAtOnce(options),
    observer: metrics.syncer,
    probes: probes.workers,
    ...(options.objects === undefined ? {} : { objects: options.objects }),
    ...(cgroups === undefined ? {} : { cgroups }),
    ...(mirrors === undefined ? {} : { mirrors }),
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
    admission: options.admission ?? nodeAdmission(context, nodeNow, () => check.hasStrictGroups),
    onRejected: (reason) => metrics.rejections.inc({ reason: rejectionLabel(reason) }),
    removeAllDeadContainers: (uid) => removeDeadContainers(uid, undefined, true),
    onMirror: (pod) => member?.mirrorSeen(pod),
  });
  /** What changed is shown at once, and containers that could not start without it are tried again. */
  const forgetObjects = options.objects?.onChange?.(({ podUids }) => {
    // A pod that ends keeps what it has: its objects may be deleted before it is gone.
    const living = podUids.filter((uid) => !workers.shouldContainersBeTerminating(uid));
    volumes.objectsChanged(new Set(living));
    handlers.syncs(podUids);
  });
  const foldersCanWait = passesToWait(() => runtime.podsWait);
  const housekeeping = new Housekeeping({
    timeline,
    pods,
    workers,
    statuses,
    observedPods: () => pleg.observedPods(),
    listRunningPods: () => runtime.listPods({ runningOnly: true }),
    cleanPodDirectories: async (known) => {
      volumes.podsChanged();
      actuated.keepOnly((uid) => known.has(uid));
      if (!context.podDirectories) return;
      users?.keepOnly(known);
      if (foldersCanWait()) return;
      const { seen, failedPods, failures } = await cleanOrphanedPods({
        host: context.machine,
        rootDirectory: rootDir,
        known,
        // A pod may have come back under its UID since `known` was put together.
        podVolumesExist: (uid) => volumes.exist(uid) || pods.byUid(uid) !== undefined,
      });
      podDirectories.keepOnly(known);
      metrics.cleanedVolumes.set(seen);
      metrics.cleanedVolumeErrors.set(failedPods);
      if (failures.length > 0) throw new Error(failures.join('; '));
    },
    collectBackoff: () => runtime.collectBackoff(),
    podVolumesExist: (uid) => volumes.exist(uid),
    keepProbesOf: (uids) => probes.keepOnly(uids),
    forgetOthers: (present) => {
      timeline.boundGone(present);
      reasons.keepOnly(present);
    },
    observer: metrics.housekeeping,
    ...(cgroups === undefined ? {} : { cgroups }),
    ...(mirrors === undefined ? {} : { deleteMirrorsSoon: mirrorDeletions(mirrors, tasks) }),
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
    onPleg: (events: readonly PodLifecycleEvent[]) => {
      handlers.syncs([
        ...new Set(events.filter(({ type }) => type !== 'ContainerRemoved').map(({ uid }) => uid)),
      ]);
      for (const { uid, type, id } of events) if (type === 'ContainerDied') removeDeadContainers(uid, id);
    },
    onSyncTick: () => {
      const dueUids = new Set(queue.take());
      for (const pod of pods.list()) if (isOverdue(pod)) dueUids.add(pod.metadata.uid ?? '');
      handlers.syncs([...dueUids]);
    },
    onHousekeeping: () => housekeeping.run(),
    more: probes.news,
  });
  /** Whether a pod that is not being stopped yet has used up its time. */
  const isOverdue = (pod: Pod): boolean => {
    const { uid = '' } = pod.metadata;
    const startTime = statuses.get(uid)?.startTime ?? pod.status?.startTime;
    return isPastActiveDeadline(pod, startTime, clock.now()) && !workers.isTerminationRequested(uid);
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
      member?.startNode(tasks);
      vital('the runtime check', (signal) => check.run(signal));
      tasks.start('packet rules', async () => await modules.packetRules?.(tasks));
      member?.startPods(tasks);
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
    clock,
    runtime: cri,
    async start() {
      try {
        member?.open(tasks);
        await prepareMachine(context, async () => {
          await images.start();
          await modules.oomWatcher?.(tasks);
        });
        await users?.start();
        await actuated.start();
        await modules.allocationManager?.(tasks);
        await volumes.start();
        return await runUntilFailure();
      } catch (error) {
        return asError(error);
      }
    },
    async stop() {
      context.stopping.abort();
      forgetObjects?.();
      await Promise.all([tasks.stop(), workers.stop(), runtime.stop(), probes.stop(), volumes.stop()]);
      await actuated.stop();
      queue.stop();
    },
    pods: () =>
      pods.list().map((pod) => {
        const status = statuses.get(pod.metadata.uid ?? '');
        return status === undefined ? pod : { ...pod, status };
      }),
    status: (uid) => statuses.get(uid),
    onStatus: (listener) => statuses.onChange(({ uid, status }) => listener({ uid, status })),
    volumeDirectory: (pod, volumeName) => volumes.volumeDirectory(pod, volumeName),
    runningPods: () => runtime.listPods({ runningOnly: true }),
    metricsText: () => registry.text(),
    probeMetricsText: () => probes.metricsText(),
    blockers: () => check.errors(),
    healthChecks: [{ name: 'syncloop', check: () => loop.health() }],
  };
}
