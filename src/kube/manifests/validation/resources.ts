/** Validates requests and limits: known resources, valid amounts, requests within limits. */
import type { ContainerResizePolicy, ResourceRequirements } from '../../types/container.js';
import type { ResourceList } from '../../types/meta.js';
import type { PodSpec } from '../../types/pod.js';
import { compareQuantities, formatQuantity, type Quantity, tryParseQuantity } from '../../values/quantity.js';
import { aggregateContainers, isPodLevelResource } from '../pod-resources.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { qualifiedName } from './names.js';

const nanosPerUnit = 1_000_000_000n;
const containerResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

export function validateResources(
  resources: ResourceRequirements | undefined,
  podClaims: ReadonlySet<string>,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  if (resources === undefined) return;
  const limits = readAmounts(resources.limits, field.child('limits'), errors);
  const requests = readAmounts(resources.requests, field.child('requests'), errors);
  for (const [name, request] of requests) {
    validateRequest(name, request, limits.get(name), field.child('requests'), errors);
  }
  const hasHugePages = [...limits.keys(), ...requests.keys()].some((name) => name.startsWith('hugepages-'));
  const hasCpuOrMemory = ['cpu', 'memory'].some((name) => limits.has(name) || requests.has(name));
  if (hasHugePages && !hasCpuOrMemory) errors.forbidden(field, 'huge pages need cpu or memory beside them');
  validateClaims(resources, podClaims, field.child('claims'), errors);
}

/** Pod-level resources: only cpu, memory and huge pages, and never below the sum of the containers. */
export function validatePodResources(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  const { resources } = spec;
  if (resources === undefined) return;
  for (const side of ['limits', 'requests'] as const) {
    const names = Object.keys(resources[side] ?? {});
    for (const name of names) {
      if (!isPodLevelResource(name)) {
        errors.unsupported(field.child(side).child(name), name, ['cpu', 'hugepages-<size>', 'memory']);
      }
    }
  }
  if ((resources.claims?.length ?? 0) > 0)
    errors.forbidden(field.child('claims'), 'claims belong to containers');
  const before = errors.list.length;
  validateResources({ limits: resources.limits, requests: resources.requests }, new Set(), field, errors);
  if (errors.list.length > before || hasInvalidContainerAmounts(spec)) return;
  for (const [name, total] of aggregateContainers(spec, 'requests')) {
    const request = amountOf(resources.requests, name);
    if (request === undefined || compareQuantities(total, request) <= 0) continue;
    errors.invalid(
      field.child('requests').child(name),
      formatQuantity(request),
      `must be at least the ${formatQuantity(total)} that the containers request together`,
    );
  }
  validateContainerLimits(spec, field, errors);
}

function validateContainerLimits(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  for (const list of ['initContainers', 'containers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      for (const name of Object.keys(container.resources?.limits ?? {})) {
        const limit = amountOf(container.resources?.limits, name);
        const podLimit = amountOf(spec.resources?.limits, name);
        if (limit === undefined || podLimit === undefined || compareQuantities(limit, podLimit) <= 0)
          continue;
        errors.invalid(
          field.child('limits').child(name),
          formatQuantity(podLimit),
          `must be at least the limit ${formatQuantity(limit)} of spec.${list}[${index}]`,
        );
      }
    }
  }
}

export function validateResizePolicy(
  policies: readonly ContainerResizePolicy[] | undefined,
  podRestartPolicy: string | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const seen = new Set<string>();
  for (const [index, policy] of (policies ?? []).entries()) {
    const at = field.child(index);
    errors.requiredOneOf(at.child('resourceName'), policy.resourceName, ['cpu', 'memory']);
    errors.requiredOneOf(at.child('restartPolicy'), policy.restartPolicy, [
      'NotRequired',
      'RestartContainer',
    ]);
    if (seen.has(policy.resourceName)) errors.duplicate(at, policy.resourceName);
    seen.add(policy.resourceName);
    if (podRestartPolicy === 'Never' && policy.restartPolicy === 'RestartContainer') {
      errors.invalid(at, policy.restartPolicy, 'must be "NotRequired" when the pod is never restarted');
    }
  }
}

