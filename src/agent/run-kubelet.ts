/** The kubelet of a running agent: made, served on its ports, reported to systemd, and stopped in order. */
import path from 'node:path';
import { systemClock, TaskGroup } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import { type CriClient, createCriMetrics, withCallRules } from '../cri/index.js';
import {
  createKubelet,
  createKubeletMetrics,
  type Kubelet,
  type KubeletOptions,
  Link,
  readCgroupDriver,
} from '../kubelet/index.js';
import { OomCounts, oomVictim, type ServingCertificate } from '../node/index.js';
import { ObjectDirectory, StandaloneObjects } from '../pods/index.js';
import type { RecordedCluster, Recording } from '../replay/index.js';
import type { EvictionStats } from '../resources/eviction/index.js';
import { LogHealth, type ServerListener } from '../server/index.js';
import { describeError } from '../timeline/index.js';
import type { RunningKubelet } from './agent.js';
import { openCgroups } from './cgroups.js';
import type { OpenCluster } from './cluster.js';
import { type AgentNode, kubeletOptions } from './kubelet-options.js';
import { servesMainPort, startListeners, startMainPort } from './listeners.js';
import type { LoggedTimeline } from './log.js';
import { StartFailure } from './start-failure.js';
import { agentStats } from './stats.js';
import type { Systemd } from './systemd.js';
import { kubernetesVersion } from './version.js';
import { runWatchdog } from './watchdog.js';

export interface RunKubeletOptions {
  readonly node: AgentNode;
  readonly runtime: CriClient;
  /** Undefined on a node without a cluster. */
  readonly cluster: OpenCluster | undefined;
  readonly log: Pick<LoggedTimeline, 'setVerbosity' | 'flush'>;
  readonly systemd: Systemd;
  /** Resolves when the agent is to stop. */
  readonly stopped: Promise<'stop'>;
  /** Called once, when every port listens and the kubelet has started. */
  readonly onReady: (kubelet: RunningKubelet) => void;
}

/** Resolves when everything that it started has ended. Rejects with a StartFailure when the kubelet cannot run. */
export async function runKubelet(options: RunKubeletOptions): Promise<void> {
  const { node, runtime, cluster, log, systemd, stopped, onReady } = options;
  const { configuration, timeline, registry, tracer } = node;
  const { config, flags, featureGates } = configuration;
  const cri = withCallRules(runtime, {
    requestTimeoutMs: config.runtimeRequestTimeout,
    clock: systemClock,
    metrics: registry.once(createCriMetrics),
    runtimeEndsCalls: true,
    listStreaming: featureGates.enabled('CRIListStreaming'),
  });
  const cgroupDriver = await readCgroupDriver(
    cri,
    config.cgroupDriver,
    timeline,
    registry.once(createKubeletMetrics),
  );
  const cgroups = await openCgroups({ ...node, cgroupDriver });
  const objects =
    flags.objectManifestPath === '' ? undefined : new StandaloneObjects({ clock: systemClock, waits: true });
  // Statistics are about the pods of the kubelet, which evicts by them.
  const evictionLink = new Link<EvictionStats>('what eviction sees');
  const kubeletLink = new Link<Kubelet>('the kubelet');
  const oomCounts = new OomCounts();
  const madeFrom = await kubeletOptions(node, {
    runtime,
    cgroupDriver,
    cgroups,
    objects,
    oom: {
      counts: oomCounts,
      victimOf: (cgroup) =>
        oomVictim(cgroup, kubeletLink.target.pods(), (pod) => cgroups?.pods.parentOf(pod)),
    },
    evictionStats: {
      observe: () => evictionLink.target.observe(),
      fileSystems: () => evictionLink.target.fileSystems(),
    },
  });
  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'agent.task', message: `${task} failed`, error }),
  });
  const serving = servesMainPort(configuration)
    ? await (await import('./cluster.js')).openServing(node, cluster)
    : undefined;
  const recording = flags.recordDir === '' ? undefined : await openRecording(node);
  const facts = clusterFacts(flags);
  // Loaded before, as a recorded kubelet must wait for nothing but its ports.
  const make = cluster === undefined ? createKubelet : await kubeletOfCluster(facts, cluster, serving);
  const kubelet =
    recording === undefined ? await make(madeFrom) : await recording.make(madeFrom, cluster && facts, make);
  kubeletLink.connect(kubelet);
  const { stats, eviction } = agentStats(
    kubelet,
    {
      cri,
      config,
      rootDir: madeFrom.rootDir,
      runtimeCgroups: flags.runtimeCgroups,
      fromRuntime: featureGates.enabled('PodAndContainerStatsFromCRI'),
      withoutHugePages: featureGates.enabled('HugepageAwareEviction'),
      cgroups,
      oomKills: oomCounts,
    },
    tasks,
  );
  evictionLink.connect(eviction);
  const listening = { configuration, timeline, stats, flushLog: log.flush, tracer };
  const listeners: ServerListener[] = [];
  try {
    if (serving !== undefined) {
      tasks.start('the serving certificate', (signal) => serving.run(signal));
      const { setVerbosity } = log;
      listeners.push(
        await startMainPort(kubelet, { ...listening, api: cluster?.apis.main, serving, setVerbosity }),
      );
    }
    listeners.push(...(await startListeners(kubelet, listening)));
    if (objects !== undefined) {
      const objectDirectory = new ObjectDirectory({
        path: path.resolve(flags.objectManifestPath),
        clock: systemClock,
        timeline,
        objects,
        checkPeriodMs: config.fileCheckFrequency,
      });
      tasks.start('following the directory of objects', (signal) => objectDirectory.run(signal));
    }
    const failed = kubelet.start();
    const identityLost = cluster?.watchIdentity(tasks);
    reportToSystemd(systemd, kubelet, log.flush, tasks);
    onReady({ ...kubelet, stats });
    const outcome = await Promise.race([
      failed,
      stopped,
      ...(identityLost === undefined ? [] : [identityLost]),
    ]);
    if (outcome instanceof Error) throw new StartFailure(describeError(outcome), { cause: outcome });
  } finally {
    await tasks.stop();
    await Promise.all(listeners.map((listener) => listener.close()));
    await kubelet.stop();
    await recording?.close();
    await cgroups?.stop();
  }
}

