/** The client of a real runtime: both CRI services over gRPC, with the kubelet's call rules by default. */
import { asError, type Clock, systemClock } from '../async/index.js';
import { GrpcConnection, type MethodInfo } from '../grpc/index.js';
import { forwardingTracer, type Tracer } from '../tracing/index.js';
import { socketPathOfEndpoint } from './endpoint.js';
import { CriError, criCodeName } from './errors.js';
import { ImageService, RuntimeService } from './gen/cri.js';
import { type CriMetrics, countCall, createCriMetrics } from './metrics.js';
import type { CallOptions, CriRuntime } from './runtime.js';
import { tracedStream, tracedUnary } from './traced-calls.js';
import { withCallRules } from './with-call-rules.js';

export interface ConnectCriOptions {
  /** `unix:///run/containerd/containerd.sock`, or a bare path. */
  readonly endpoint: string;
  /** The endpoint of the image service, if it is another one. */
  readonly imageEndpoint?: string;
  /** The default deadline of a call. Some calls have a multiple of it or none. */
  readonly requestTimeoutMs: number;
  readonly clock?: Clock;
  /**
   * Counts every finished call.
   * @default metrics that are not exposed
   */
  readonly metrics?: CriMetrics;
  /** Applies no call rules; the kubelet that gets the client does. Calls end only at their `timeoutMs` and `signal`. */
  readonly bare?: boolean;
  /**
   * Makes a span of every call, and tells the runtime of it.
   * @default the runtime is told of the traces of callers alone
   */
  readonly tracer?: Tracer;
}

export interface CriClient extends CriRuntime {
  /** Rejects unless both services respond. For start-up. */
  validate(options?: CallOptions): Promise<void>;
  /** Ends all calls in flight with Canceled and leaves no socket or timer behind. */
  close(): void;
}

/** Connects at the first call. While the runtime is not reachable, each call fails with Unavailable. */
export function connectCri(options: ConnectCriOptions): CriClient {
  const { endpoint, requestTimeoutMs, clock = systemClock, metrics = createCriMetrics() } = options;
  const imageEndpoint = options.imageEndpoint || endpoint;
  const runtimePath = socketPathOfEndpoint(endpoint);
  const imagePath = socketPathOfEndpoint(imageEndpoint);
  const runtimeConnection = new GrpcConnection(runtimePath);
  const imageConnection = imagePath === runtimePath ? runtimeConnection : new GrpcConnection(imagePath);

  const bare = grpcCriRuntime(runtimeConnection, imageConnection, options.tracer ?? forwardingTracer());
  const calls = options.bare
    ? bare
    : withCallRules(bare, { requestTimeoutMs, clock, metrics, runtimeEndsCalls: true });
  return {
    ...calls,
    async validate(callOptions) {
      const timed = { timeoutMs: requestTimeoutMs, ...callOptions };
      await bare.version({}, timed).catch((error) => failValidation('runtime', endpoint, error));
      await bare.imageFsInfo({}, timed).catch((error) => failValidation('image', imageEndpoint, error));
    },
    close() {
      const startMs = clock.monotonic();
      runtimeConnection.close();
      imageConnection.close();
      countCall(metrics, 'close', clock.monotonic() - startMs);
    },
  };
}

function failValidation(api: 'runtime' | 'image', endpoint: string, error: unknown): never {
  const cause = asError(error);
  const message = `validate service connection: validate CRI v1 ${api} API for endpoint ${JSON.stringify(endpoint)}: ${cause.message}`;
  const codeName = cause instanceof CriError ? criCodeName(cause.code) : undefined;
  throw new CriError(codeName ?? 'Unknown', message, { cause, message });
}

/** Both services without call rules. */
function grpcCriRuntime(
  runtimeConnection: GrpcConnection,
  imageConnection: GrpcConnection,
  tracer: Tracer,
): CriRuntime {
  // Built from the method tables, whose keys and messages are those of CriRuntime.
  return {
    ...methodsOf(RuntimeService, runtimeConnection, tracer),
    ...methodsOf(ImageService, imageConnection, tracer),
  } as unknown as CriRuntime;
}

function methodsOf(
  service: Readonly<Record<string, MethodInfo<object, object>>>,
  connection: GrpcConnection,
  tracer: Tracer,
): Record<string, (request: object, options?: CallOptions) => unknown> {
  return Object.fromEntries(
    Object.entries(service).map(([name, method]) => [
      name,
      method.serverStreaming
        ? (request: object, options?: CallOptions) =>
            tracedStream(tracer, connection, method, request, options)
        : (request: object, options?: CallOptions) =>
            tracedUnary(tracer, connection, method, request, options),
    ]),
  );
}
