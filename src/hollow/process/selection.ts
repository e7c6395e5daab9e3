/** Decides which nodes a request to a running fleet means. */
import type { HollowNodeStatus } from '../fleet/contracts.js';
import { hollowLimits } from '../limits.js';
import type { HollowAction } from './contracts.js';

/** Names, or so many of those that the action is for, or all of these. */
export interface NodeSelection {
  readonly names: readonly string[];
  readonly count: number | undefined;
  readonly all: boolean;
}

export type SelectionDecision =
  | { readonly kind: 'nodes'; readonly names: readonly string[] }
  | { readonly kind: 'refuse'; readonly message: string };

/** In which states a node is chosen when it is not named. */
const meant: Readonly<Record<HollowAction, readonly HollowNodeStatus['state'][]>> = {
  remove: ['waiting', 'starting', 'ready', 'cut', 'dead', 'failed'],
  kill: ['ready'],
  cut: ['ready'],
  restore: ['cut', 'dead', 'failed'],
};

export function selectNodes(
  action: HollowAction,
  { names, count, all }: NodeSelection,
  nodes: readonly HollowNodeStatus[],
): SelectionDecision {
  const ways = [names.length > 0, count !== undefined, all].filter(Boolean).length;
  if (ways !== 1) return { kind: 'refuse', message: `name nodes to ${action}, or a count of them, or all` };
  if (names.length > 0) {
    const known = new Set(nodes.map(({ name }) => name));
    const missing = names.filter((name) => !known.has(name));
    if (missing.length === 0) return { kind: 'nodes', names: [...new Set(names)] };
    return { kind: 'refuse', message: `no such node here: ${missing.slice(0, 10).join(', ')}` };
  }
  const fit = nodes.filter(({ state }) => meant[action].includes(state)).map(({ name }) => name);
  if (all) return { kind: 'nodes', names: fit };
  if (count !== undefined && count > fit.length) {
    const states = meant[action].join(', ');
    return { kind: 'refuse', message: `only ${fit.length} nodes are ${states}: ${count} are too many` };
  }
  return { kind: 'nodes', names: fit.slice(0, count) };
}

/** Throws an error that says what is wrong with a request's body. */
export function readSelection(body: unknown): NodeSelection & { readonly keepsNodes: boolean } {
  if (typeof body !== 'object' || body === null) throw new Error('the request is no JSON object');
  const { names = [], count, all = false, keepsNodes = false } = body as Readonly<Record<string, unknown>>;
  if (!Array.isArray(names) || !names.every((name): name is string => typeof name === 'string'))
    throw new Error('names is no list of texts');
  if (names.length > hollowLimits.namesOfRequest)
    throw new Error(`names has more than ${hollowLimits.namesOfRequest} entries`);
  if (typeof all !== 'boolean' || typeof keepsNodes !== 'boolean')
    throw new Error('all and keepsNodes are true or false');
  if (count === undefined) return { names, count: undefined, all, keepsNodes };
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 1)
    throw new Error('count is no whole number of at least 1');
  return { names, count, all, keepsNodes };
}
