/** Decides what a change of requests and limits means for a running container. */
import {
  type AnyContainer,
  memoryVolumeLimits,
  type Pod,
  quantityMillis,
  quantityUnits,
  type ResourceList,
  type ResourceRequirements,
} from '../../kube/index.js';

/** CPU in millicores, memory in bytes; 0 where unset. */
export interface ResourceAmounts {
  readonly cpu: { readonly request: number; readonly limit: number };
  readonly memory: { readonly request: number; readonly limit: number };
}

export type ResizedResource = keyof ResourceAmounts;

export type ResizeVerdict =
  | { readonly kind: 'keep' }
  /** The resize policy requires a restart for this change. */
  | { readonly kind: 'restart'; readonly resource: ResizedResource }
  | { readonly kind: 'update'; readonly resources: readonly ResizedResource[] };

export const resizedResources = ['memory', 'cpu'] as const satisfies readonly ResizedResource[];

/** A container's desired resources: its own, and the pod's limits where it has none. */
export function wantedResources(pod: Pod, container: AnyContainer): ResourceRequirements {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const limitOf = (name: ResizedResource): string | undefined => {
    const own = limits[name];
    return own === undefined || quantityMillis(own) === 0 ? (pod.spec.resources?.limits?.[name] ?? own) : own;
  };
  return { requests: resizable((name) => requests[name]), limits: resizable(limitOf) };
}

function resizable(quantityOf: (name: ResizedResource) => string | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ['cpu', 'memory'] as const) {
    const quantity = quantityOf(name);
    if (quantity !== undefined) found[name] = quantity;
  }
  return found;
}

export function amountsOf({ requests, limits }: ResourceRequirements = {}): ResourceAmounts {
  return {
    cpu: { request: quantityMillis(requests?.cpu), limit: quantityMillis(limits?.cpu) },
    memory: { request: quantityUnits(requests?.memory), limit: quantityUnits(limits?.memory) },
  };
}

export function changedResources(
  wanted: ResourceAmounts,
  actuated: ResourceAmounts,
): readonly ResizedResource[] {
  return resizedResources.filter(
    (name) => wanted[name].request !== actuated[name].request || wanted[name].limit !== actuated[name].limit,
  );
}

export function decideResize(
  container: AnyContainer,
  wanted: ResourceAmounts,
  actuated: ResourceAmounts,
): ResizeVerdict {
  const resources = changedResources(wanted, actuated);
  if (resources.length === 0) return { kind: 'keep' };
  const policy = (name: ResizedResource): string | undefined =>
    container.resizePolicy?.find(({ resourceName }) => resourceName === name)?.restartPolicy;
  const strict = resources.find((name) => policy(name) === 'RestartContainer');
  if (strict !== undefined) return { kind: 'restart', resource: strict };
  return { kind: 'update', resources };
}

/** Whether an update decreases something, which has to happen before others increase. */
export function isDecrease(
  name: ResizedResource,
  wanted: ResourceAmounts,
  actuated: ResourceAmounts,
): boolean {
  const limitChanged = wanted[name].limit !== actuated[name].limit;
  return limitChanged
    ? wanted[name].limit < actuated[name].limit
    : wanted[name].request < actuated[name].request;
}

export interface VolumeResize {
  readonly name: string;
  readonly limit: string;
  readonly decreases: boolean;
}

/** The volumes in memory that have another size than their pod is allocated; those of which no size is recorded are left alone. */
export function resizedVolumes(pod: Pod, actuated: (volume: string) => string | undefined): VolumeResize[] {
  return [...memoryVolumeLimits(pod)].flatMap(([name, limit]) => {
    const before = actuated(name);
    if (before === undefined) return [];
    const [from, to] = [quantityUnits(before), quantityUnits(limit)];
    return from === to ? [] : [{ name, limit, decreases: to < from }];
  });
}

/** Exactly CPU and memory: one at its new value, the other unchanged. */
export function mixedResources(
  current: ResourceRequirements,
  wanted: ResourceRequirements,
  resource: ResizedResource,
): ResourceRequirements {
  const pick = (list: 'requests' | 'limits'): ResourceList =>
    Object.fromEntries(
      resizedResources.flatMap((name) => {
        const value = (name === resource ? wanted : current)[list]?.[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
  return { requests: pick('requests'), limits: pick('limits') };
}
