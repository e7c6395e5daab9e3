/** Reads the options of the topology manager's policy. */
import { mostNumaNodes } from './numa-mask.js';

export interface TopologyPolicyOptions {
  readonly preferClosest: boolean;
  readonly maxNumaNodes: number;
}

/** A setting that no start can be made with; the message begins with the field. */
export class TopologyConfigError extends Error {
  override readonly name = 'TopologyConfigError';

  constructor(text: string) {
    super(`topologyManagerPolicyOptions (--topology-manager-policy-options): ${text}`);
  }
}

const preferClosestName = 'prefer-closest-numa-nodes';
const maxNodesName = 'max-allowable-numa-nodes';
const defaultMaxNodes = 8;

const truths: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
]);

/** Throws a `TopologyConfigError` for the first option, by name, that is wrong. */
export function readTopologyPolicyOptions(given: Readonly<Record<string, string>>): TopologyPolicyOptions {
  const options = { preferClosest: false, maxNumaNodes: defaultMaxNodes };
  for (const [name, text] of Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1))) {
    switch (name) {
      case preferClosestName: {
        const value = truths.get(text);
        if (value === undefined) {
          throw new TopologyConfigError(
            `bad value for option "${name}": strconv.ParseBool: parsing "${text}": invalid syntax`,
          );
        }
        options.preferClosest = value;
        break;
      }
      case maxNodesName:
        options.maxNumaNodes = readMaxNodes(text);
        break;
      default:
        throw new TopologyConfigError(`unknown Topology Manager Policy option: "${name}"`);
    }
  }
  return options;
}

function readMaxNodes(text: string): number {
  const number = `unable to convert policy option to integer "${maxNodesName}": strconv.Atoi: parsing "${text}"`;
  if (!/^[+-]?\d+$/.test(text)) throw new TopologyConfigError(`${number}: invalid syntax`);
  const nodes = Number(text);
  if (Math.abs(nodes) >= 2 ** 63) throw new TopologyConfigError(`${number}: value out of range`);
  if (nodes < defaultMaxNodes) {
    throw new TopologyConfigError(
      `the minimum value of "${maxNodesName}" should not be less than ${defaultMaxNodes}`,
    );
  }
  return Math.min(nodes, mostNumaNodes);
}
