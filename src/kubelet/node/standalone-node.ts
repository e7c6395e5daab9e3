/** The Node object of a kubelet without a cluster: built here, so that pods are admitted by the same rules as with one. */
import type { Node, NodeAddress } from '../../kube/index.js';
import {
  applySetters,
  type DeviceResources,
  freshMemory,
  noDevices,
  type StatusFacts,
} from '../../node/index.js';
import { type NodeBasis, type NodeBasisSettings, nodeOfBasis, readNodeBasis } from './node-basis.js';

export interface StandaloneNodeOptions {
  /** Labels beside those that every node has. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Shown of the node. */
  readonly kubeletVersion?: string;
}

export interface StandaloneNodeInput extends StandaloneNodeOptions {
  readonly ignoreEvictionReservation: boolean;
  /** Addresses that pods see as their host's. */
  readonly hostIps: readonly string[];
}

/** What is seen of the node at one moment. */
export type StandaloneFacts = Pick<StatusFacts, 'nowMs' | 'runtime' | 'pressure' | 'readiness'>;

export class StandaloneNode {
  readonly #basis: NodeBasis;
  readonly #addresses: readonly NodeAddress[];
  #devices: DeviceResources = noDevices;
  #known: Node | undefined;
  #observed: Node | undefined;

  constructor(basis: NodeBasis, hostIps: readonly string[]) {
    this.#basis = basis;
    this.#addresses = [
      ...hostIps.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: basis.registration.nodeName },
    ];
  }

  /** Its labels, taints, addresses and resources; the same object until the devices change. */
  get known(): Node {
    this.#known ??= this.#build();
    return this.#known;
  }

  /** Devices come and go while the node runs. */
  setDevices(devices: DeviceResources): void {
    this.#devices = devices;
    this.#known = undefined;
  }

  /** The node with its conditions, as a cluster would be told of it. */
  observe(facts: StandaloneFacts): Node {
    const { status, machine, platform } = this.#basis;
    const before = this.#observed?.status?.conditions;
    const { known } = this;
    const given = { ...known, status: { ...known.status, ...(before && { conditions: before }) } };
    this.#observed = applySetters(
      given,
      // The addresses were decided by whoever started the kubelet: they stay as those of a cloud do.
      { ...status, addresses: { ...status.addresses, nodeIps: [], externalCloud: true } },
      {
        ...facts,
        machine,
        platform,
        devices: this.#devices,
        network: { addresses: [], routed: { 4: [], 6: [] } },
        resolved: [],
        images: [],
        volumesInUse: undefined,
      },
      freshMemory,
    ).node;
    return this.#observed;
  }

  #build(): Node {
    const node = nodeOfBasis(this.#basis, this.#devices);
    return { ...node, status: { ...node.status, addresses: [...this.#addresses] } };
  }
}

/** Throws when the reservations make no node of this machine. */
export async function readStandaloneNode(
  settings: NodeBasisSettings,
  { labels = {}, kubeletVersion = '', ignoreEvictionReservation, hostIps }: StandaloneNodeInput,
): Promise<StandaloneNode> {
  const flags = { nodeLabels: labels, nodeIp: '', externalCloud: false, ignoreEvictionReservation };
  return new StandaloneNode(await readNodeBasis(settings, { flags, kubeletVersion }), hostIps);
}
