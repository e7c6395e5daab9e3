/** Decides whether a container can have devices, and which. */
import type { PluginDevice } from './contracts.js';
import { isAwaited, type ResourceState } from './resource-state.js';

export interface DeviceDemand {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly count: number;
}

export interface DeviceSupply {
  /** Undefined if the resource is known only from what containers hold. */
  readonly state: ResourceState | undefined;
  /** What the container has already. */
  readonly held: ReadonlySet<string>;
  /** What it takes over from init containers of its pod. */
  readonly reusable: ReadonlySet<string>;
  /** Ids that anybody holds or is about to be given. */
  readonly inUse: ReadonlySet<string>;
  /** The container ran when the agent started, and not all sources of pods have spoken yet. */
  readonly ranBefore: boolean;
}

export type DeviceVerdict =
  | { readonly kind: 'has it' }
  /** `isAwaited`: the plugin is not there yet, and may come. */
  | { readonly kind: 'refused'; readonly message: string; readonly isAwaited: boolean }
  | { readonly kind: 'needs'; readonly taken: readonly string[]; readonly available: readonly string[] };

/** `taken` are devices that the container takes over; the rest comes from `available`. */
export function judgeDemand(
  { podUid, container, resource, count }: DeviceDemand,
  { state, held, reusable, inUse, ranBefore }: DeviceSupply,
): DeviceVerdict {
  const refuse = (message: string, awaited = false): DeviceVerdict => ({
    kind: 'refused',
    message,
    isAwaited: awaited,
  });
  if (held.size > 0 && held.size !== count) {
    return refuse(
      `pod "${podUid}" container "${container}" changed request for resource "${resource}" from ${held.size} to ${count}`,
    );
  }
  if (ranBefore) return { kind: 'has it' };
  if (state === undefined || !state.isKnown) return refuse(`cannot allocate unregistered device ${resource}`);
  if (state.healthy.size === 0) {
    return refuse(
      `no healthy devices present; cannot allocate unhealthy devices ${resource}`,
      isAwaited(state),
    );
  }
  if (![...held].every((id) => state.healthy.has(id))) {
    return refuse(
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
    );
  }
  if (held.size === count) return { kind: 'has it' };
  const taken = [...reusable].sort().slice(0, count);
  const rest = count - taken.length;
  const available = [...state.healthy].filter((id) => !inUse.has(id) && !reusable.has(id)).sort();
  if (available.length < rest) {
    return refuse(
      `requested number of devices unavailable for ${resource}. Requested: ${rest}, Available: ${available.length}`,
    );
  }
  return { kind: 'needs', taken, available };
}

export interface DevicesByHint {
  /** Near a node of the hint. */
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  /** Near no node, or nobody prefers a node. */
  readonly nodeless: readonly string[];
}

/** `nodes`: the ids of the hint's NUMA nodes; undefined for any. */
export function splitByHint(
  available: readonly string[],
  table: ReadonlyMap<string, PluginDevice>,
  nodes: ReadonlySet<number> | undefined,
): DevicesByHint {
  const hasNodes = [...table.values()].some(({ numaNodes }) => numaNodes.length > 0);
  if (nodes === undefined || !hasNodes) return { aligned: [], unaligned: [], nodeless: available };
  const split = { aligned: [] as string[], unaligned: [] as string[], nodeless: [] as string[] };
  for (const id of available) {
    const near = table.get(id)?.numaNodes ?? [];
    if (near.length === 0) split.nodeless.push(id);
    else if (near.some((node) => nodes.has(node))) split.aligned.push(id);
    else split.unaligned.push(id);
  }
  return split;
}

export interface PreferenceQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
}

/**
 * What the plugin is asked before the choice; undefined if there is nothing to choose. Devices near the hint's nodes
 * come first, whatever the plugin prefers.
 */
export function preferenceQuestion(
  count: number,
  taken: readonly string[],
  { aligned, unaligned, nodeless }: DevicesByHint,
): PreferenceQuestion | undefined {
  const rest = count - taken.length;
  if (rest <= 0 || rest === aligned.length) return undefined;
  if (rest < aligned.length) return { available: union(aligned, taken), mustInclude: taken };
  return {
    available: union([...aligned, ...unaligned, ...nodeless], taken),
    mustInclude: [...taken, ...aligned],
  };
}

/** `preferred`: the plugin's answer; ids in it that cannot be given are passed over. */
export function chooseDevices(
  count: number,
  taken: readonly string[],
  { aligned, unaligned, nodeless }: DevicesByHint,
  preferred: readonly string[],
): readonly string[] {
  const rest = count - taken.length;
  const among = (ids: readonly string[]): readonly string[] => {
    const allowed = new Set(ids);
    return preferred.filter((id) => allowed.has(id));
  };
  const order =
    rest < aligned.length
      ? [...among(aligned), ...aligned]
      : [...aligned, ...among([...unaligned, ...nodeless]), ...unaligned, ...nodeless];
  return [...taken, ...[...new Set(order)].slice(0, Math.max(0, rest))];
}

function union(a: readonly string[], b: readonly string[]): readonly string[] {
  return [...new Set([...a, ...b])].sort();
}
