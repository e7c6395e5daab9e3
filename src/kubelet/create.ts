/** The composition root: builds every room of a kubelet from what it needs, and starts them in order. */
import { asError, Channel, Gate, TaskGroup, WorkQueue } from '../async/index.js';
import type { Pod } from '../kube/index.js';
import type { PluginHandler } from '../plugins/index.js';
import {
  createPodMetrics,
  PodConfig,
  PodManager,
  PodWorkers,
  ReasonCache,
  registerEphemeralContainers,
  StatusManager,
} from '../pods/index.js';
import { containerRemover, RecentlyRemoved } from '../runtime-manager/gc/index.js';
import { mountedImages } from '../runtime-manager/images/index.js';
import { createPlegMetrics, Pleg } from '../runtime-manager/pleg/index.js';
import { ActuatedResources } from '../runtime-manager/resize/index.js';
import { filterActive } from './admission/active-pods.js';
import { withoutGatedFields } from './admission/gated-fields.js';
import { nodeAdmission } from './admission/node-admission.js';
import { makeRoom } from './admission/preempt.js';
import { RefusedStaticPods } from './admission/refused-static-pods.js';
import { createAllocated, createAllocation, syncAllocation } from './allocation/create-allocation.js';
import { withJudgedGeneration } from './allocation/judged-pod.js';
import type { ClusterMembership } from './cluster/membership.js';
import { claimHoldings } from './describe-node/claim-holdings.js';
import { createDescribeNode } from './describe-node/create-describe.js';
import type { Kubelet } from './kubelet.js';
import { Link } from './link.js';
import { allocatableOf } from './node/node-basis.js';
import { standaloneObserver } from './node/observe-standalone.js';
import type { KubeletOptions } from './options.js';
import { createCollectors } from './rooms/create-collectors.js';
import { createCsi } from './rooms/create-csi.js';
import { createDra } from './rooms/create-dra.js';
import { createEviction } from './rooms/create-eviction.js';
import { createImages } from './rooms/create-images.js';
import { createPlugins } from './rooms/create-plugins.js';
import { createPodResources } from './rooms/create-pod-resources.js';
import { createPodsApi } from './rooms/create-pods-api.js';
import { createProbes } from './rooms/create-probes.js';
import { createResourceManagers, withResources } from './rooms/create-resource-managers.js';
import { createRuntimeManager } from './rooms/create-runtime-manager.js';
import { createShutdown } from './rooms/create-shutdown.js';
import { createSources, sourceNames } from './rooms/create-sources.js';
import { createUserNamespaces } from './rooms/create-user-namespaces.js';
import { createVolumeHealth } from './rooms/create-volume-health.js';
import { createVolumes } from './rooms/create-volumes.js';
import { deviceProvider } from './rooms/device-provider.js';
import { readSettings } from './settings.js';
import { type KubeletManagers, runtimeStart } from './start-up/managers.js';
import { prepareMachine } from './start-up/prepare-machine.js';
import { RuntimeCheck } from './start-up/runtime-check.js';
import { RuntimeName } from './start-up/runtime-name.js';
import { untilVitalFailure } from './start-up/vital-tasks.js';
import { followChangedObjects } from './sync/changed-objects.js';
import { podsWithStatuses } from './sync/configured-pods.js';
import { createHousekeeping } from './sync/create-housekeeping.js';
import { createPodSyncer } from './sync/create-pod-syncer.js';
import { DeadContainers } from './sync/dead-containers.js';
import { LeftoverPods } from './sync/leftover-pods.js';
import { handlePlegEvents } from './sync/pleg-events.js';
import { PodDirectories } from './sync/pod-directories.js';
import { PodHandlers, type PodHandlersOptions } from './sync/pod-handlers.js';
import { workerStates } from './sync/pod-states.js';
import { handleProbeUpdate } from './sync/probe-updates.js';
import { RefusedRetries } from './sync/refused-retries.js';
import { isRuntimeGone } from './sync/runtime-gone.js';
import { SyncLoop } from './sync/sync-loop.js';
import { hasDeadlines, podsDueAtTick } from './sync/sync-tick.js';
import { tracedSyncer } from './sync/traced-syncer.js';
import { createWhatIf, type WhatIfDeps } from './what-if/create-what-if.js';

