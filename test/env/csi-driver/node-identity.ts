/** The calls of the Node service that are the same whatever the volumes are. */
import { GrpcError } from '../../../src/grpc/index.js';
import {
  type NodeGetVolumeHealthRequest,
  NodeServiceCapability_RPC_Type,
  type StorageHealth,
  type VolumeHealthStatus,
} from '../../../src/volumes/csi/gen/csi.js';

export type NodeCapabilityName = keyof typeof NodeServiceCapability_RPC_Type;

export interface NodeIdentity {
  nodeId: string;
  maxVolumes: number;
  readonly topology: Readonly<Record<string, string>>;
  capabilities: readonly NodeCapabilityName[];
  /** What is wrong with volumes, by their ids. */
  readonly volumeHealth: Map<string, readonly VolumeHealthStatus[]>;
  /** What is wrong with the storage. */
  storageHealth: readonly StorageHealth[];
}

/** Asked at each call: a test may change what the driver says. */
export function nodeIdentityCalls(identity: NodeIdentity): object {
  return {
    nodeGetInfo: async () => ({
      nodeId: identity.nodeId,
      maxVolumesPerNode: identity.maxVolumes,
      accessibleTopology: { segments: { ...identity.topology } },
    }),
    nodeGetCapabilities: async () => ({
      capabilities: identity.capabilities.map((name) => ({
        type: { case: 'rpc', value: { type: NodeServiceCapability_RPC_Type[name] } },
      })),
    }),
    nodeGetVolumeHealth: async ({ volumeId, volumePublishPath }: NodeGetVolumeHealthRequest) => {
      if (volumeId === '') throw new GrpcError('InvalidArgument', 'volume_id is missing');
      if (volumePublishPath === '') throw new GrpcError('InvalidArgument', 'volume_publish_path is missing');
      return { volumeHealth: { volumeId, healthStatuses: [...(identity.volumeHealth.get(volumeId) ?? [])] } };
    },
    nodeGetStorageHealth: async () => ({ backendHealth: [...identity.storageHealth] }),
  };
}
