/** One run of the agent from the first check to the end: the order in which it opens things, and closes them again. */
import { release } from 'node:os';
import path from 'node:path';
import { systemClock } from '../async/index.js';
import { createCriMetrics } from '../cri/index.js';
import {
  Registry,
  registerBuildInfo,
  registerFeatureGates,
  registerMetricCounts,
  registerProcessMetrics,
} from '../metrics/index.js';
import { kubernetesArchitecture } from '../node/index.js';
import { readMachineFacts } from '../runtime-manager/config/index.js';
import type { AgentOptions, RunningKubelet } from './agent.js';
import type { OpenCluster } from './cluster.js';
import type { AgentNode } from './kubelet-options.js';
import { servesMainPort } from './listeners.js';
import { whileLocked } from './lock-file.js';
import { type LoggedTimeline, loggedTimeline } from './log.js';
import { chooseNodeName } from './node-name.js';
import { limitOpenFiles } from './open-files.js';
import { runKubelet } from './run-kubelet.js';
import { connectRuntime, validateRuntime } from './runtime-connection.js';
import {
  announce,
  announceConfiguration,
  announceInsecure,
  announceMemoryQos,
  refuseImpossible,
  setOomScore,
} from './start-checks.js';
import { followStopRequest } from './stop-request.js';
import { findSystemd, type Systemd } from './systemd.js';
import { keepOnDisk } from './timeline-on-disk.js';
import { startTracing } from './tracing.js';
import { announceUserNamespace, userNamespaceRule } from './user-namespace.js';
import { kubernetesVersion } from './version.js';

type RunAgentOptions = Required<Omit<AgentOptions, 'openCluster'>> & Pick<AgentOptions, 'openCluster'>;

/** Runs until the signal is aborted or the agent cannot go on; nothing of it is left afterwards. */
export async function runAgent(
  options: RunAgentOptions,
  signal: AbortSignal,
  onReady: (kubelet: RunningKubelet) => void,
): Promise<void> {
  const { configuration, environment, logSink, infoSink, openCluster } = options;
  const { flags, config } = configuration;
  const host = await readMachineFacts();
  refuseImpossible(configuration, host);
  const systemd = findSystemd(environment);
  const log = loggedTimeline(config.logging, { main: logSink, info: infoSink });
  try {
    // Before all that two agents would share: the timeline on disk, the ports, the runtime.
    await whileLocked(flags, { clock: systemClock, timeline: log.timeline }, signal, (untilStopped) =>
      runLogged({ configuration, environment, host, systemd, log, onReady, openCluster }, untilStopped),
    );
  } finally {
    await log.close();
  }
}

interface LoggedRun extends Pick<AgentNode, 'configuration' | 'environment' | 'host'> {
  readonly systemd: Systemd;
  readonly log: LoggedTimeline;
  readonly onReady: (kubelet: RunningKubelet) => void;
  readonly openCluster: AgentOptions['openCluster'];
}

async function runLogged(
  { configuration, environment, host, systemd, log, onReady, openCluster }: LoggedRun,
  signal: AbortSignal,
): Promise<void> {
  const { flags, config, standalone } = configuration;
  const { timeline } = log;
  const nodeName = chooseNodeName(flags.hostnameOverride);
  const ring = keepOnDisk(timeline, path.join(path.resolve(flags.rootDir), 'timeline'));
  const stop = followStopRequest(signal, { timeline, onStop: log.stopping });
  try {
    announceConfiguration(configuration, timeline);
    announce(configuration, timeline);
    announceMemoryQos(
      configuration,
      { cgroupVersion: host.cgroupVersion, kernelRelease: release() },
      timeline,
    );
    await announceInsecure(configuration, servesMainPort(configuration), timeline);
    const namespaceRule = userNamespaceRule(configuration.featureGates);
    announceUserNamespace(namespaceRule, timeline);
    await setOomScore(config.oomScoreAdj, namespaceRule, timeline);
    await limitOpenFiles(
      { maxOpenFiles: config.maxOpenFiles, isAsked: configuration.explicit.has('maxOpenFiles') },
      { clock: systemClock, timeline },
    );
    const registry = new Registry({
      nativeHistograms: configuration.featureGates.enabled('NativeHistograms'),
    });
    registerProcessMetrics(registry);
    registerBuildInfo(registry, {
      version: kubernetesVersion,
      runtime: `node${process.version}`,
      platform: `${process.platform}/${kubernetesArchitecture(process.arch)}`,
    });
    registerFeatureGates(registry, configuration.featureGates.all());
    registerMetricCounts(registry);
    const tracing = await startTracing(configuration, { nodeName, timeline, registry });
    const { tracer } = tracing;
    try {
      const node: AgentNode = { configuration, nodeName, environment, host, timeline, registry, tracer };
      const cluster = standalone ? undefined : await enterCluster(node, openCluster, signal);
      try {
        if (signal.aborted) return;
        const metrics = registry.once(createCriMetrics);
        const runtime = connectRuntime({ ...configuration, metrics, tracer });
        try {
          await unlessAborted(
            signal,
            validateRuntime(runtime, config.containerRuntimeEndpoint, timeline, signal),
          );
          if (signal.aborted) return;
          await runKubelet({ node, runtime, cluster, log, systemd, stopped: stop.received, onReady });
        } finally {
          runtime.close();
        }
      } finally {
        cluster?.close();
      }
    } finally {
      await tracing.close();
    }
  } finally {
    stop.release();
    await ring.close();
  }
}

/** A first certificate may take an hour to be signed; the signal ends the wait. Undefined: it did. */
async function enterCluster(
  node: AgentNode,
  given: AgentOptions['openCluster'],
  signal: AbortSignal,
): Promise<OpenCluster | undefined> {
  if (given !== undefined) return await unlessAborted(signal, given(node));
  const { openCluster } = await import('./cluster.js');
  return await unlessAborted(signal, openCluster(node, signal));
}

/** Drops the failure of work that the stop of the agent cut short. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