export async function createKubelet(options: KubeletOptions): Promise<Kubelet> {
  const settings = await readSettings(options);
  const { nodeName, rootDir, config, clock, timeline, registry, metrics, cri, random } = settings;
  const { managers, stopping, containerLogsDir } = settings;
  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'kubelet.task', message: `${task} failed`, error }),
  });

  // The cycles: what acts is asked by what observes, and the other way round. Each is connected where it is built.
  const links = {
    workers: new Link<PodWorkers>('PodWorkers'),
    handlers: new Link<PodHandlers>('PodHandlers'),
    pleg: new Link<Pleg>('Pleg'),
    check: new Link<RuntimeCheck>('RuntimeCheck'),
  };
  const states = workerStates(links.workers, (uid) => links.handlers.ifConnected?.waiting.has(uid) ?? false);
  const sync = (uids: readonly string[]): void => links.handlers.target.syncs(uids);

  // Who is here: desired pods, their statuses, and what is remembered of failed starts.
  const pods = new PodManager();
  const podConfig = new PodConfig({
    clock,
    timeline,
    sources: sourceNames(settings),
    change: withoutGatedFields(settings.gates),
    onDeleted: (deleted) => links.handlers.ifConnected?.deleted(deleted),
  });
  const allSourcesReady = (): boolean => podConfig.allSourcesReady;
  const reasons = new ReasonCache();
  const podMetrics = createPodMetrics(registry);
  const statuses = new StatusManager({
    clock,
    timeline,
    podOf: (uid) => pods.byUid(uid),
    mirrorOf: (pod) => pods.mirrorOf(pod),
    translateUid: (uid) => pods.translateUid(uid),
    metrics: podMetrics,
  });
  registerEphemeralContainers(registry, () => pods.list());

  // What pods need: volumes, probes, images, user ids, and the runtime manager that brings them together.
  const csi = createCsi(settings);
  const volumes = createVolumes(settings, {
    pods: {
      allSourcesReady,
      isConfigured: (uid) => pods.byUid(uid) !== undefined,
      isRuntimeGone: (uid) =>
        isRuntimeGone(uid, { states, observedPods: () => links.pleg.target.observedPods() }),
    },
    nodeAllocatable: () => allocatableOf(settings.node(), settings.host),
    supportsRecursiveReadOnly: (handler) => links.check.target.supports(handler, 'recursiveReadOnlyMounts'),
    csi,
  });
  const health = createVolumeHealth(settings, csi.client, volumes);
  const probes = createProbes(settings, { statusOf: (uid) => statuses.get(uid) });
  const images = createImages(settings, tasks);
  const users = createUserNamespaces(settings, {
    isSupported: (handler) => links.check.target.supports(handler, 'userNamespaces'),
  });
  const actuated = new ActuatedResources({
    checkpoint: settings.podDirectories ? { rootDir, store: settings.durable } : undefined,
    hasVolumes: settings.gates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes'),
  });
  const { allocated, states: resizes } = createAllocated(settings, pods);
  const asGiven = (pod: Pod): Pod => allocated.allocatedPod(pod);
  const configuredActive = (): Pod[] =>
    filterActive(pods.list(), { workers: links.workers.target, statuses });
  const activePods = (): Pod[] => configuredActive().map(asGiven);
  const isGone = (uid: string): boolean =>
    isRuntimeGone(uid, { states, observedPods: () => links.pleg.target.observedPods() });
  const dra = createDra(settings, { allSourcesReady, activePods, isRuntimeGone: isGone, sync });
  const resources = await createResourceManagers(settings, {
    allSourcesReady,
    activePods,
    claims: dra?.placement,
    activePod: (uid) => {
      const pod = pods.byUid(uid);
      const [active] = pod ? filterActive([pod], { workers: links.workers.target, statuses }) : [];
      return active && asGiven(active);
    },
    peek: (uid) => links.pleg.target.cache.peek(uid),
    sync,
  });
  settings.cgroups?.followExclusiveCpus?.((pod) => resources.hasExclusiveCpus(pod));
  const removals = new RecentlyRemoved();
  const onRemove = (id: string): void => removals.add(id);
  const remover = containerRemover({
    cri,
    timeline,
    containerLogsDir,
    onRemove,
    host: settings.logFiles.host,
  });
  const runtime = createRuntimeManager(settings, {
    podStates: states,
    remover,
    volumes,
    probes: probes.verdicts,
    images: images.manager,
    users,
    actuated,
    reinspect: (uid, when) =>
      when === 'now' ? links.pleg.target.requestReinspect(uid) : links.pleg.target.reinspectNext(uid),
    hasExclusiveCpus: resources.hasExclusiveCpus,
    internals: resources.internals,
    prepareResources: dra?.prepare,
  });

  // What is seen of the runtime: its pods by the PLEG, its state by the check.
  const pleg = links.pleg.connect(
    new Pleg({
      clock,
      timeline,
      runtime,
      metrics: createPlegMetrics(registry),
      eventSources: settings.eventSources.map((source) => () => source(cri)),
      isOwnRemoval: (id) => removals.has(id),
      onEventsChanged: () => tasks.start('a check of the runtime', () => links.check.target.checkOnce()),
    }),
  );
  const collectors = createCollectors(settings, {
    podStates: states,
    remover,
    runtime,
    onRemove,
    pullRecords: images.records,
    allSourcesReady,
    peek: (uid) => pleg.cache.peek(uid),
    mountedImages: () => {
      const seen = pleg.cache.statuses();
      return seen && mountedImages(seen, pods.list());
    },
  });
  const deadContainers = new DeadContainers({
    peek: (uid) => pleg.cache.peek(uid),
    garbage: collectors.garbage,
  });
  const eviction = createEviction(settings, {
    workers: links.workers,
    collectors,
    activePods,
    peek: (uid) => pleg.cache.peek(uid),
  });
  const podsApi = createPodsApi(settings, {
    allSourcesReady,
    pods: () => pods.list(),
    podOf: (uid) => pods.byUid(uid),
    statusOf: (uid) => statuses.get(uid),
  });
  const podResources = createPodResources(settings, {
    activePods: configuredActive,
    allPods: () => pods.list(),
    resources,
    dra: dra?.manager,
    devices: resources.devices && deviceProvider(resources.devices.manager),
  });
  const runtimeName = new RuntimeName(() => runtime.version());
  let membership: ClusterMembership | undefined;
  const shutdown = createShutdown(settings, {
    workers: links.workers,
    volumes,
    activePods,
    reportNode: async (signal) => membership?.reportNode(signal),
  });
  const plugins = createPlugins(
    settings,
    new Map<string, PluginHandler>([
      ['CSIPlugin', csi.registration],
      ...(dra === undefined ? [] : [['DRAPlugin', dra.registration] as const]),
      ...(resources.devices === undefined ? [] : [['DevicePlugin', resources.devices.handler] as const]),
    ]),
  );
  const started: KubeletManagers = {
    resourceManagers: async (group) => {
      await dra?.start(group);
      await resources.start(group);
    },
    evictionManager: eviction.start,
    pluginManager: async (group: TaskGroup) => {
      await csi.start?.(group);
      await health?.(group);
      await plugins?.(group);
    },
    shutdownManager: shutdown?.start,
    ...managers,
  };
  const startManagers = runtimeStart(started, tasks, async (signal) => {
    // Without a directory for them the containers have no logs on this machine.
    if (settings.podLogsDir !== '') await collectors.rotator.run(signal);
  });
  const check = links.check.connect(
    new RuntimeCheck({
      runtime: cri,
      clock,
      timeline,
      healthChecks: [{ name: 'PLEG', check: () => pleg.health() }],
      stopping: stopping.signal,
      onFirstReady: async () => {
        await runtimeName.read();
        await startManagers();
      },
    }),
  );
  const ownNode = standaloneObserver(settings, {
    check,
    runtimeName,
    eviction,
    shutdownError: () => shutdown?.error(),
    devices: resources.devices?.capacity,
  });
  membership = await settings.join?.({
    settings,
    pods,
    statuses,
    check,
    couldHaveRunningContainers: (uid) =>
      states.couldHaveRunningContainers(uid) || (dra?.manager.holds(uid) ?? false),
    turns: {
      get podsMove() {
        return runtime.podsMove;
      },
      get podsWait() {
        return runtime.podsWait;
      },
      get podsResize() {
        return resizes.isAnyUnderWay;
      },
    },
    pressure: eviction.conditions,
    shutdownError: () => shutdown?.error(),
    volumes,
    devices: resources.devices,
  });

  // What drives: the work queue, one worker per pod, the handlers, housekeeping, the loop.
  const due = new Channel<void>(1);
  const queue = new WorkQueue<string>(clock, () => void due.trySend());
  const directories = new PodDirectories(settings.machine.ownFiles, rootDir);
  const workers = links.workers.connect(
    new PodWorkers({
      clock,
      timeline,
      syncer: tracedSyncer(
        settings.tracer,
        createPodSyncer(settings, {
          runtime,
          runtimeName,
          check,
          pleg,
          statuses,
          reasons,
          volumes,
          probes,
          users,
          actuated,
          allocation: syncAllocation({ allocated, states: resizes, runtime }),
          directories,
          deadContainers,
          states,
          sync,
          unprepareResources: dra && ((pod, signal) => dra.manager.unprepare(pod, signal)),
          resourceHealth: (pod, name) => {
            const container = pod.spec.containers.find((each) => each.name === name);
            if (container === undefined) return [];
            const ofPlugins = settings.gates.enabled('ResourceHealthStatus')
              ? resources.devices?.health(pod.metadata.uid, name)
              : undefined;
            return [...(ofPlugins ?? []), ...(dra?.manager.health(pod, container) ?? [])];
          },
        }),
      ),
      queue,
      allocated: (pod) =>
        withJudgedGeneration(asGiven(pod), {
          isResizeWanted: allocated.differs(pod),
          isRefusalTold: resizes.isPending(pod.metadata.uid),
          observedGeneration: statuses.get(pod.metadata.uid)?.observedGeneration,
        }),
      resyncMs: config.syncFrequency,
      random,
      metrics: podMetrics,
      statuses: {
        peek: (uid) => pleg.cache.peek(uid),
        newerThan: (uid, afterMs, signal) => pleg.statusNewerThan(uid, afterMs, signal),
      },
    }),
  );
  settings.cgroups?.follow?.(activePods);
  const admissionWith: WhatIfDeps['admissionWith'] = (given, node) =>
    settings.admission ??
    nodeAdmission(
      { ...settings, config: given, node },
      {
        hasStrictGroups: () => check.hasStrictGroups,
        runtimeHas: (part) => check.features?.[part] === true,
        pressure: eviction,
        devicesInUse: resources.devices?.inUse,
      },
    );
  const admissionTurns = new Gate(1);
  const makeRoomFor: PodHandlersOptions['makeRoom'] = (pod, active, shortages) =>
    makeRoom(
      {
        clock,
        timeline,
        workers,
        metrics,
        namesShortage: settings.namesShortage ?? false,
        signal: stopping.signal,
      },
      pod,
      active.map(asGiven),
      shortages,
    );
  const { admission, manager: allocation } = createAllocation(settings, {
    tasks,
    pods,
    actuated,
    allocated,
    states: resizes,
    turns: admissionTurns,
    active: configuredActive,
    handlers: [
      ...withResources(admissionWith(config, settings.node), resources.admission),
      ...(shutdown === undefined ? [] : [shutdown.admission]),
    ],
    makeRoom: makeRoomFor,
    allSourcesReady,
    sync,
    peek: (uid) => pleg.cache.peek(uid),
  });
  statuses.onChange(({ uid, status }) => allocation.statusChanged(uid, status));
  workers.onFinished(() => allocation.finished());
  if (podsApi !== undefined) {
    statuses.onChange(({ uid, status, version }) => podsApi.statusChanged(uid, status, version));
    workers.onFinished((_, pod) => podsApi.finished(pod));
  }
  const refusals = new RefusedStaticPods({
    clock,
    isConfigured: (uid) => pods.byUid(uid) !== undefined,
    node: () => ownNode.now() ?? settings.node(),
    used: () => new Map(activePods().map((pod) => [pod.metadata.uid, admission.requestsOf(pod)])),
  });
  workers.onFinished(() => refusals.roomAppeared());
  const handlers = links.handlers.connect(
    new PodHandlers({
      clock,
      timeline,
      pods,
      workers,
      config: podConfig,
      statuses,
      admission,
      allocation,
      turns: admissionTurns,
      tasks,
      metrics,
      makeRoom: makeRoomFor,
      removeAllDeadContainers: (uid) => deadContainers.removeAll(uid),
      onMirror: (pod) => membership?.mirrorSeen(pod),
      refusals,
      leftovers: new LeftoverPods({
        clock,
        timeline,
        observedPods: () => pleg.observedPods(),
        isConfigured: (uid) => pods.byUid(uid) !== undefined,
        allSourcesReady,
        signal: tasks.signal,
      }),
    }),
  );
  const retries = new RefusedRetries({
    clock,
    timeline,
    pods,
    workers,
    statuses,
    admission,
    refusals,
    handlers,
    active: configuredActive,
    turns: admissionTurns,
    tasks,
  });
  const stopFollowingObjects = followChangedObjects({
    objects: settings.objects,
    volumes,
    isTerminating: states.shouldContainersBeTerminating,
    sync,
  });
  const housekeeping = createHousekeeping(settings, {
    tasks,
    pods,
    workers,
    statuses,
    reasons,
    pleg,
    runtime,
    volumes,
    probes,
    users,
    actuated,
    allocation,
    directories,
    handlers,
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
    onConfig: (update) => handlers.handle(podConfig.asOfNow(update)),
    onPleg: (events) =>
      handlePlegEvents(events, {
        sync,
        containerDied: (uid, containerId) => deadContainers.removeAfterDeath(uid, containerId),
      }),
    onSyncTick: () =>
      sync(
        podsDueAtTick({
          clock,
          queue,
          pods,
          statuses,
          isTerminationRequested: states.isTerminationRequested,
        }),
      ),
    hasDeadlines: () => hasDeadlines(pods.list(), states.isTerminationRequested),
    onHousekeeping: async () => {
      const outcome = await housekeeping.run();
      retries.run();
      return refusals.areAny ? 'unsettled' : outcome;
    },
    probes: probes.updates,
    onProbe: (kind, update) => handleProbeUpdate(kind, update, { statuses, sync }),
  });
  statuses.onChange(() => loop.disturb());
  workers.onMoved(() => loop.disturb());
  const sources = createSources(settings, (snapshot, signal) => podConfig.deliver(snapshot, signal));

  return {
    nodeName,
    timeline,
    registry,
    clock,
    config,
    runtime: cri,
    async start() {
      try {
        membership?.startEvents(tasks);
        await prepareMachine(settings, async () => {
          await images.start();
          await managers.oomWatcher?.(tasks);
        });
        await podResources?.start();
        await podsApi?.start();
        await users?.start();
        await actuated.start();
        await allocated.start();
        await volumes.start();
        return await untilVitalFailure(tasks, (vital) => {
          for (const source of sources) vital('a pod source', (signal) => source.run(signal));
          membership?.startNode(tasks);
          tasks.start('the conditions of the node', (signal) => ownNode.run(signal));
          vital('the runtime check', (signal) => check.run(signal));
          tasks.start('packet rules', async () => await managers.packetRules?.(tasks));
          membership?.startPods(tasks);
          vital('the PLEG', (signal) => pleg.run(signal));
          vital('the sync loop', (signal) => loop.run(signal));
          tasks.start('container garbage collection', (signal) => collectors.garbage.run(signal));
          tasks.start('removal of dead containers', (signal) => collectors.garbage.runQueue(signal));
          tasks.start('image garbage collection', (signal) => collectors.images.run(signal));
        });
      } catch (error) {
        return asError(error);
      }
    },
    async stop() {
      stopping.abort();
      stopFollowingObjects();
      allocation.stop();
      await Promise.all([tasks.stop(), workers.stop(), runtime.stop(), probes.stop(), volumes.stop()]);
      await Promise.all([
        actuated.stop(),
        allocated.stop(),
        resources.stop(),
        dra?.manager.stop(),
        podResources?.stop(),
        podsApi?.stop(),
      ]);
      queue.stop();
    },
    pods: () => podsWithStatuses(pods.list(), statuses),
    allocatedPods: activePods,
    status: (uid) => statuses.get(uid),
    onStatus: (listener) => statuses.onChange(({ uid, status }) => listener({ uid, status })),
    onPods: (listener) => pods.onChange(listener),
    onFinished: (listener) => workers.onFinished(listener),
    volumeDirectory: (pod, volumeName) => volumes.volumeDirectory(pod, volumeName),
    volumeDriver: (pod, volumeName) => volumes.volumeDriver?.(pod, volumeName),
    measureVolume: async (pod, volumeName, signal) => volumes.measureVolume?.(pod, volumeName, signal),
    runningPods: () => runtime.listPods({ runningOnly: true }),
    metricsText: () => registry.scrape(),
    probeMetricsText: () => probes.metricsText(),
    probeHistograms: () => probes.histograms(),
    blockers: () => check.errors(),
    whatIf: createWhatIf(settings, { eviction, collectors, activePods, admissionWith }),
    describeNode: createDescribeNode(settings, {
      node: () => ownNode.now() ?? settings.node(),
      eviction,
      activePods,
      holdings: () => [
        ...resources.holdings(),
        ...(dra === undefined
          ? []
          : [claimHoldings(activePods(), (namespace, name) => dra.manager.claim(namespace, name))]),
      ],
    }),
    healthChecks: [
      { name: 'syncloop', check: () => loop.health() },
      ...(resources.devices === undefined ? [] : [{ name: 'device-plugin', check: resources.devices.check }]),
    ],
  };
}
