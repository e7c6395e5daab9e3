/** Decides what the Node and the CSINode say of a driver. */
import { goQuote, labelValue, type Node, type ObjectMeta, qualifiedName } from '../../kube/index.js';
import type { CsiNode } from '../../kube-client/index.js';
import { migratedPluginNames } from '../migration/index.js';
import type { NodeGetInfoResponse } from './gen/csi.js';
import { csiLimits } from './limits.js';
import { hasControlCharacter } from './volume-problem.js';

/** What a driver says of this node, within bounds. */
export interface DriverNodeInfo {
  readonly nodeId: string;
  /** Undefined: no limit. */
  readonly maxVolumes: number | undefined;
  readonly topology: Readonly<Record<string, string>>;
}

const largestCount = 2_147_483_647;

/** Throws with what is wrong. */
export function judgeNodeInfo(response: NodeGetInfoResponse): DriverNodeInfo {
  const { nodeId, maxVolumesPerNode, accessibleTopology } = response;
  if (nodeId === '') throw new Error('driverNodeID must not be empty');
  const { nodeIdBytes, topologyBytes } = csiLimits;
  if (Buffer.byteLength(nodeId) > nodeIdBytes) throw new Error(`node_id is longer than ${nodeIdBytes} bytes`);
  if (hasControlCharacter(nodeId)) throw new Error(`node_id ${goQuote(nodeId)} has control characters`);
  const topology = accessibleTopology?.segments ?? {};
  if (Buffer.byteLength(JSON.stringify(topology)) > topologyBytes) {
    throw new Error(`accessible_topology is larger than ${topologyBytes} bytes`);
  }
  for (const [key, value] of Object.entries(topology)) checkSegment(key, value);
  const count = Number(maxVolumesPerNode);
  return { nodeId, maxVolumes: count > 0 ? Math.min(count, largestCount) : undefined, topology };
}

/** Segments become labels of the node; one that cannot would have the API refuse all of them. */
function checkSegment(key: string, value: string): void {
  const keyProblem = qualifiedName(key);
  if (keyProblem !== undefined) {
    throw new Error(`accessible_topology: the key ${goQuote(key)} cannot be that of a label: ${keyProblem}`);
  }
  const valueProblem = labelValue(value);
  if (valueProblem !== undefined) {
    throw new Error(
      `accessible_topology: the value ${goQuote(value)} of ${key} cannot be that of a label: ${valueProblem}`,
    );
  }
}

const nodeIdAnnotation = 'csi.volume.kubernetes.io/nodeid';

/** The annotations and labels to patch; undefined if the node has them. Throws if the node contradicts the driver. */
export function nodeChange(
  { metadata }: Pick<Node, 'metadata'>,
  driver: string,
  { nodeId, topology }: Pick<DriverNodeInfo, 'nodeId' | 'topology'>,
): Pick<ObjectMeta, 'annotations' | 'labels'> | undefined {
  const ids = nodeIds(metadata);
  const labels = metadata.labels ?? {};
  const missing: Record<string, string> = {};
  for (const [key, value] of Object.entries(topology)) {
    const known = labels[key];
    if (known !== undefined && known !== value) {
      throw new Error(
        `detected topology value collision: driver reported ${goQuote(key)}:${goQuote(value)} but existing label is ${goQuote(key)}:${goQuote(known)}`,
      );
    }
    if (known === undefined) missing[key] = value;
  }
  const hasId = ids[driver] === nodeId;
  const hasLabels = Object.keys(missing).length === 0;
  if (hasId && hasLabels) return undefined;
  return {
    ...(hasId ? {} : { annotations: { [nodeIdAnnotation]: sortedJson({ ...ids, [driver]: nodeId }) } }),
    ...(hasLabels ? {} : { labels: missing }),
  };
}

/** The patch that takes a driver off the node; null removes the annotation. Its labels stay. */
export function nodeRemoval(
  { metadata }: Pick<Node, 'metadata'>,
  driver: string,
): { readonly annotations: Readonly<Record<string, string | null>> } | undefined {
  const { [driver]: known, ...others } = nodeIds(metadata);
  if (known === undefined) return undefined;
  const isLast = Object.keys(others).length === 0;
  return { annotations: { [nodeIdAnnotation]: isLast ? null : sortedJson(others) } };
}

function nodeIds({ annotations }: ObjectMeta): Readonly<Record<string, string>> {
  const text = annotations?.[nodeIdAnnotation] ?? '';
  if (text === '') return {};
  const fail = (why: string): never => {
    throw new Error(
      `failed to parse node's ${goQuote(nodeIdAnnotation)} annotation value (${goQuote(text)}) err=${why}`,
    );
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return fail('it is no object');
  return Object.fromEntries(
    Object.entries(parsed).map(([name, id]) => [
      name,
      typeof id === 'string' ? id : fail(`the id of ${name} is no string`),
    ]),
  );
}

function sortedJson(values: Readonly<Record<string, string>>): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))),
  );
}

const migratedAnnotation = 'storage.alpha.kubernetes.io/migrated-plugins';

/** The owner of a CSINode. */
export interface OwningNode {
  readonly name: string;
  readonly uid: string;
}

export function newCsiNode({ name, uid }: OwningNode): CsiNode {
  return {
    metadata: {
      name,
      annotations: { [migratedAnnotation]: migratedPluginNames.join(',') },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    spec: { drivers: [] },
  };
}

/** Whether the object belongs to an earlier node of the same name. */
export function foreignOwner({ metadata }: CsiNode, { uid }: OwningNode): string | undefined {
  const [owner] = metadata.ownerReferences ?? [];
  return owner === undefined || owner.uid === uid ? undefined : owner.uid;
}

/** The object with the annotation of migrated plugins; undefined if it has it. */
export function withMigratedPlugins(csiNode: CsiNode): CsiNode | undefined {
  const { annotations } = csiNode.metadata;
  const known = new Set((annotations?.[migratedAnnotation] ?? '').split(',').filter((name) => name !== ''));
  if (known.size === migratedPluginNames.length && migratedPluginNames.every((name) => known.has(name)))
    return undefined;
  const metadata = {
    ...csiNode.metadata,
    annotations: { ...annotations, [migratedAnnotation]: migratedPluginNames.join(',') },
  };
  return { ...csiNode, metadata };
}

/** The object with the driver's entry, which is the last one; undefined if it is there as it should be. */
export function withDriver(csiNode: CsiNode, driver: string, info: DriverNodeInfo): CsiNode | undefined {
  const topologyKeys = Object.keys(info.topology).sort();
  const drivers = csiNode.spec.drivers ?? [];
  const known = drivers.find(({ name }) => name === driver);
  const isSame =
    known?.nodeID === info.nodeId &&
    known.allocatable?.count === info.maxVolumes &&
    [...(known.topologyKeys ?? [])].sort().join('\0') === topologyKeys.join('\0');
  if (isSame) return undefined;
  const entry = {
    name: driver,
    nodeID: info.nodeId,
    topologyKeys,
    ...(info.maxVolumes === undefined ? {} : { allocatable: { count: info.maxVolumes } }),
  };
  return { ...csiNode, spec: { drivers: [...drivers.filter(({ name }) => name !== driver), entry] } };
}

/** Undefined if the driver has no entry. */
export function withoutDriver(csiNode: CsiNode, driver: string): CsiNode | undefined {
  const drivers = csiNode.spec.drivers ?? [];
  const others = drivers.filter(({ name }) => name !== driver);
  return others.length === drivers.length ? undefined : { ...csiNode, spec: { drivers: others } };
}
