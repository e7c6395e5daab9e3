/** Metrics of node startup, certificate lifetimes and the last shutdown. */
import { Registry } from '../metrics/index.js';
import type { CertificateManager } from './certificates/manager.js';

export interface StartUpMoments {
  /** Wall-clock milliseconds. */
  readonly machineStartMs: number;
  readonly kubeletStartMs: number;
}

export interface StartUpMetrics {
  registering(nowMs: number): void;
  /** `created` says whether this kubelet created the node: the durations mean something only then. */
  registered(nowMs: number, created: boolean): void;
  ready(nowMs: number): void;
}

export function startUpMetrics(registry: Registry, moments: StartUpMoments): StartUpMetrics {
  const gauge = (name: string, help: string) => registry.gauge(`kubelet_node_startup_${name}`, help);
  const preKubelet = gauge(
    'pre_kubelet_duration_seconds',
    'Duration in seconds of node startup before kubelet starts.',
  );
  const preRegistration = gauge(
    'pre_registration_duration_seconds',
    'Duration in seconds of node startup before registration.',
  );
  const registration = gauge(
    'registration_duration_seconds',
    'Duration in seconds of node startup during registration.',
  );
  const postRegistration = gauge(
    'post_registration_duration_seconds',
    'Duration in seconds of node startup after registration.',
  );
  const whole = gauge('duration_seconds', 'Duration in seconds of node startup in total.');
  let attemptMs: number | undefined;
  let createdMs: number | undefined;
  return {
    registering: (nowMs) => {
      attemptMs ??= nowMs;
    },
    registered: (nowMs, created) => {
      if (created) createdMs = nowMs;
    },
    ready: (nowMs) => {
      if (attemptMs === undefined || createdMs === undefined) return;
      preKubelet.set((moments.kubeletStartMs - moments.machineStartMs) / 1000);
      preRegistration.set((attemptMs - moments.kubeletStartMs) / 1000);
      registration.set((createdMs - attemptMs) / 1000);
      postRegistration.set((nowMs - createdMs) / 1000);
      whole.set((nowMs - moments.machineStartMs) / 1000);
    },
  };
}

type Observer = NonNullable<ConstructorParameters<typeof CertificateManager>[0]['observer']>;

/** Exports the certificate's remaining lifetime at each scrape. */
export interface CertificateMetrics {
  readonly observer: Observer;
  follow(manager: Pick<CertificateManager, 'ttlSeconds'>): void;
}

export function clientCertificateMetrics(registry: Registry): CertificateMetrics {
  const errors = registry.counter(
    'kubelet_certificate_manager_client_expiration_renew_errors',
    'Counter of certificate renewal errors.',
  );
  return {
    observer: { renewFailed: () => errors.inc() },
    follow: ttlGauge(
      registry,
      'kubelet_certificate_manager_client_ttl_seconds',
      "Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
    ),
  };
}

const rotationBuckets = [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000];

export function servingCertificateMetrics(registry: Registry): CertificateMetrics {
  const errors = registry.counter(
    'kubelet_server_expiration_renew_errors',
    'Counter of certificate renewal errors.',
  );
  const ages = registry.histogram(
    'kubelet_certificate_manager_server_rotation_seconds',
    'Histogram of the number of seconds the previous certificate lived before being rotated.',
    [],
    rotationBuckets,
  );
  return {
    observer: { renewFailed: () => errors.inc(), rotated: (ageSeconds) => ages.observe(ageSeconds) },
    follow: ttlGauge(
      registry,
      'kubelet_certificate_manager_server_ttl_seconds',
      "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
    ),
  };
}

function ttlGauge(registry: Registry, name: string, help: string): CertificateMetrics['follow'] {
  const ttl = registry.gauge(name, help);
  ttl.set(Number.POSITIVE_INFINITY);
  return (manager) => registry.onCollect(() => ttl.set(manager.ttlSeconds()));
}

export type ShutdownMetrics = ReturnType<typeof createShutdownMetrics>;

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
