/** The composition root: builds every part of a kubelet and hands each only what it needs. */
import { mkdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { Backoff, Channel, Gate, systemClock, TaskGroup, WorkQueue } from '../async/index.js';
import { baselineConfiguration, type KubeletConfiguration, resolveFeatureGates } from '../config/index.js';
import { abortableCri, type ObservedPod, type ObservedPodStatus } from '../cri/index.js';
import { type Pod, type PodStatus, parseQuantity, quantityValue } from '../kube/index.js';
import { Registry } from '../metrics/index.js';
import {
  FileSource,
  generatePodStatus,
  HttpSource,
  isPastActiveDeadline,
  PodConfig,
  PodManager,
  type PodSource,
  PodWorkers,
  ReasonCache,
  type SourceContext,
  type SourceName,
  StatusManager,
} from '../pods/index.js';
import {
  FilePodConfigs,
  imageUserFromRuntime,
  parseResolvConf,
  readHostFacts,
  resolvConfLimitProblem,
  runtimeSettings,
} from '../runtime/config/index.js';
import {
  cleanPodDirectories,
  containerRemover,
  GarbageCollector,
  makePodDirectories,
} from '../runtime/gc/index.js';
import { ImageCollector, ImageManager, PullQueue, PullRate } from '../runtime/images/index.js';
import { crashLoopDefaults, RuntimeManager } from '../runtime/index.js';
import { LogRotator, terminationMessage } from '../runtime/logs/index.js';
import { criEvents, Pleg, type PodLifecycleEvent } from '../runtime/pleg/index.js';
import { Timeline } from '../timeline/index.js';
import { operatingSystem, podLimit, rejectionLabel } from './admission.js';
import { freeHostPorts } from './host-ports.js';
import { Housekeeping } from './housekeeping.js';
import { createMetrics } from './metrics.js';
import { containerTypes, imageObserver, plegObserver, runtimeObserver } from './observers.js';
import type { KubeletOptions } from './options.js';
import { PodHandlers } from './pod-handlers.js';
import { KubeletPodSyncer } from './pod-syncer.js';
import { RuntimeCheck } from './runtime-check.js';
import { withoutVolumes } from './seams.js';
import { SyncLoop } from './sync-loop.js';

export interface Kubelet {
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  /** Starts everything. Resolves only if a part that the agent cannot do without fails, with its error. */
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

/** Starts at a time: enough to keep the cores busy while some wait, few enough that pods finish one after another. */
function defaultStartsAtOnce(): number {
  return availableParallelism() + 2;
}

export async function createKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { nodeName, rootDir, clock = systemClock, volumes = withoutVolumes, random = Math.random } = options;
  const podDirectories = options.podDirectories ?? true;
  // Every call of this kubelet ends with it, however long the runtime would take to answer.
  const stopping = new AbortController();
  const cri = abortableCri(options.runtime, stopping.signal);
  const gates = options.gates ?? resolveFeatureGates({}).gates;
  const config: KubeletConfiguration = { ...baselineConfiguration(gates), ...options.config };
  // Logs in the usual place belong to another agent of the machine when this one's pods have no folders.
  const podLogsDir = podDirectories ? config.podLogsDir : '';
  const timeline = options.timeline ?? new Timeline({ clock });
  const registry = options.registry ?? new Registry();
  const metrics = options.metrics ?? createMetrics(registry, nodeName);
  const host = options.host ?? (await readHostFacts());
  metrics.cgroupVersion.set(host.cgroupVersion);

  // Who is here: desired pods, their statuses, and what is remembered of failed starts.
  const pods = new PodManager();
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
  const reasons = new ReasonCache();

  const extraSources = options.sources ?? [];
  const sourceNames: SourceName[] = [
    ...(config.staticPodPath === '' ? [] : ['file' as const]),
    ...(config.staticPodURL === '' ? [] : ['http' as const]),
    ...extraSources.map(({ name }) => name),
  ];
  const podConfig = new PodConfig({ clock, timeline, sources: sourceNames });

  // What runs: the runtime manager and what it works through.
  const settings = runtimeSettings({
    nodeName,
    rootDir,
    podLogsDir: config.podLogsDir,
    nodeIps: options.nodeIps ?? [],
    hostIps: options.nodeIps ?? [],
    clusterDomain: config.clusterDomain,
    clusterDns: config.clusterDNS,
    resolvConf: config.resolvConf,
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsQuotaPeriodMs: config.cpuCFSQuotaPeriod,
    seccompDefault: config.seccompDefault,
    memoryCapacityBytes: host.memoryCapacityBytes,
    nodeAllocatable: { cpu: String(availableParallelism()), memory: String(host.memoryCapacityBytes) },
    cgroupVersion: host.cgroupVersion,
    singleProcessOomKill: config.singleProcessOOMKill ?? host.cgroupVersion === 1,
    swap: {
      behavior: config.memorySwap.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
      capacityBytes: host.swapCapacityBytes,
      isControllerAvailable: host.isSwapControllerAvailable,
    },
    hugePageSizes: host.hugePageSizes,
    isSelinuxEnabled: host.isSelinuxEnabled,
    isAppArmorEnabled: host.isAppArmorEnabled,
    thermalThrottlePaths: host.thermalThrottlePaths,
  });
  const { containerLogsDir } = options;
  const remover = containerRemover({ cri, timeline, containerLogsDir });
  const podStates = {
    isTerminationRequested: (uid: string) => workers.is('isTerminationRequested', uid),
    shouldContentBeRemoved: (uid: string) => workers.is('shouldContentBeRemoved', uid),
    shouldRuntimeBeRemoved: (uid: string) => workers.is('shouldRuntimeBeRemoved', uid),
  };
  const maxRestartMs = config.crashLoopBackOff.maxContainerRestartPeriod ?? crashLoopDefaults.maxMs;
  const runtime = new RuntimeManager({
    cri,
    clock,
    timeline,
    images: new ImageManager({
      cri,
      clock,
      timeline,
      queue: new PullQueue({
        maxParallelPulls: config.serializeImagePulls ? 1 : config.maxParallelImagePulls,
        rate: new PullRate({ clock, qps: config.registryPullQPS, burst: config.registryBurst }),
      }),
      observer: imageObserver(metrics),
      ...(options.keyring === undefined ? {} : { keyring: options.keyring }),
    }),
    configs:
      options.podConfigs ??
      new FilePodConfigs({
        settings: () => settings,
        timeline,
        volumes,
        imageUser: imageUserFromRuntime(cri),
        env: {},
        ...(options.cgroups === undefined ? {} : { cgroupParent: options.cgroups.parentOf }),
      }),
    podStates,
    remover,
    gate: new Gate(options.startsAtOnce ?? defaultStartsAtOnce()),
    crashLoop: new Backoff({ ...crashLoopDefaults, maxMs: maxRestartMs }),
    podLogsDir,
    observer: runtimeObserver(metrics),
    terminationMessage,
    requestTimeoutMs: config.runtimeRequestTimeout,
    ...(containerLogsDir === undefined ? {} : { containerLogsDir }),
    ...(options.hooks === undefined ? {} : { hooks: options.hooks }),
  });
  let runtimeName = 'unknown';

  // What is seen: the PLEG, its cache, and statuses generated from it.
  const pleg = new Pleg({
    clock,
    timeline,
    runtime,
    observer: plegObserver(metrics, clock),
    eventSources: options.eventSources ?? [() => criEvents(cri)],
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

  // What drives: the work queue, one worker per pod, the loop.
  const due = new Channel<void>(1);
  const queue = new WorkQueue<string>(clock, () => void due.trySend());
  const check = new RuntimeCheck({
    runtime: cri,
    clock,
    timeline,
    healthChecks: [{ name: 'PLEG', check: () => pleg.health() }],
    onFirstReady: async () => {
      runtimeName = (await runtime.version()).runtimeName;
      tasks.start('log rotation', (signal) => rotator.run(signal));
    },
  });
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
      if (podDirectories) await makePodDirectories(rootDir, uid);
    },
    requestRelist: (uid) => pleg.requestRelist(uid),
    syncAgain: (pod) => workers.update({ type: 'sync', pod }),
    observer: metrics.syncer,
    ...(options.cgroups === undefined ? {} : { cgroups: options.cgroups }),
    ...(options.mirrors === undefined ? {} : { mirrors: options.mirrors }),
    ...(options.probes === undefined ? {} : { probes: options.probes }),
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

  const { minAgeMs = 0, maxPerContainer = 1, maxTotal = -1 } = options.deadContainers ?? {};
  const garbage = new GarbageCollector({
    cri,
    clock,
    timeline,
    nodeName,
    policy: { minAgeMs, maxPerContainer, maxTotal },
    podStates,
    remover,
    allSourcesReady: () => podConfig.allSourcesReady,
    podLogsDir,
    containerLogsDir,
  });
  const images = new ImageCollector({
    cri,
    clock,
    timeline,
    nodeName,
    policy: {
      highThresholdPercent: config.imageGCHighThresholdPercent,
      lowThresholdPercent: config.imageGCLowThresholdPercent,
      minAgeMs: config.imageMinimumGCAge,
      maxAgeMs: config.imageMaximumGCAge,
    },
    onRemoved: (reason) => metrics.imagesCollected.inc({ reason }),
  });
  const rotator = new LogRotator({
    cri,
    clock,
    timeline,
    maxSizeBytes: Number(quantityValue(parseQuantity(config.containerLogMaxSize))),
    maxFiles: config.containerLogMaxFiles,
    workers: config.containerLogMaxWorkers,
    periodMs: config.containerLogMonitorInterval,
  });

  const removeDeadContainers = (uid: string, diedId?: string): void => {
    const known = pleg.cache.peek(uid);
    if ('status' in known) garbage.removeDead(known.status, diedId);
  };
  const handlers = new PodHandlers({
    clock,
    timeline,
    pods,
    workers,
    config: podConfig,
    statuses,
    admission: options.admission ?? [operatingSystem, podLimit(config.maxPods), freeHostPorts],
    onRejected: (reason) => metrics.rejections.inc({ reason: rejectionLabel(reason) }),
    removeDeadContainers,
  });
  const housekeeping = new Housekeeping({
    timeline,
    pods,
    workers,
    statuses,
    observedPods: () => pleg.observedPods(),
    listRunningPods: () => runtime.listPods({ runningOnly: true }),
    cleanPodDirectories: async (known) => {
      if (!podDirectories) return;
      const { seen, failures } = await cleanPodDirectories(rootDir, known, (uid) => volumes.exist(uid));
      metrics.cleanedVolumes.set(seen);
      metrics.cleanedVolumeErrors.set(failures.length);
      if (failures.length > 0) throw new Error(failures.join('; '));
    },
    collectBackoff: () => runtime.collectBackoff(),
    podVolumesExist: (uid) => volumes.exist(uid),
    observer: metrics.housekeeping,
    ...(options.cgroups === undefined ? {} : { cgroups: options.cgroups }),
    ...(options.mirrors === undefined ? {} : { mirrors: options.mirrors }),
  });
  const onPleg = ({ uid, type, id }: PodLifecycleEvent): void => {
    if (type !== 'ContainerRemoved') handlers.syncs([uid]);
    if (type === 'ContainerDied') removeDeadContainers(uid, id);
  };
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
    onPleg,
    onSyncTick: () => {
      const dueUids = new Set(queue.take());
      for (const pod of pods.list()) {
        const uid = pod.metadata.uid ?? '';
        if (isPastActiveDeadline(pod, statuses.get(uid)?.startTime ?? pod.status?.startTime, clock.now()))
          dueUids.add(uid);
      }
      handlers.syncs([...dueUids]);
    },
    onHousekeeping: () => housekeeping.run(),
  });

  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'kubelet.task', message: `${task} failed`, error }),
  });
  const context: SourceContext = {
    clock,
    timeline,
    pods: { nodeName, refuseApiReferences: gates.enabled('PreventStaticPodAPIReferences') },
    deliver: (snapshot, signal) => podConfig.deliver(snapshot, signal),
  };
  const sources: PodSource[] = [
    ...(config.staticPodPath === ''
      ? []
      : [
          new FileSource({
            ...context,
            path: config.staticPodPath,
            checkPeriodMs: config.fileCheckFrequency,
          }),
        ]),
    ...(config.staticPodURL === ''
      ? []
      : [
          new HttpSource({
            ...context,
            url: config.staticPodURL,
            headers: config.staticPodURLHeader,
            checkPeriodMs: config.httpCheckFrequency,
          }),
        ]),
    ...extraSources.map(({ create }) => create(context)),
  ];

  const withStatus = (pod: Pod): Pod => {
    const status = statuses.get(pod.metadata.uid ?? '');
    return status === undefined ? pod : { ...pod, status };
  };

  return {
    nodeName,
    timeline,
    registry,
    async start() {
      timeline.nodeEvent(nodeName, 'Normal', 'Starting', 'Starting kubelet.');
      try {
        if (podDirectories) await makeDirectories(rootDir, podLogsDir, containerLogsDir);
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error));
        timeline.nodeEvent(nodeName, 'Warning', 'KubeletSetupFailed', failure.message);
        return failure;
      }
      if (host.cgroupVersion === 1) {
        timeline.nodeEvent(
          nodeName,
          'Warning',
          'CgroupV1',
          'cgroup v1 is deprecated; move the machine to cgroup v2',
        );
      }
      await checkResolvConf(config, nodeName, timeline);
      if (config.podCIDR !== '') {
        await cri.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: config.podCIDR } } });
      }
      return new Promise<Error>((fail) => {
        const vital = (name: string, task: (signal: AbortSignal) => Promise<void>): void =>
          tasks.start(name, (signal) =>
            task(signal).catch((error: unknown) => {
              if (!signal.aborted) fail(error instanceof Error ? error : new Error(String(error)));
              throw error;
            }),
          );
        for (const source of sources) vital('a pod source', (signal) => source.run(signal));
        vital('the runtime check', (signal) => check.run(signal));
        vital('the PLEG', (signal) => pleg.run(signal));
        vital('the sync loop', (signal) => loop.run(signal));
        tasks.start('container garbage collection', (signal) => garbage.run(signal));
        tasks.start('removal of dead containers', (signal) => garbage.runQueue(signal));
        tasks.start('image garbage collection', (signal) => images.run(signal));
      });
    },
    async stop() {
      stopping.abort();
      await Promise.all([tasks.stop(), workers.stop(), runtime.stop()]);
      queue.stop();
    },
    pods: () => pods.list().map(withStatus),
    status: (uid) => statuses.get(uid),
    onStatus: (listener) => statuses.onChange(({ uid, status }) => listener({ uid, status })),
    runningPods: () => runtime.listPods({ runningOnly: true }),
    metricsText: () => registry.text(),
    blockers: () => check.errors(),
    healthChecks: [{ name: 'syncloop', check: () => loop.health() }],
  };
}

async function makeDirectories(
  rootDir: string,
  podLogsDir: string,
  containerLogsDir: string | undefined,
): Promise<void> {
  const below = ['pods', 'plugins', 'plugins_registry', 'pod-resources'].map((name) =>
    path.join(rootDir, name),
  );
  for (const folder of [rootDir, podLogsDir, ...below]) await mkdir(folder, { recursive: true, mode: 0o750 });
  await mkdir(path.join(rootDir, 'checkpoints'), { recursive: true, mode: 0o700 });
  if (containerLogsDir !== undefined) await mkdir(containerLogsDir, { recursive: true, mode: 0o755 });
}

/** Warns once when the node's resolver file has more than pods can be given of it. */
async function checkResolvConf(
  config: KubeletConfiguration,
  nodeName: string,
  timeline: Timeline,
): Promise<void> {
  if (config.resolvConf === '') return;
  let problem: string | undefined;
  try {
    const parsed = parseResolvConf(await readFile(config.resolvConf, 'utf8'));
    problem = resolvConfLimitProblem(config.resolvConf, parsed, config.clusterDomain);
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  if (problem !== undefined) timeline.nodeEvent(nodeName, 'Warning', 'CheckLimitsForResolvConf', problem);
}
