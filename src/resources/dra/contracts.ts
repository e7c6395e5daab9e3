/** What dynamic resources are to the rest of the node: claims, the devices that drivers prepared, and the ports. */
import type { CallOptions, ConnectionEvents, Init, MethodInfo } from '../../grpc/index.js';
import type { ResourceClaim } from '../../kube-client/index.js';

/** A device of a claim, as its driver has prepared it. */
export interface PreparedDevice {
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId: string | undefined;
  /** The requests of the claim that it is for; none means all. */
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
}

/** One driver's part in a claim. */
export interface ClaimDriver {
  /** Undefined until the driver has prepared the claim once. */
  readonly devices: readonly PreparedDevice[] | undefined;
  /** Calls that the driver does not want; `*` for all. */
  readonly skipNodeOperations: readonly string[];
}

/** What survives a restart of a claim that pods of this node use, or used. */
export interface ClaimRecord {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly podUids: ReadonlySet<string>;
  readonly drivers: ReadonlyMap<string, ClaimDriver>;
}

/** What the cluster knows and does for dynamic resources; only what a node's authorizer allows. */
export interface DraApi {
  claim(namespace: string, name: string, signal: AbortSignal): Promise<ResourceClaim>;
  /** Deletes the ResourceSlices of this node: all, or those of one driver. */
  deleteSlices(driver: string | undefined, signal: AbortSignal): Promise<void>;
  /** Whether the answer means that the object is not there, or is none of this node's business any more. */
  isGone(error: unknown): boolean;
}

/** A connection to a driver's socket. */
export interface DriverConnection {
  unary<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions,
  ): Promise<Response>;
  stream<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions,
  ): AsyncIterable<Response>;
  /** Connects if it is not connected; the events given at its opening tell what becomes of it. */
  connect(): void;
  /** Idempotent. */
  close(): void;
}

/** The way to drivers' sockets: gRPC on the machine, or a simulation. */
export type OpenDriver = (endpoint: string, events: ConnectionEvents) => DriverConnection;

export const claimKey = ({
  namespace,
  name,
}: {
  readonly namespace: string;
  readonly name: string;
}): string => `${namespace}/${name}`;
