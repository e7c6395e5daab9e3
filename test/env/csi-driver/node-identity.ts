/** The calls of the Node service that are the same whatever the volumes are. */
import { NodeServiceCapability_RPC_Type } from '../../../src/volumes/csi/gen/csi.js';

export type NodeCapabilityName = keyof typeof NodeServiceCapability_RPC_Type;

export interface NodeIdentity {
  nodeId: string;
  maxVolumes: number;
  readonly topology: Readonly<Record<string, string>>;
  capabilities: readonly NodeCapabilityName[];
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
  };
}
