/** The types shared within the probes room, and the network port that probes use. */
import type { Clock } from '../async/index.js';
import type { HttpGetRequest, HttpGetResponse } from '../http-get/index.js';
import type { Container, Pod, PodStatus, Probe } from '../kube/index.js';

export type ProbeKind = 'startup' | 'readiness' | 'liveness';

export type ProbeState = 'success' | 'warning' | 'failure' | 'unknown';

/** The outcome of one attempt. An error says nothing about the container. */
export type ProbeOutcome =
  | { readonly state: ProbeState; readonly output: string; readonly error?: undefined }
  | { readonly state: ProbeState; readonly error: Error };

/** The User-Agent of probes, with the Kubernetes version they follow. */
export const probeUserAgent = 'kube-probe/1.37';

/** Names of the kinds in texts for users. */
export const kindTitles = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
} as const satisfies Record<ProbeKind, string>;

/** The order in which a container's probes are considered. */
export const probeKinds = ['startup', 'readiness', 'liveness'] as const satisfies readonly ProbeKind[];

export function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  switch (kind) {
    case 'startup':
      return container.startupProbe;
    case 'readiness':
      return container.readinessProbe;
    case 'liveness':
      return container.livenessProbe;
  }
}

/** Timing and thresholds of a probe, with the API's defaults. */
export interface ProbeSettings {
  readonly timeoutSeconds: number;
  readonly periodMs: number;
  readonly initialDelaySeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

export function probeSettings(probe: Probe): ProbeSettings {
  return {
    timeoutSeconds: probe.timeoutSeconds || 1,
    periodMs: (probe.periodSeconds || 10) * 1000,
    initialDelaySeconds: probe.initialDelaySeconds ?? 0,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

/** One run of a container's probe. */
export interface ProbeRun {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  /** The reported status of the pod; supplies its address. */
  readonly status: PodStatus;
  readonly container: Container;
  /** The container's id in the runtime. */
  readonly containerId: string;
}

/** The limits of one network call. */
export interface ProbeCallLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Aborting rejects with Cancelled. */
  readonly signal: AbortSignal;
}

export interface TcpAddress {
  /** Empty for localhost. */
  readonly host: string;
  readonly port: number;
}

export interface GrpcCheck extends TcpAddress {
  readonly service: string;
  /** Over TLS, whoever signed the server's certificate. */
  readonly isTls?: boolean;
}

/** The result of a gRPC health check. */
export type GrpcHealthResult =
  | { readonly kind: 'status'; readonly status: string }
  | { readonly kind: 'no-connection' }
  | { readonly kind: 'dial-error'; readonly message: string }
  | { readonly kind: 'rpc-error'; readonly code: number; readonly message: string };

/** The network port. Each call ends within its limits and leaves no connection open. */
export interface ProbeNetwork {
  /** Rejects with `HttpGetError` if there is no response, with another error if its body breaks off. */
  http(request: HttpGetRequest, limits: ProbeCallLimits): Promise<HttpGetResponse>;
  /** Connects and closes; rejects with a message for users. */
  tcp(address: TcpAddress, limits: ProbeCallLimits): Promise<void>;
  grpc(check: GrpcCheck, limits: ProbeCallLimits): Promise<GrpcHealthResult>;
  /** The network as one container answers on it, where containers are simulated; absent: the network itself. */
  forContainer?(containerId: string): Pick<ProbeNetwork, 'http' | 'tcp' | 'grpc'>;
  /** How long this process has been busy since its start, in milliseconds; absent where time is simulated. */
  busyMs?(): number;
}
