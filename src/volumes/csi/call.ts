/** Calls of CSI drivers: one connection for each call, counted by its outcome. */
import type { Clock } from '../../async/index.js';
import { type CallOptions, GrpcConnection, GrpcError, type Init, type MethodInfo } from '../../grpc/index.js';
import type { Registry } from '../../metrics/index.js';

/** The way to a driver's socket: gRPC on the machine, or a simulation. */
export type CallCsi = <Request extends object, Response extends object>(
  endpoint: string,
  method: MethodInfo<Request, Response>,
  request: Init<Request>,
  options: CallOptions,
) => Promise<Response>;

/** A socket that is missing or refuses fails at once with Unavailable. */
export const callCsiByGrpc: CallCsi = async (endpoint, method, request, options) => {
  const connection = new GrpcConnection(endpoint);
  try {
    return await connection.unary(method, request, options);
  } finally {
    connection.close();
  }
};

export type CsiMetrics = ReturnType<typeof createCsiMetrics>;

export function createCsiMetrics(registry: Registry) {
  return {
    operations: registry.histogram(
      'csi_operations_seconds',
      'Duration of calls of CSI drivers.',
      ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
      [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    ),
    storageHealth: registry.gauge(
      'csi_node_storage_health_status',
      'What CSI drivers say is wrong with their storage, as seen from this node.',
      ['driver_name', 'status', 'reason'],
    ),
  };
}

export interface MeasuredCalls {
  readonly clock: Clock;
  readonly driver: string;
  readonly metrics: CsiMetrics;
  /** Whether they are for a volume that was one of an in-tree plugin. */
  readonly isMigrated: boolean;
}

/** Measures every call. */
export function measured(call: CallCsi, { clock, driver, metrics, isMigrated }: MeasuredCalls): CallCsi {
  return async (endpoint, method, request, options) => {
    const startedMs = clock.monotonic();
    const count = (code: string): void =>
      metrics.operations.observe((clock.monotonic() - startedMs) / 1000, {
        driver_name: driver,
        method_name: method.path,
        grpc_status_code: code,
        migrated: String(isMigrated),
      });
    try {
      const response = await call(endpoint, method, request, options);
      count('OK');
      return response;
    } catch (error) {
      count(error instanceof GrpcError ? error.codeName : 'unknown-non-grpc');
      throw error;
    }
  };
}
