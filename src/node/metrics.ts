/** The metrics of the node: how long it took to start, how its certificates live, and its last shutdown. */
import { type Gauge, Registry } from '../metrics/index.js';

export type StartUpMetrics = ReturnType<typeof createStartUpMetrics>;

/** Without a registry nobody reads them. */
export function createStartUpMetrics(registry = new Registry()) {
  return {
    preKubelet: registry.gauge(
      'kubelet_node_startup_pre_kubelet_duration_seconds',
      'Duration in seconds of node startup before kubelet starts.',
    ),
    preRegistration: registry.gauge(
      'kubelet_node_startup_pre_registration_duration_seconds',
      'Duration in seconds of node startup before registration.',
    ),
    registration: registry.gauge(
      'kubelet_node_startup_registration_duration_seconds',
      'Duration in seconds of node startup during registration.',
    ),
    postRegistration: registry.gauge(
      'kubelet_node_startup_post_registration_duration_seconds',
      'Duration in seconds of node startup after registration.',
    ),
    whole: registry.gauge(
      'kubelet_node_startup_duration_seconds',
      'Duration in seconds of node startup in total.',
    ),
  };
}

export interface StartUpMoments {
  /** Wall-clock milliseconds. */
  readonly machineStartMs: number;
  readonly kubeletStartMs: number;
}

/** Measures the parts of a start-up from the moments at which they end. */
export class StartUpStages {
  readonly #metrics: StartUpMetrics;
  readonly #moments: StartUpMoments;
  #attemptMs: number | undefined;
  #createdMs: number | undefined;

  constructor(metrics: StartUpMetrics, moments: StartUpMoments) {
    this.#metrics = metrics;
    this.#moments = moments;
  }

  registering(nowMs: number): void {
    this.#attemptMs ??= nowMs;
  }

  /** `created` says whether this kubelet created the node: the durations mean something only then. */
  registered(nowMs: number, created: boolean): void {
    if (created) this.#createdMs = nowMs;
  }

  ready(nowMs: number): void {
    const attemptMs = this.#attemptMs;
    const createdMs = this.#createdMs;
    if (attemptMs === undefined || createdMs === undefined) return;
    const { machineStartMs, kubeletStartMs } = this.#moments;
    const { preKubelet, preRegistration, registration, postRegistration, whole } = this.#metrics;
    preKubelet.set((kubeletStartMs - machineStartMs) / 1000);
    preRegistration.set((attemptMs - kubeletStartMs) / 1000);
    registration.set((createdMs - attemptMs) / 1000);
    postRegistration.set((nowMs - createdMs) / 1000);
    whole.set((nowMs - machineStartMs) / 1000);
  }
}

/** What a certificate's manager counts; the age at rotation only of the serving certificate. */
export type CertificateMetrics = Pick<ReturnType<typeof createClientCertificateMetrics>, 'renewErrors'> &
  Partial<Pick<ReturnType<typeof createServingCertificateMetrics>, 'rotationAge'>>;

/** Without a registry nobody reads them. */
export function createClientCertificateMetrics(registry = new Registry()) {
  return {
    renewErrors: registry.counter(
      'kubelet_certificate_manager_client_expiration_renew_errors',
      'Counter of certificate renewal errors.',
    ),
    ttl: infiniteAtFirst(
      registry.gauge(
        'kubelet_certificate_manager_client_ttl_seconds',
        "Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
      ),
    ),
  };
}

/** Without a registry nobody reads them. */
export function createServingCertificateMetrics(registry = new Registry()) {
  return {
    renewErrors: registry.counter(
      'kubelet_server_expiration_renew_errors',
      'Counter of certificate renewal errors.',
    ),
    rotationAge: registry.histogram(
      'kubelet_certificate_manager_server_rotation_seconds',
      'Histogram of the number of seconds the previous certificate lived before being rotated.',
      [],
      [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000],
    ),
    ttl: infiniteAtFirst(
      registry.gauge(
        'kubelet_certificate_manager_server_ttl_seconds',
        "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
      ),
    ),
  };
}

function infiniteAtFirst(gauge: Gauge): Gauge {
  gauge.set(Number.POSITIVE_INFINITY);
  return gauge;
}

/** Reads the certificate's remaining lifetime at each scrape. */
export function followCertificate(
  registry: Registry,
  { ttl }: { readonly ttl: Gauge },
  manager: { ttlSeconds(): number },
): void {
  registry.onCollect(() => ttl.set(manager.ttlSeconds()));
}

export type ShutdownMetrics = ReturnType<typeof createShutdownMetrics>;

/** Without a registry nobody reads them. */
export function createShutdownMetrics(registry = new Registry()) {
  return {
    startTime: registry.gauge(
      'kubelet_graceful_shutdown_start_time_seconds',
      'Last graceful shutdown start time since unix epoch in seconds',
    ),
    endTime: registry.gauge(
      'kubelet_graceful_shutdown_end_time_seconds',
      'Last graceful shutdown end time since unix epoch in seconds',
    ),
  };
}