function reportToSystemd(
  { notify, watchdogPeriodMs: periodMs }: Systemd,
  { timeline, healthChecks }: Pick<Kubelet, 'timeline' | 'healthChecks'>,
  flushLog: () => Promise<void>,
  tasks: TaskGroup,
): void {
  tasks.start('telling systemd that the agent is ready', async () => void (await notify('READY=1')));
  if (periodMs === undefined) return;
  tasks.start('the watchdog', async (signal) => {
    const log = new LogHealth(systemClock, flushLog);
    log.start();
    const checks = [log, ...healthChecks].map((each) => ({ name: each.name, check: () => each.check() }));
    try {
      await runWatchdog({ clock: systemClock, timeline, periodMs, checks, notify }, signal);
    } finally {
      log.stop();
    }
  });
}

/** Loaded only where something is recorded. */
async function openRecording(node: AgentNode): Promise<Recording> {
  return (await import('./recording.js')).openRecording(node);
}

/** What the command line and the process say of a node of a cluster. */
function clusterFacts(flags: LoadedConfiguration['flags']): RecordedCluster {
  return {
    kubeletVersion: flags.reportedVersion || kubernetesVersion,
    flags: {
      nodeLabels: flags.nodeLabels,
      nodeIp: flags.nodeIp,
      externalCloud: flags.cloudProvider === 'external',
      ignoreEvictionReservation: flags.experimentalAllocatableIgnoreEviction,
    },
    processStartMs: Date.now() - process.uptime() * 1000,
  };
}

async function kubeletOfCluster(
  facts: RecordedCluster,
  { apis }: OpenCluster,
  serving: ServingCertificate | undefined,
): Promise<(options: KubeletOptions) => Promise<Kubelet>> {
  const { createClusterKubelet } = await import('../kubelet/cluster/create-cluster-kubelet.js');
  return (options) =>
    createClusterKubelet(options, {
      ...facts,
      apis,
      onAddresses: (addresses) => serving?.setAddresses?.(addresses),
    });
}
