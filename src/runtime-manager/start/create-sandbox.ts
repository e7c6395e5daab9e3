/** Creates a pod's sandbox in the runtime and reads its addresses. */
import { errorText } from '../../async/index.js';
import { type Init, observeSandboxStatus, type PodSandboxConfig } from '../../cri/index.js';
import { formatPod, goQuote, isHostNetwork, type Pod } from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import { SyncFailure } from '../contracts.js';
import type { RuntimeMetrics } from '../metrics.js';
import { sandboxIps } from '../observe/pod-ips.js';
import { checkedSandboxStatus } from '../observe/response-checks.js';
import type { StartPorts } from './start-container.js';

export interface SandboxPorts extends StartPorts {
  readonly metrics: RuntimeMetrics;
  /** The handler of the pod's runtime class; empty for the runtime's default. */
  readonly runtimeHandler: (pod: Pod) => Promise<string>;
}

export interface CreateSandboxRequest {
  readonly pod: Pod;
  readonly attempt: number;
  readonly rank: number;
  readonly because: string;
  /** Called when the gate lets the request in. */
  readonly onTurn?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Sandbox {
  readonly id: string;
  readonly config: Init<PodSandboxConfig>;
  readonly runtimeHandler: string;
}

/** Rejects with the error for `Failed to create pod sandbox: …`. */
export async function createSandbox(ports: SandboxPorts, request: CreateSandboxRequest): Promise<Sandbox> {
  const { cri, clock, gate, timeline, configs, metrics } = ports;
  const { pod, rank, signal } = request;
  const name = { pod: podRef(pod), attempt: request.attempt };
  const attempt = ports.names.attemptFor(name);
  const config = await configs.sandbox(pod, attempt);
  const runtimeHandler = await ports.runtimeHandler(pod);
  const queuedMs = clock.monotonic();
  return gate.run(
    async () => {
      request.onTurn?.();
      const startedMs = clock.monotonic();
      const labels = { runtime_handler: runtimeHandler };
      const measure = (): void =>
        metrics.sandboxDuration.observe((clock.monotonic() - startedMs) / 1000, labels);
      const { podSandboxId: id } = await cri
        .runPodSandbox({ config, runtimeHandler })
        .catch((error: unknown) => {
          measure();
          metrics.sandboxErrors.inc(labels);
          ports.names.failed(name, attempt, error);
          throw error;
        });
      measure();
      ports.creations.addSandbox(pod.metadata.uid, id);
      timeline.record({
        kind: 'effect',
        what: 'sandbox.create',
        message: `Created sandbox, attempt ${attempt}`,
        because: request.because,
        pod: podRef(pod),
        durationMs: clock.monotonic() - startedMs,
        data: { sandboxId: id, attempt, waitedMs: startedMs - queuedMs },
      });
      return { id, config, runtimeHandler };
    },
    { rank, signal },
  );
}

export function sandboxFailure(pod: Pod, error: unknown): SyncFailure {
  const message = errorText(error);
  return new SyncFailure(
    'CreatePodSandboxError',
    `Failed to create sandbox for pod ${goQuote(formatPod(pod))}: ${message}`,
    { cause: error },
  );
}

/** The IP addresses of a new sandbox. A pod on the host network keeps its addresses. */
export async function readPodIps(
  ports: SandboxPorts,
  pod: Pod,
  sandboxId: string,
  knownIps: readonly string[],
): Promise<readonly string[]> {
  const atMs = ports.clock.monotonic();
  const status = checkedSandboxStatus(await ports.cri.podSandboxStatus({ podSandboxId: sandboxId }));
  ports.creations.noteSandbox(pod.metadata.uid, sandboxId, { status, atMs });
  return isHostNetwork(pod) ? knownIps : sandboxIps(observeSandboxStatus(status));
}
