/** The agent's connection to the container runtime, and the first question that shows whether the runtime can be used. */
import { systemClock } from '../async/index.js';
import type { KubeletConfiguration } from '../config/index.js';
import { type CriClient, type CriMetrics, connectCri } from '../cri/index.js';
import { describeError, type Timeline } from '../timeline/index.js';
import type { Tracer } from '../tracing/index.js';
import { StartFailure } from './start-failure.js';

export interface RuntimeConnectionOptions {
  readonly config: Pick<
    KubeletConfiguration,
    'containerRuntimeEndpoint' | 'imageServiceEndpoint' | 'runtimeRequestTimeout'
  >;
  readonly metrics: CriMetrics;
  readonly tracer?: Tracer;
}

/** The transport alone: the kubelet puts its rules for calls around it. */
export function connectRuntime({ config, metrics, tracer }: RuntimeConnectionOptions): CriClient {
  const { containerRuntimeEndpoint: endpoint, imageServiceEndpoint, runtimeRequestTimeout } = config;
  try {
    return connectCri({
      endpoint,
      imageEndpoint: imageServiceEndpoint || endpoint,
      requestTimeoutMs: runtimeRequestTimeout,
      metrics,
      bare: true,
      ...(tracer === undefined ? {} : { tracer }),
    });
  } catch (error) {
    throw new StartFailure(
      `cannot use the container runtime at ${endpoint}: ${describeError(error)}; name a socket, such as unix:///run/containerd/containerd.sock, with --container-runtime-endpoint`,
      { cause: error },
    );
  }
}

/** The log says that the agent waits when the runtime takes longer than this to answer for the first time. */
const patienceMs = 3_000;

export async function validateRuntime(
  runtime: Pick<CriClient, 'validate'>,
  endpoint: string,
  timeline: Timeline,
  signal: AbortSignal,
): Promise<void> {
  const waiting = systemClock.setTimer(patienceMs, () => {
    timeline.record({
      kind: 'notice',
      what: 'agent.runtime',
      message: `waiting for the container runtime at ${endpoint}`,
      level: 'warn',
    });
  });
  try {
    await runtime.validate({ signal });
  } catch (error) {
    throw new StartFailure(
      `cannot use the container runtime at ${endpoint}: ${describeError(error)}; start it, or name another one with --container-runtime-endpoint`,
      { cause: error },
    );
  } finally {
    waiting.cancel();
  }
}
