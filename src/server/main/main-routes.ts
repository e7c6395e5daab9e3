/** The routes of the main port, as enabled by the configuration. */
import { systemClock } from '../../async/index.js';
import { Registry, registerStartTime } from '../../metrics/index.js';
import { podRoutes } from '../api/index.js';
import type { HealthCheck } from '../contracts.js';
import { disabledDebugRoutes, switchedOff } from '../debug-prefixes.js';
import { describeNodeRoute } from '../describe-node.js';
import { healthzRoutes, pingCheck } from '../healthz.js';
import { createStreamMetrics } from '../metrics.js';
import { metricsRoute } from '../metrics-route.js';
import { nodeLogsRoute } from '../node-logs/index.js';
import { podsRoute } from '../pods.js';
import type { Route } from '../routes.js';
import { timelineRoute } from '../timeline.js';
import { watchRoute } from '../watch.js';
import { whatIfRoutes } from '../what-if.js';
import { allocatedPodsRoute } from './allocated-pods.js';
import { checkpointRoute } from './checkpoint.js';
import type { KubeletApiOptions, MainKubelet } from './contracts.js';
import { configzRoute, verbosityRoute } from './debug.js';
import { healthSlis } from './health-slis.js';
import type { Profiler } from './profiles/profiler.js';
import { disabledProfilesRoute, profilesRoute } from './profiles/profiles-route.js';
import { statsRoutes } from './stats.js';
import { flagzRoute, plainPaths, statuszRoute, type ZPagesOptions } from './zpages.js';

export function mainRoutes(
  kubelet: MainKubelet,
  options: KubeletApiOptions,
  logHealth: HealthCheck,
): Route[] {
  const { config, version, timeline, gates, clock = systemClock } = options;
  const builtIn = [pingCheck, logHealth];
  const others = kubelet.healthChecks.filter(({ name }) => builtIn.every((check) => check.name !== name));
  const slis = healthSlis([...builtIn, ...others]);
  const process = new Registry();
  registerStartTime(process);
  const zpages = {
    flags: options.flags ?? {},
    version,
    startedAtMs: clock.now(),
    nowMs: () => clock.now(),
  };
  const routes = [
    ...healthzRoutes(slis.checks),
    slis.route,
    metricsRoute('/metrics', () => kubelet.metricsText(), { natives: () => kubelet.registry.natives() }),
    metricsRoute('/metrics/probes', () => `${process.text()}${kubelet.probeMetricsText()}`, {
      natives: () => kubelet.probeHistograms?.() ?? new Map(),
    }),
    ...statsRoutes({
      stats: kubelet.stats,
      version,
      timeline,
      showHidden: config.showHiddenMetricsForVersion !== '',
    }),
    ...(config.enableDebuggingHandlers
      ? debuggingRoutes(kubelet, options, zpages)
      : [podsRoute(kubelet), ...disabledDebugRoutes()]),
  ];
  if (!config.enableDebuggingHandlers || !gates.enabled('ComponentStatusz')) return routes;
  return [...routes, statuszRoute(zpages, plainPaths(routes))];
}

function debuggingRoutes(kubelet: MainKubelet, options: KubeletApiOptions, zpages: ZPagesOptions): Route[] {
  const { config, gates, rootDir, timeline, nodeLogsDir = '/var/log', clock = systemClock } = options;
  const { checkpointContainer } = kubelet.runtime;
  return [
    ...podRoutes(kubelet, {
      splitLogStreams: gates.enabled('PodLogsQuerySplitStreams'),
      translateStreams: gates.enabled('ExtendWebSocketsToKubelet'),
      metrics: createStreamMetrics(kubelet.registry),
    }),
    ...(gates.enabled('KubeletAllocatedPodsEndpoint') ? [allocatedPodsRoute(kubelet)] : []),
    configzRoute(options.publishedConfig ?? config),
    ...(gates.enabled('ComponentFlagz') ? [flagzRoute(zpages)] : []),
    ...(gates.enabled('ContainerCheckpoint')
      ? [
          checkpointRoute({
            kubelet,
            checkpoint:
              checkpointContainer === undefined
                ? undefined
                : (request, call) => checkpointContainer(request, call),
            rootDir,
            clock,
          }),
        ]
      : []),
    config.enableSystemLogHandler
      ? nodeLogsRoute({
          root: nodeLogsDir,
          query: config.enableSystemLogQuery && gates.enabled('NodeLogQuery'),
          clock,
        })
      : switchedOff('/logs/', 'logs endpoint is disabled.'),
    ...whatIfRoutes(kubelet.whatIf),
    describeNodeRoute(kubelet),
    watchRoute(kubelet, '/debug/watch'),
    timelineRoute(timeline, clock),
    config.enableProfilingHandler
      ? profilesRoute({ clock, profiler, argv: process.argv })
      : disabledProfilesRoute(),
    verbosityRoute(config.enableDebugFlagsHandler ? options.setVerbosity : undefined),
  ];
}

/** Loaded only when somebody wants a profile. */
async function profiler(): Promise<Profiler> {
  const { v8Profiler } = await import('./profiles/profiler.js');
  return v8Profiler;
}
