/** Reads what the Node object of this machine is built from; the same with a cluster and without. */
import { isMissing } from '../../host/index.js';
import type { Node, ResourceList } from '../../kube/index.js';
import {
  type DeviceResources,
  describedInfo,
  describedPlatform,
  initialNode,
  type MachineInfo,
  machineCapacity,
  nodeReservation,
  nodeResources,
  type PlatformFacts,
  parseNodeIps,
  type RegistrationSettings,
  readMachineFacts,
  readPlatformFacts,
  reservationProblem,
  type StatusSettings,
} from '../../node/index.js';
import type { NodeOptions, NodeSettings } from '../cluster/node-options.js';
import { registrationSettings, statusSettings } from './node-settings.js';

export type NodeBasisSettings = Pick<
  NodeSettings,
  'nodeName' | 'rootDir' | 'config' | 'gates' | 'timeline' | 'machine' | 'describedMachine'
>;

export interface NodeBasis {
  /** Undefined if it could not be read; the node has no capacity then. */
  readonly machine: MachineInfo | undefined;
  readonly platform: PlatformFacts;
  readonly status: StatusSettings;
  readonly registration: RegistrationSettings;
}

/** Throws when the command line or the reservations make no node of this machine. */
export async function readNodeBasis(
  settings: NodeBasisSettings,
  options: Pick<NodeOptions, 'flags' | 'kubeletVersion' | 'declaredFeatures'>,
): Promise<NodeBasis> {
  const { machine: host } = settings;
  const nodeIps = readNodeIps(options.flags.nodeIp, settings);
  const { describedMachine: described } = settings;
  const platform =
    described === undefined
      ? await readPlatformFacts(host.files, host.kernelRelease)
      : describedPlatform(described);
  const machine = described === undefined ? await tryReadMachine(settings) : describedInfo(described);
  const status = statusSettings(settings, options, nodeIps, host.inUserNamespace);
  checkReservation(status, machine);
  return {
    machine,
    platform,
    status,
    registration: registrationSettings(settings, options.flags, platform.architecture),
  };
}

/** The node as far as it is known without a look at the network or the runtime: what pods are admitted by. */
export function nodeOfBasis(
  { registration, status, machine }: NodeBasis,
  devices: DeviceResources,
): Node & { status: NonNullable<Node['status']> } {
  const settings = status.capacity;
  return {
    ...initialNode(registration),
    status: { ...nodeResources({ settings, machine, devices, existing: {} }) },
  };
}

/** What the node offers to pods; of a node that nobody tells of only its memory is known. */
export function allocatableOf(
  node: Node | undefined,
  { memoryCapacityBytes }: { readonly memoryCapacityBytes: number },
): ResourceList {
  return node?.status?.allocatable ?? { memory: String(memoryCapacityBytes) };
}

function readNodeIps(flag: string, { timeline }: Pick<NodeBasisSettings, 'timeline'>): readonly string[] {
  const nodeIps = parseNodeIps(flag);
  if (nodeIps.kind === 'invalid') throw new Error(nodeIps.message);
  for (const item of nodeIps.dropped) {
    timeline.record({ kind: 'problem', what: 'node.ip', message: `${item} of --node-ip is no IP address` });
  }
  return nodeIps.ips;
}

/**
 * A machine that does not show what it has makes a node without capacity. One that fails to show it makes none: the node
 * would refuse pods for good because of one failed read.
 */
async function tryReadMachine({
  machine,
  rootDir,
  timeline,
}: Pick<NodeBasisSettings, 'machine' | 'rootDir' | 'timeline'>): Promise<MachineInfo | undefined> {
  try {
    return await readMachineFacts({ files: machine.files, rootDir });
  } catch (error) {
    if (!isMissing(error)) throw error;
    timeline.record({
      kind: 'problem',
      what: 'node.machine',
      message: 'the machine cannot be read',
      error,
    });
    return undefined;
  }
}

function checkReservation(
  { capacity: settings }: StatusSettings,
  machineFacts: MachineInfo | undefined,
): void {
  if (machineFacts === undefined) return;
  const capacity = machineCapacity(settings, machineFacts);
  const problem = reservationProblem(capacity, nodeReservation(settings, capacity));
  if (problem !== undefined) throw new Error(problem);
}
