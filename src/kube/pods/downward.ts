/** The downward API, as far as environment variables and volume files share it. */
import type { ResourceFieldSelector } from '../types/container.js';
import type { ResourceList } from '../types/meta.js';
import type { Pod } from '../types/pod.js';
import { goQuote } from '../values/go-format.js';
import { parseQuantity, quantityMilliValue, quantityValue } from '../values/quantity.js';

const subscripted = /^([^[]+)\['(.*)'\]$/s;
const qualifiedName =
  /^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** The two halves of a path such as `metadata.labels['app']`; undefined when it has no subscript. */
export function splitSubscript(fieldPath: string): { path: string; key: string } | undefined {
  const match = subscripted.exec(fieldPath);
  return match === null ? undefined : { path: match[1] ?? '', key: match[2] ?? '' };
}

/** One label or annotation, empty when there is none; undefined for paths without keys. */
export function subscriptedMetadata(
  pod: Pod,
  fieldPath: string,
  { path, key }: { readonly path: string; readonly key: string },
): string | undefined {
  const isAnnotation = path === 'metadata.annotations';
  if (!isAnnotation && path !== 'metadata.labels') return undefined;
  // Annotation keys may have capitals in their prefix.
  if (!qualifiedName.test(isAnnotation ? key.toLowerCase() : key)) {
    throw new Error(
      `invalid key subscript in ${fieldPath}: name the key as in ${path}, for example ['app.kubernetes.io/name']`,
    );
  }
  const map = isAnnotation ? pod.metadata.annotations : pod.metadata.labels;
  return map !== undefined && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

/** A field of the pod's metadata; undefined for any other field. */
export function metadataFieldValue(pod: Pod, fieldPath: string): string | undefined {
  const { metadata } = pod;
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    default:
      return undefined;
  }
}

/** `key="value"` lines, sorted by key, without a newline at the end. */
export function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n');
}

/** Resources whose missing limit means "everything". */
const defaultedLimits = new Set(['cpu', 'memory', 'ephemeral-storage']);

export interface SelectedResource {
  readonly list: 'limits' | 'requests';
  readonly name: string;
}

/** Parses `limits.cpu`. */
export function parseResourceField(resource: string): SelectedResource {
  const match = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.*)$/.exec(resource);
  const [, list, name] = match ?? [];
  if ((list !== 'limits' && list !== 'requests') || name === undefined) {
    throw new Error(`unsupported container resource : ${resource}`);
  }
  return { list, name };
}

/** A container's amount of a resource, in whole divisors; `limitDefaults` replace missing limits. */
export function resourceFieldText(
  selector: ResourceFieldSelector,
  resources: { readonly limits?: ResourceList; readonly requests?: ResourceList } | undefined,
  limitDefaults: ResourceList,
): string {
  const { list, name } = parseResourceField(selector.resource);
  let amount = resources?.[list]?.[name];
  if (list === 'limits' && defaultedLimits.has(name) && isZeroAmount(amount)) {
    amount = limitDefaults[name] ?? amount;
  }
  return divide(amount ?? '0', name, selector.divisor);
}

function isZeroAmount(amount: string | undefined): boolean {
  return amount === undefined || parseQuantity(amount).nanos === 0n;
}

/** Rounds up to a whole number of divisors; cpu is counted in thousandths on both sides. */
function divide(amount: string, name: string, divisor: string | undefined): string {
  const measure = name === 'cpu' ? quantityMilliValue : quantityValue;
  const whole = measure(parseQuantity(amount));
  const unit = measure(parseQuantity(isZeroAmount(divisor) || divisor === undefined ? '1' : divisor));
  return String((whole + unit - 1n) / unit);
}
