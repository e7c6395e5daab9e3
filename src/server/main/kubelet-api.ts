/** The kubelet's main port: its whole API over TLS, for authenticated and authorized clients. */
import { systemClock } from '../../async/index.js';
import { forwardingTracer } from '../../tracing/index.js';
import { AccessReviews } from '../auth/access-reviews.js';
import type { Authenticators } from '../auth/authenticate.js';
import { ClientCertificates, leadsTo } from '../auth/client-certificates.js';
import { apiGate } from '../auth/gate.js';
import { TokenReviews } from '../auth/token-reviews.js';
import { mainLimits } from '../limits.js';
import { listen, type ServeOptions, type ServerListener, serve } from '../listen.js';
import { flushStderr, LogHealth } from '../log-health.js';
import { type AuthMetrics, createAuthMetrics, createRequestMetrics } from '../metrics.js';
import { readCaBundle } from '../tls/ca-bundle.js';
import { reloadedFiles } from '../tls/reloaded-files.js';
import { secureServing, type TlsServing } from '../tls/secure-serving.js';
import { tlsSettings } from '../tls/settings.js';
import { tracedRoutes } from '../traced-routes.js';
import type { KubeletApiOptions, MainKubelet } from './contracts.js';
import { countRequests } from './count-requests.js';
import { mainRoutes } from './main-routes.js';

/**
 * Rejects when the configuration is impossible, or the port is taken. Listens on
 * `config.address`:`config.port`, or at the given place, and nowhere else.
 */
export async function startKubeletApi(
  kubelet: MainKubelet,
  options: KubeletApiOptions,
): Promise<ServerListener> {
  const {
    config,
    timeline,
    clock = systemClock,
    servingCertificate,
    limits,
    flushLog = flushStderr,
  } = options;
  const settings = tlsSettings(config);
  for (const message of settings.warnings) {
    timeline.record({ kind: 'notice', what: 'server.tls', message, level: 'warn' });
  }
  checkApi(options);
  const { clientCAFile } = config.authentication.x509;
  const { clientAuthorities } = options;
  const clientCa =
    clientAuthorities !== undefined
      ? { current: () => clientAuthorities, close: () => {} }
      : clientCAFile === ''
        ? undefined
        : await reloadedFiles({
            paths: [clientCAFile],
            what: 'the client CA bundle',
            reloads: options.gates.enabled('ReloadKubeletClientCAFile'),
            parse: ([pem = '']) => readCaBundle(pem),
            onChange: () => secure.authoritiesChanged((peer, bundle) => leadsTo(peer, bundle, clock.now())),
            clock,
            timeline,
          });
  const secure: TlsServing = secureServing({
    certificate: servingCertificate,
    clientCa: clientCa === undefined ? undefined : () => clientCa.current(),
    settings,
    timeline,
  });
  const metrics = createAuthMetrics(kubelet.registry);
  const gate = apiGate({
    authenticators: authenticators(options, secure, clientCa && (() => clientCa.current()), metrics),
    access: accessReviews(kubelet.nodeName, options, metrics),
    clock,
    timeline,
  });
  const logHealth = new LogHealth(clock, flushLog);
  try {
    const routes = mainRoutes(kubelet, options, logHealth);
    const port = { tracer: options.tracer ?? forwardingTracer(), isOpenToAll: false };
    const serving: ServeOptions = {
      name: 'main',
      timeline,
      clock,
      limits: { ...mainLimits, ...limits },
      gate,
      secure,
      onRequest: countRequests(
        kubelet.registry.once(createRequestMetrics),
        clock,
        'readwrite',
        config.enableDebuggingHandlers,
      ),
    };
    const traced = tracedRoutes(routes, port);
    const { place } = options;
    const listener =
      place === undefined
        ? await listen(traced, { ...serving, address: config.address, port: config.port })
        : await serve(traced, serving, place);
    logHealth.start();
    return {
      address: () => listener.address(),
      async close() {
        logHealth.stop();
        clientCa?.close();
        await listener.close();
      },
    };
  } catch (error) {
    clientCa?.close();
    throw error;
  }
}

function checkApi({ config, api }: KubeletApiOptions): void {
  if (api !== undefined) return;
  if (config.authentication.webhook.enabled) {
    throw new Error('no client provided, cannot use webhook authentication');
  }
  if (config.authorization.mode === 'Webhook') {
    throw new Error('no client provided, cannot use webhook authorization');
  }
}

function authenticators(
  { config, api, clock = systemClock }: KubeletApiOptions,
  secure: TlsServing,
  bundle: (() => ReturnType<typeof readCaBundle>) | undefined,
  metrics: AuthMetrics,
): Authenticators {
  const { webhook, anonymous } = config.authentication;
  return {
    anonymous: anonymous.enabled,
    ...(bundle === undefined
      ? {}
      : {
          certificates: new ClientCertificates({
            clock,
            bundle,
            handshakeOf: (connection) => secure.handshakeOf(connection),
            metrics,
          }),
        }),
    ...(webhook.enabled && api !== undefined
      ? { tokens: new TokenReviews({ api, clock, cacheTtlMs: webhook.cacheTTL, metrics }) }
      : {}),
  };
}

function accessReviews(
  nodeName: string,
  { config, api, clock = systemClock }: KubeletApiOptions,
  metrics: AuthMetrics,
): AccessReviews | undefined {
  const { mode, webhook } = config.authorization;
  if (mode === 'AlwaysAllow' || api === undefined) return undefined;
  return new AccessReviews({
    api,
    clock,
    metrics,
    nodeName,
    allowedTtlMs: webhook.cacheAuthorizedTTL,
    deniedTtlMs: webhook.cacheUnauthorizedTTL,
  });
}
