/** The metrics of the node: how long it took to start, how its certificates live, and its last shutdown. */
import { type Gauge, Registry } from '../metrics/index.js';

export type StartUpMetrics = ReturnType<typeof createStartUpMetrics>;

/** Without a registry nobody reads them. */
export function createStartUpMetrics(registry = new Registry()) {
  return {
    preKubelet: registry.gauge(
      'kubelet_node_startup_pre_kubelet_duration_seconds',
      'Seconds from the start of the machine to that of the kubelet.',
    ),
    preRegistration: registry.gauge(
      'kubelet_node_startup_pre_registration_duration_seconds',
      'Seconds from the start of the kubelet to its first try to register the node.',
    ),
    registration: registry.gauge(
      'kubelet_node_startup_registration_duration_seconds',
      'Seconds from the first try to register the node until it was registered.',
    ),
    postRegistration: registry.gauge(
      'kubelet_node_startup_post_registration_duration_seconds',
      'Seconds from the registration of the node until it was ready.',
    ),
    whole: registry.gauge(
      'kubelet_node_startup_duration_seconds',
      'Seconds from the start of the machine until the node was ready.',
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
      'Renewals of the certificate that failed.',
    ),
    ttl: infiniteAtFirst(
      registry.gauge(
        'kubelet_certificate_manager_client_ttl_seconds',
        'Seconds until the client certificate expires: negative afterwards, +Inf while there is none.',
      ),
    ),
  };
}

/** Without a registry nobody reads them. */
export function createServingCertificateMetrics(registry = new Registry()) {
  return {
    renewErrors: registry.counter(
      'kubelet_server_expiration_renew_errors',
      'Renewals of the certificate that failed.',
    ),
    rotationAge: registry.histogram(
      'kubelet_certificate_manager_server_rotation_seconds',
      'Seconds that a certificate was in use before the next one replaced it.',
      [],
      [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000],
    ),
    ttl: infiniteAtFirst(
      registry.gauge(
        'kubelet_certificate_manager_server_ttl_seconds',
        'Seconds until the serving certificate expires: negative afterwards, +Inf while there is none.',
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
      'Unix time at which the last graceful shutdown began.',
    ),
    endTime: registry.gauge(
      'kubelet_graceful_shutdown_end_time_seconds',
      'Unix time at which the last graceful shutdown ended.',
    ),
  };
}
