/** The two listeners without authentication, the read-only port and the health port, and their routes. */
import { systemClock } from '../async/index.js';
import { forwardingTracer, type Tracer } from '../tracing/index.js';
import type { HealthCheck, ServerKubelet } from './contracts.js';
import { disabledDebugRoutes } from './debug-prefixes.js';
import { healthzRoutes, pingCheck } from './healthz.js';
import { keepListening, type ListenOptions, listen, type ServerListener } from './listen.js';
import { flushStderr, LogHealth } from './log-health.js';
import { countRequests } from './main/count-requests.js';
import { healthSlis } from './main/health-slis.js';
import { statsRoutes } from './main/stats.js';
import { createRequestMetrics } from './metrics.js';
import { metricsRoute } from './metrics-route.js';
import { podsRoute } from './pods.js';
import type { Route } from './routes.js';
import { tracedRoutes } from './traced-routes.js';

export interface ReadonlyServerOptions extends Omit<ListenOptions, 'name'> {
  /** Resolves when the log has taken everything so far; called regularly for the `log` health check. */
  readonly flushLog?: () => Promise<void>;
  /** @default requests are no spans */
  readonly tracer?: Tracer | undefined;
  /** The agent's version, for metrics. */
  readonly version?: string;
}

/** Rejects when the port is taken: an agent that seems up but cannot be read must not start. */
export async function startReadOnly(
  kubelet: ServerKubelet,
  options: ReadonlyServerOptions,
): Promise<ServerListener> {
  const { flushLog = flushStderr, tracer = forwardingTracer(), ...listenOptions } = options;
  const logHealth = new LogHealth(options.clock ?? systemClock, flushLog);
  const routes = readOnlyRoutes(kubelet, logHealth, options);
  const listener = await listen(tracedRoutes(routes, { tracer, isOpenToAll: true }), {
    ...listenOptions,
    name: 'readonly',
    ...(kubelet.registry === undefined
      ? {}
      : {
          onRequest: countRequests(
            kubelet.registry.once(createRequestMetrics),
            options.clock ?? systemClock,
            'readonly',
            false,
          ),
        }),
  });
  logHealth.start();
  return {
    address: () => listener.address(),
    close: async () => {
      logHealth.stop();
      await listener.close();
    },
  };
}

/** Reports whether the process and its sync loop are alive; a slow runtime alone does not fail it. */
export function startHealthz(
  kubelet: Pick<ServerKubelet, 'healthChecks'>,
  options: Omit<ListenOptions, 'name'>,
): Promise<ServerListener> {
  return keepListening(healthzRoutes([pingCheck, ...kubelet.healthChecks]), { ...options, name: 'healthz' });
}

function readOnlyRoutes(
  kubelet: ServerKubelet,
  logHealth: HealthCheck,
  { timeline, version = '' }: ReadonlyServerOptions,
): Route[] {
  const builtIn = [pingCheck, logHealth];
  const others = kubelet.healthChecks.filter(({ name }) => builtIn.every((check) => check.name !== name));
  const slis = healthSlis([...builtIn, ...others]);
  return [
    ...healthzRoutes(slis.checks),
    slis.route,
    podsRoute(kubelet),
    metricsRoute('/metrics', () => kubelet.metricsText(), {
      natives: () => kubelet.registry?.natives() ?? new Map(),
    }),
    metricsRoute('/metrics/probes', () => kubelet.probeMetricsText(), {
      natives: () => kubelet.probeHistograms?.() ?? new Map(),
    }),
    ...(kubelet.stats === undefined ? [] : statsRoutes({ stats: kubelet.stats, version, timeline })),
    // They would reveal or do too much for unauthenticated callers.
    ...disabledDebugRoutes(),
  ];
}
