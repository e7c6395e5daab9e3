/** A container's actual resources for its status, beside the allocated ones. */
import type { ObservedContainerStatus } from '../../cri/index.js';
import {
  clone,
  formatQuantity,
  milliCpuOfShares,
  milliQuantityOf,
  type QuantityText,
  quantityMillis,
  quantityOf,
  type ResourceList,
  type ResourceRequirements,
} from '../../kube/index.js';

/** Below these the kernel's value says nothing about what was requested. */
export const smallestMeaningfulRequestMillis = 2;
export const smallestMeaningfulLimitMillis = 10;

export interface ActualResources {
  readonly cpuRequest?: QuantityText | undefined;
  readonly cpuLimit?: QuantityText | undefined;
  readonly memoryRequest?: QuantityText | undefined;
  readonly memoryLimit?: QuantityText | undefined;
}

export interface ContainerResourcesInput {
  readonly allocated: ResourceRequirements;
  readonly instance: Pick<ObservedContainerStatus, 'state' | 'resources'>;
  /** The resources last applied to the container. */
  readonly actuated: ResourceRequirements | undefined;
  /** The old status's resources, if it was about the same run. */
  readonly previous: ResourceRequirements | undefined;
}

export function containerResources(input: ContainerResourcesInput): ResourceRequirements {
  const resources = clone(input.allocated);
  if (input.instance.state !== 'running') return resources;
  const actual = actualResources(input);
  const { previous } = input;
  if (resources.limits !== undefined) {
    showCpu(resources.limits, actual.cpuLimit, previous?.limits, smallestMeaningfulLimitMillis);
    showMemory(resources.limits, actual.memoryLimit, previous?.limits);
  }
  if (resources.requests !== undefined) {
    showCpu(resources.requests, actual.cpuRequest, previous?.requests, smallestMeaningfulRequestMillis);
    showMemory(resources.requests, actual.memoryRequest, previous?.requests);
  }
  return resources;
}

/** The actual amount, unless it and the allocated one are both too small to be told apart. */
export function meaningfulCpu(
  allocated: QuantityText | undefined,
  actual: QuantityText,
  smallestMillis: number,
): QuantityText | undefined {
  const isMeaningful = quantityMillis(actual) > smallestMillis || quantityMillis(allocated) > smallestMillis;
  return isMeaningful ? actual : allocated;
}

/** A quota in milli CPUs; undefined when there is no limit. */
export function quotaToMillis(quotaUs: number, periodUs: number): number | undefined {
  return quotaUs > 0 && periodUs > 0 ? Math.floor((quotaUs * 1000) / periodUs) : undefined;
}

/** What the runtime reports, completed with what was last applied. */
function actualResources({ instance, actuated }: ContainerResourcesInput): ActualResources {
  const linux = instance.resources?.linux;
  const memoryRequest = actuated?.requests?.memory;
  if (linux === undefined) {
    return {
      cpuRequest: actuated?.requests?.cpu,
      cpuLimit: actuated?.limits?.cpu,
      memoryRequest,
      memoryLimit: actuated?.limits?.memory,
    };
  }
  const limitMillis = quotaToMillis(linux.cpuQuota, linux.cpuPeriod);
  return {
    cpuRequest: linux.cpuShares > 0 ? milliText(milliCpuOfShares(linux.cpuShares)) : undefined,
    cpuLimit: limitMillis === undefined ? undefined : milliText(limitMillis),
    memoryRequest,
    memoryLimit: linux.memoryLimitInBytes > 0 ? bytesText(linux.memoryLimitInBytes) : undefined,
  };
}

export function milliText(millis: number): QuantityText {
  return formatQuantity(milliQuantityOf(millis));
}

export function bytesText(bytes: number): QuantityText {
  return formatQuantity(quantityOf(bytes, 'BinarySI'));
}

function showCpu(
  list: ResourceList,
  actual: QuantityText | undefined,
  previous: ResourceList | undefined,
  smallestMillis: number,
): void {
  const shown = actual === undefined ? previous?.cpu : meaningfulCpu(list.cpu, actual, smallestMillis);
  if (isShown(list.cpu, shown)) list.cpu = shown;
}

function showMemory(
  list: ResourceList,
  actual: QuantityText | undefined,
  previous: ResourceList | undefined,
): void {
  const shown = actual ?? previous?.memory;
  if (isShown(list.memory, shown)) list.memory = shown;
}

/** What was recorded as 0 because it was not allocated is not shown. */
function isShown(
  allocated: QuantityText | undefined,
  shown: QuantityText | undefined,
): shown is QuantityText {
  return shown !== undefined && (allocated !== undefined || quantityMillis(shown) !== 0);
}
