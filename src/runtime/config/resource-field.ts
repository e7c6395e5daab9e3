/** The values of `resourceFieldRef`: what a container may learn about requests and limits. */
import {
  type Pod,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
  type ResourceFieldSelector,
  type ResourceList,
  type ResourceRequirements,
} from '../../kube/index.js';
import type { AnyContainer } from '../contracts.js';

/** Resources whose missing limit means "all that there is". */
const defaultedLimits = new Set(['cpu', 'memory', 'ephemeral-storage']);

export function resourceFieldValue(
  selector: ResourceFieldSelector,
  pod: Pod,
  container: AnyContainer,
  nodeAllocatable: ResourceList,
): string {
  const { resources, isDefaulted } = selectContainer(selector, pod, container);
  const { list, name } = parseResource(selector.resource);
  let amount = resources?.[list]?.[name];
  if (list === 'limits' && isDefaulted && defaultedLimits.has(name) && isZero(amount)) {
    const podLimit = name === 'ephemeral-storage' ? undefined : pod.spec.resources?.limits?.[name];
    amount = podLimit ?? nodeAllocatable[name];
  }
  return divide(amount ?? '0', name, selector.divisor);
}

interface SelectedContainer {
  readonly resources: ResourceRequirements | undefined;
  readonly isDefaulted: boolean;
}

/** The container itself when none is named; a named init container shows only what its spec says. */
function selectContainer(
  { containerName = '' }: ResourceFieldSelector,
  pod: Pod,
  own: AnyContainer,
): SelectedContainer {
  if (containerName === '') return { resources: own.resources, isDefaulted: true };
  const regular = pod.spec.containers.find(({ name }) => name === containerName);
  if (regular !== undefined) return { resources: regular.resources, isDefaulted: true };
  const init = pod.spec.initContainers?.find(({ name }) => name === containerName);
  if (init !== undefined) return { resources: init.resources, isDefaulted: false };
  throw new Error(`container ${containerName} not found`);
}

function parseResource(resource: string): { list: 'limits' | 'requests'; name: string } {
  const match = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.*)$/.exec(resource);
  const [, list, name] = match ?? [];
  if ((list !== 'limits' && list !== 'requests') || name === undefined) {
    throw new Error(`unsupported container resource : ${resource}`);
  }
  return { list, name };
}

function isZero(amount: string | undefined): boolean {
  return amount === undefined || parseQuantity(amount).nanos === 0n;
}

/** Rounded up to a whole number of divisors; cpu is counted in thousandths on both sides. */
function divide(amount: string, name: string, divisor: string | undefined): string {
  const measure = name === 'cpu' ? quantityMilliValue : quantityValue;
  const whole = measure(parseQuantity(amount));
  const unit = measure(parseQuantity(isZero(divisor) || divisor === undefined ? '1' : divisor));
  return String((whole + unit - 1n) / unit);
}
