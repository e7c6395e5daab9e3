/** The Controller service on loop devices: volumes are made, grown, attached and listed without any node. */
import { createHash } from 'node:crypto';
import { GrpcError } from '../../../src/grpc/index.js';
import { accessOf, demand, sizeIn } from './arguments.js';
import {
  type ControllerExpandVolumeRequest,
  type ControllerPublishVolumeRequest,
  ControllerServiceCapability_RPC_Type,
  type ControllerUnpublishVolumeRequest,
  type CreateVolumeRequest,
  type DeleteVolumeRequest,
  type ListVolumesRequest,
  type ValidateVolumeCapabilitiesRequest,
} from './gen/controller.js';
import type { NodeIdentity } from './node-identity.js';
import { isVolumeId, type LoopVolumes, type VolumeRecord } from './volumes.js';

type ControllerCapabilityName = keyof typeof ControllerServiceCapability_RPC_Type;

const defaultBytes = 64 * 1024 * 1024;

export interface LoopControllerOptions {
  readonly volumes: LoopVolumes;
  readonly attaches: boolean;
  /** What the Node service says of itself. */
  readonly identity: NodeIdentity;
}

export function loopControllerService(options: LoopControllerOptions): object {
  const { volumes, attaches, identity } = options;
  const controller = new LoopController(options);
  const names: ControllerCapabilityName[] = [
    'CREATE_DELETE_VOLUME',
    'LIST_VOLUMES',
    'GET_CAPACITY',
    'EXPAND_VOLUME',
    ...(identity.capabilities.includes('SINGLE_NODE_MULTI_WRITER')
      ? (['SINGLE_NODE_MULTI_WRITER'] as const)
      : []),
    ...(attaches
      ? (['PUBLISH_UNPUBLISH_VOLUME', 'PUBLISH_READONLY', 'LIST_VOLUMES_PUBLISHED_NODES'] as const)
      : []),
  ];
  return {
    controllerGetCapabilities: async () => ({
      capabilities: names.map((name) => ({
        type: { case: 'rpc', value: { type: ControllerServiceCapability_RPC_Type[name] } },
      })),
    }),
    createVolume: async (request: CreateVolumeRequest) => {
      demand({ name: request.name, volumeCapabilities: request.volumeCapabilities });
      request.volumeCapabilities.forEach(accessOf);
      // Names are numbered in the order of their creation, so only one is created at a time.
      return { volume: volumeOf(await volumes.alone('', () => controller.create(request))) };
    },
    deleteVolume: async ({ volumeId }: DeleteVolumeRequest) => {
      demand({ volumeId });
      await volumes.alone(volumeId, () => controller.delete(volumeId));
      return {};
    },
    controllerPublishVolume: async (request: ControllerPublishVolumeRequest) => {
      const { volumeId, nodeId, volumeCapability } = request;
      demand({ volumeId, nodeId, volumeCapability });
      await volumes.alone(volumeId, () => controller.attach(request));
      return { publishContext: { attachedTo: nodeId } };
    },
    controllerUnpublishVolume: async ({ volumeId, nodeId }: ControllerUnpublishVolumeRequest) => {
      demand({ volumeId });
      await volumes.alone(volumeId, () => controller.detach(volumeId, nodeId));
      return {};
    },
    validateVolumeCapabilities: async (request: ValidateVolumeCapabilitiesRequest) => {
      const { volumeId, volumeCapabilities, volumeContext, parameters } = request;
      demand({ volumeId, volumeCapabilities });
      volumes.get(volumeId);
      return { confirmed: { volumeContext, volumeCapabilities, parameters } };
    },
    listVolumes: async (request: ListVolumesRequest) => controller.list(request),
    getCapacity: async () => ({ availableCapacity: await volumes.availableBytes() }),
    controllerExpandVolume: async ({ volumeId, capacityRange }: ControllerExpandVolumeRequest) => {
      demand({ volumeId, capacityRange });
      const capacityBytes = await volumes.alone(volumeId, async () => {
        const record = volumes.get(volumeId);
        const wanted = sizeIn(capacityRange, record.capacityBytes);
        if (wanted > (await volumes.availableBytes()))
          throw new GrpcError('OutOfRange', 'the disk is too small');
        return wanted <= record.capacityBytes
          ? record.capacityBytes
          : (await volumes.grow(record, wanted)).capacityBytes;
      });
      return { capacityBytes, nodeExpansionRequired: true };
    },
  };
}