/** The overhead of a runtime class has the form of limits. */
export function validateOverhead(
  overhead: ResourceList | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  readAmounts(overhead, field, errors);
}

function readAmounts(
  list: ResourceList | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): Map<string, Quantity> {
  const amounts = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(list ?? {})) {
    const at = field.child(name);
    validateResourceName(name, at, errors);
    const amount = tryParseQuantity(text);
    if (amount === undefined) {
      errors.invalid(at, text, 'must be a quantity, for example 250m or 512Mi');
      continue;
    }
    amounts.set(name, amount);
    if (amount.nanos < 0n) errors.invalid(at, text, 'must be greater than or equal to 0');
    const isCounted = isExtended(name) || name.startsWith('hugepages-');
    if (isCounted && amount.nanos % nanosPerUnit !== 0n) errors.invalid(at, text, 'must be an integer');
    const pageSize = name.startsWith('hugepages-')
      ? tryParseQuantity(name.slice('hugepages-'.length))
      : undefined;
    if (pageSize !== undefined && pageSize.nanos > 0n && amount.nanos % pageSize.nanos !== 0n) {
      errors.invalid(at, text, `must be a multiple of the page size ${formatQuantity(pageSize)}`);
    }
  }
  return amounts;
}

function validateResourceName(name: string, field: LazyFieldPath, errors: FieldErrors): void {
  const detail = qualifiedName(name);
  if (detail !== undefined) errors.invalid(field, name, detail);
  else if (name.startsWith('hugepages-')) {
    const size = tryParseQuantity(name.slice('hugepages-'.length));
    if (size === undefined || size.nanos <= 0n)
      errors.invalid(field, name, 'must name a page size, for example hugepages-2Mi');
  } else if (!containerResources.has(name) && !isExtended(name)) {
    errors.invalid(
      field,
      name,
      'must be cpu, memory, ephemeral-storage, hugepages-<size> or a name with a domain such as example.com/gpu',
    );
  }
}

function validateRequest(
  name: string,
  request: Quantity,
  limit: Quantity | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const shown = formatQuantity(request);
  if (limit === undefined) {
    if (!isOvercommitAllowed(name))
      errors.required(field.child(name), 'a limit must be set for a resource that cannot be overcommitted');
    return;
  }
  const order = compareQuantities(request, limit);
  if (!isOvercommitAllowed(name) && order !== 0) {
    errors.invalid(field, shown, `must be equal to ${name} limit of ${formatQuantity(limit)}`);
  } else if (order > 0) {
    errors.invalid(field, shown, `must be less than or equal to ${name} limit of ${formatQuantity(limit)}`);
  }
}

function validateClaims(
  resources: ResourceRequirements,
  podClaims: ReadonlySet<string>,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const seen = new Set<string>();
  for (const [index, claim] of (resources.claims ?? []).entries()) {
    const at = field.child(index);
    const key = claim.request ? `${claim.name}/${claim.request}` : claim.name;
    if (claim.name === '') errors.required(at.child('name'));
    else if (!podClaims.has(claim.name)) errors.notFound(at.child('name'), claim.name);
    if (seen.has(key)) errors.duplicate(at, key);
    seen.add(key);
  }
}

/** A device or vendor resource, counted in whole units. */
function isExtended(name: string): boolean {
  return name.includes('/') && !/(^|\.)kubernetes\.io\//.test(name);
}

function isOvercommitAllowed(name: string): boolean {
  return !isExtended(name) && !name.startsWith('hugepages-');
}

function hasInvalidContainerAmounts(spec: PodSpec): boolean {
  return [...(spec.initContainers ?? []), ...spec.containers].some(({ resources }) =>
    [...Object.values(resources?.limits ?? {}), ...Object.values(resources?.requests ?? {})].some(
      (text) => tryParseQuantity(text) === undefined,
    ),
  );
}

function amountOf(list: ResourceList | undefined, name: string): Quantity | undefined {
  const text = list?.[name];
  return text === undefined ? undefined : tryParseQuantity(text);
}
