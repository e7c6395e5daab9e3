/** Gathers what the description of the node is made of; asks the rooms and changes nothing. */
import { errorText } from '../../async/index.js';
import type { Node, Pod } from '../../kube/index.js';
import type { NodeEviction } from '../rooms/create-eviction.js';
import type { KubeletSettings } from '../settings.js';
import { evictionOutlook } from '../what-if/evict.js';
import type { NodeDescription, NodePressure, ResourceHoldings } from './contracts.js';
import { describeNode } from './describe.js';

export type DescribeSettings = Pick<KubeletSettings, 'nodeName' | 'config' | 'eviction'>;

export interface DescribeDeps {
  /** The node with its conditions; undefined while nobody has told of it. */
  readonly node: () => Node | undefined;
  readonly eviction: Pick<NodeEviction, 'forecast' | 'off'>;
  readonly activePods: () => readonly Pod[];
  /** Of every manager that gives parts of the machine to single containers. */
  readonly holdings: () => readonly ResourceHoldings[];
}

export function createDescribeNode(
  { nodeName, config, eviction: given }: DescribeSettings,
  { node, eviction, activePods, holdings }: DescribeDeps,
): () => Promise<NodeDescription> {
  return async () => {
    const pressure = await pressureOf(eviction);
    return describeNode({
      node: node() ?? { metadata: { name: nodeName } },
      reservation: { ...config, ignoreEviction: given?.boundsAllocatable === false },
      pods: activePods(),
      holdings: holdings(),
      pressure,
    });
  };
}

async function pressureOf({ forecast, off }: DescribeDeps['eviction']): Promise<NodePressure> {
  const told = off === undefined ? {} : { off };
  if (forecast === undefined) return { ...told, signals: [] };
  try {
    const { signals } = evictionOutlook(await forecast(), off);
    return { ...told, signals: signals.map(({ pods: _, reclaimFirst: __, ...signal }) => signal) };
  } catch (error) {
    return { ...told, problem: errorText(error), signals: [] };
  }
}
