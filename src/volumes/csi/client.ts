/** The node service of one CSI driver, with the deadline of a step and the checks before a call. */
import type { Clock } from '../../async/index.js';
import type { Init } from '../../grpc/index.js';
import { VolumeFailure, type VolumeSpec } from '../contracts.js';
import { type CallCsi, type CsiMetrics, measured } from './call.js';
import type { CsiDrivers } from './drivers.js';
import {
  Node,
  type NodeExpandVolumeRequest,
  type NodeGetInfoResponse,
  type NodeGetStorageHealthResponse,
  type NodeGetVolumeHealthRequest,
  type NodeGetVolumeHealthResponse,
  type NodeGetVolumeStatsRequest,
  type NodeGetVolumeStatsResponse,
  type NodePublishVolumeRequest,
  NodeServiceCapability_RPC_Type,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
} from './gen/csi.js';

/** What all calls of one step (stage, publish, …) may take together. */
export const csiStepMs = 120_000;

export type NodeCapability = keyof typeof NodeServiceCapability_RPC_Type;

/** Calls of one step. Each rejects with the driver's GrpcError, or with an Error that names what is missing. */
export interface CsiNodeClient {
  info(): Promise<NodeGetInfoResponse>;
  capabilities(): Promise<ReadonlySet<NodeCapability>>;
  stage(request: Init<NodeStageVolumeRequest>): Promise<void>;
  unstage(request: Init<NodeUnstageVolumeRequest>): Promise<void>;
  publish(request: Init<NodePublishVolumeRequest>): Promise<void>;
  unpublish(request: Init<NodeUnpublishVolumeRequest>): Promise<void>;
  stats(request: Init<NodeGetVolumeStatsRequest>): Promise<NodeGetVolumeStatsResponse>;
  expand(request: Init<NodeExpandVolumeRequest>): Promise<void>;
  volumeHealth(request: Init<NodeGetVolumeHealthRequest>): Promise<NodeGetVolumeHealthResponse>;
  storageHealth(): Promise<NodeGetStorageHealthResponse>;
}

export interface CsiClientOptions {
  readonly clock: Clock;
  readonly drivers: CsiDrivers;
  readonly call: CallCsi;
  readonly metrics: CsiMetrics;
}

export const notRegistered = (driver: string): string =>
  `driver name ${driver} not found in the list of registered CSI drivers`;

/** Begins a step with a driver, for a volume if given. Throws a transient failure if the driver is not registered. */
export function csiStep(
  { clock, drivers, call, metrics }: CsiClientOptions,
  driver: string,
  signal?: AbortSignal,
  spec?: VolumeSpec,
): CsiNodeClient {
  const registered = drivers.get(driver);
  if (registered === undefined) throw new VolumeFailure('transient', notRegistered(driver));
  const { endpoint } = registered;
  const endMs = clock.monotonic() + csiStepMs;
  const isMigrated = spec?.kind === 'persistent' && spec.isMigrated === true;
  const timed = measured(call, { clock, driver, metrics, isMigrated });
  const options = () => ({
    timeoutMs: Math.max(1, endMs - clock.monotonic()),
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    info: () => timed(endpoint, Node.nodeGetInfo, {}, options()),
    capabilities: async () =>
      namesOf((await timed(endpoint, Node.nodeGetCapabilities, {}, options())).capabilities),
    stage: async (request) => {
      required({ 'volume id': request.volumeId, 'staging target path': request.stagingTargetPath });
      await timed(endpoint, Node.nodeStageVolume, request, options());
    },
    unstage: async (request) => {
      required({ 'volume id': request.volumeId, 'staging target path': request.stagingTargetPath });
      await timed(endpoint, Node.nodeUnstageVolume, request, options());
    },
    publish: async (request) => {
      required({ 'volume id': request.volumeId, 'target path': request.targetPath });
      await timed(endpoint, Node.nodePublishVolume, request, options());
    },
    unpublish: async (request) => {
      required({ 'volume id': request.volumeId, 'target path': request.targetPath });
      await timed(endpoint, Node.nodeUnpublishVolume, request, options());
    },
    stats: async (request) => {
      required({ 'volume id': request.volumeId, 'volume path': request.volumePath });
      return timed(endpoint, Node.nodeGetVolumeStats, request, options());
    },
    expand: async (request) => {
      required({ 'volume id': request.volumeId, 'volume path': request.volumePath });
      await timed(endpoint, Node.nodeExpandVolume, request, options());
    },
    volumeHealth: async (request) => {
      required({ 'volume id': request.volumeId });
      return timed(endpoint, Node.nodeGetVolumeHealth, request, options());
    },
    storageHealth: () => timed(endpoint, Node.nodeGetStorageHealth, {}, options()),
  };
}

function required(fields: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === '') throw new VolumeFailure('final', `missing ${name}`);
  }
}

/** Numbers that this node does not know are left out. */
function namesOf(
  capabilities: readonly { readonly type?: { readonly value: { readonly type: number } } | undefined }[],
): ReadonlySet<NodeCapability> {
  const names = new Set<NodeCapability>();
  for (const { type } of capabilities) {
    for (const [name, number] of Object.entries(NodeServiceCapability_RPC_Type)) {
      // Object.entries widens the keys to string; they are exactly the names of capabilities.
      if (type?.value.type === number) names.add(name as NodeCapability);
    }
  }
  return names;
}
