/** What the parts of the probes room hand to each other, and the port to the network that probes go through. */
import type { Clock } from '../async/index.js';
import type { HttpAnswer, HttpGetRequest } from '../http-get/index.js';
import type { Container, Pod, PodStatus, Probe } from '../kube/index.js';

export type ProbeKind = 'startup' | 'readiness' | 'liveness';

/** What a container's probe has come to, after its thresholds. */
export type ProbeResult = 'success' | 'failure' | 'unknown';

export type ProbeState = 'success' | 'warning' | 'failure' | 'unknown';

/** What one attempt of a probe came to. With an error it says nothing about the container. */
export type ProbeOutcome =
  | { readonly state: ProbeState; readonly output: string; readonly error?: undefined }
  | { readonly state: ProbeState; readonly error: Error };

/** The version of Kubernetes that servers are told. */
export const probeUserAgent = 'kube-probe/1.36';

/** How words for users name the kinds. */
export const kindTitles = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
} as const satisfies Record<ProbeKind, string>;

/** The order in which the probes of a container are looked at. */
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

/** How often and how patiently a container is probed, with the defaults of the API. */
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

/** The probe of one container, as it is run now. */
export interface ProbeRun {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  /** What is reported of the pod; its address is taken from here. */
  readonly status: PodStatus;
  readonly container: Container;
  /** The runtime's id. */
  readonly containerId: string;
}

/** What bounds one use of the network. */
export interface Limits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Aborting ends it with Cancelled. */
  readonly signal: AbortSignal;
}

export interface TcpAddress {
  /** Empty for this machine. */
  readonly host: string;
  readonly port: number;
}

export interface GrpcCheck extends TcpAddress {
  readonly service: string;
}

/** What became of a health check by gRPC. */
export type GrpcAnswer =
  | { readonly kind: 'status'; readonly status: string }
  | { readonly kind: 'no-connection' }
  | { readonly kind: 'dial-error'; readonly message: string }
  | { readonly kind: 'rpc-error'; readonly code: number; readonly message: string };

/** The port to the network. Each call ends within its limits and leaves no connection behind. */
export interface ProbeNetwork {
  /** Rejects with `HttpGetError` when there is no answer, with another error when its body breaks off. */
  http(request: HttpGetRequest, limits: Limits): Promise<HttpAnswer>;
  /** Connects and closes; rejects with the words for users. */
  tcp(address: TcpAddress, limits: Limits): Promise<void>;
  grpc(check: GrpcCheck, limits: Limits): Promise<GrpcAnswer>;
}
