/** What device plugins are to the node: what they say of their devices, how they are called, and what containers get. */
import type {
  AllocateResponse,
  ContainerAllocateResponse,
  ContainerPreferredAllocationRequest,
  DevicePluginOptions,
  ListAndWatchResponse,
  PreferredAllocationResponse,
  RegisterRequest,
} from './gen/device-plugin.js';

/** A device by its plugin's account, within bounds. */
export interface PluginDevice {
  readonly id: string;
  /** `Healthy`; anything else counts as unhealthy. */
  readonly health: string;
  /** Empty if it is near no NUMA node in particular. */
  readonly numaNodes: readonly number[];
}

/** Devices of one resource that a container has, and what they bring into it. */
export interface DeviceRecord {
  /** A device near two nodes stands under both; −1 is the key of those near none. */
  readonly idsByNode: ReadonlyMap<number, readonly string[]>;
  readonly response: ContainerAllocateResponse;
}

export interface PluginCallOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A connection to a plugin; nothing that it answers is checked. */
export interface DevicePluginClient {
  options(call: PluginCallOptions): Promise<DevicePluginOptions>;
  listAndWatch(signal: AbortSignal): AsyncIterable<ListAndWatchResponse>;
  preferred(
    request: ContainerPreferredAllocationRequest,
    call: PluginCallOptions,
  ): Promise<PreferredAllocationResponse>;
  allocate(ids: readonly string[], call: PluginCallOptions): Promise<AllocateResponse>;
  preStart(ids: readonly string[], call: PluginCallOptions): Promise<void>;
  /** Idempotent. */
  close(): void;
}

/** The way to plugins: gRPC on the machine, or a simulation. */
export type OpenDevicePlugin = (socketPath: string) => DevicePluginClient;

export interface DeviceRegistrationServer {
  /** Why plugins cannot reach it; undefined if they can. */
  failure(): Error | undefined;
  close(): Promise<void>;
}

/** Listens where plugins register themselves: on a socket, or in a simulation. A rejection is told to the plugin. */
export type ServeDeviceRegistration = (
  socketPath: string,
  register: (request: RegisterRequest, signal: AbortSignal) => Promise<void>,
) => Promise<DeviceRegistrationServer>;

/** Where plugins put their sockets, and where the record of who holds which device lies. */
export const defaultDevicePluginDirectory = '/var/lib/kubelet/device-plugins';
export const registrationSocketName = 'kubelet.sock';
export const deviceCheckpointName = 'kubelet_internal_checkpoint';
export const devicePluginVersion = 'v1beta1';
export const healthy = 'Healthy';
/** The key of devices that are near no NUMA node. */
export const nodeless = -1;