class LoopController {
  readonly #options: LoopControllerOptions;

  constructor(options: LoopControllerOptions) {
    this.#options = options;
  }

  async create({
    name,
    capacityRange,
    parameters,
    volumeContentSource,
  }: CreateVolumeRequest): Promise<VolumeRecord> {
    const { volumes } = this.#options;
    if (volumeContentSource !== undefined) {
      throw new GrpcError('InvalidArgument', 'volumes are made empty: there are no snapshots and no copies');
    }
    const id = isVolumeId(name) ? name : createHash('sha256').update(name).digest('hex');
    const present = volumes.find(id);
    const wanted = sizeIn(capacityRange, present?.capacityBytes ?? defaultBytes);
    if (present !== undefined) {
      if (wanted === present.capacityBytes) return present;
      throw new GrpcError('AlreadyExists', `volume ${id} has ${present.capacityBytes} bytes, not ${wanted}`);
    }
    if (wanted > (await volumes.availableBytes())) throw new GrpcError('OutOfRange', 'the disk is too small');
    return volumes.create({ id, capacityBytes: wanted, parameters });
  }

  async delete(volumeId: string): Promise<void> {
    const { volumes } = this.#options;
    const nodes = Object.keys(volumes.find(volumeId)?.attached ?? {});
    if (nodes.length > 0) {
      throw new GrpcError('FailedPrecondition', `volume ${volumeId} is attached to ${nodes.join(', ')}`);
    }
    await volumes.delete(volumeId);
  }

  async attach({ volumeId, nodeId, readonly }: ControllerPublishVolumeRequest): Promise<void> {
    const { volumes } = this.#options;
    const record = volumes.get(volumeId);
    if (nodeId !== this.#options.identity.nodeId) throw new GrpcError('NotFound', `no node ${nodeId}`);
    const present = record.attached[nodeId];
    if (present !== undefined && present.readonly !== readonly) {
      throw new GrpcError('AlreadyExists', `volume ${volumeId} is attached to ${nodeId} in another way`);
    }
    const { maxVolumes } = this.#options.identity;
    const others = volumes
      .list()
      .filter(({ id, attached }) => id !== volumeId && attached[nodeId] !== undefined);
    if (maxVolumes > 0 && others.length >= maxVolumes) {
      throw new GrpcError(
        'ResourceExhausted',
        `node ${nodeId} has ${maxVolumes} volumes, which is its limit`,
      );
    }
    await volumes.save({ ...record, attached: { ...record.attached, [nodeId]: { readonly } } });
  }

  /** Without a node: from all of them. */
  async detach(volumeId: string, nodeId: string): Promise<void> {
    const { volumes } = this.#options;
    const record = volumes.find(volumeId);
    if (record === undefined) return;
    const { [nodeId]: _, ...others } = record.attached;
    await volumes.save({ ...record, attached: nodeId === '' ? {} : others });
  }

  /** A token is the number of the last volume that was listed, so it lasts though that volume is deleted. */
  list({ maxEntries, startingToken }: ListVolumesRequest): object {
    if (maxEntries < 0) throw new GrpcError('InvalidArgument', `${maxEntries} entries are none`);
    if (!/^\d*$/.test(startingToken))
      throw new GrpcError('Aborted', `no listing had the token ${startingToken}`);
    const left = this.#options.volumes.list().filter(({ sequence }) => sequence > Number(startingToken));
    const page = maxEntries === 0 ? left : left.slice(0, maxEntries);
    return {
      entries: page.map((record) => ({
        volume: volumeOf(record),
        status: { publishedNodeIds: Object.keys(record.attached) },
      })),
      nextToken: page.length < left.length ? String(page.at(-1)?.sequence ?? 0) : '',
    };
  }
}

function volumeOf({ id, capacityBytes, parameters }: VolumeRecord): object {
  return { volumeId: id, capacityBytes, volumeContext: { ...parameters } };
}
