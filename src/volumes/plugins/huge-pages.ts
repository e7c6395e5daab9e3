/** Decides the huge-page size of a volume. */
import {
  formatQuantity,
  type Pod,
  parseQuantity,
  quantityValue,
  tryParseQuantity,
} from '../../kube/index.js';

const anySize = 'HugePages';
const sizePrefix = 'HugePages-';
const resourcePrefix = 'hugepages-';

export function isHugePagesMedium(medium: string): boolean {
  return medium === anySize || medium.startsWith(sizePrefix);
}

/** The page size as a quantity, from the medium and the pod's requests. Throws with what to change. */
export function hugePageSize(medium: string, pod: Pod): string {
  const named = medium === anySize ? undefined : tryParseQuantity(medium.slice(sizePrefix.length));
  if (medium !== anySize && named === undefined) {
    throw new Error(
      `medium ${medium}: what follows "${sizePrefix}" is not a size; write for example ${sizePrefix}2Mi`,
    );
  }
  const requested = requestedSizes(pod);
  if (named === undefined) {
    const [size, second] = requested;
    if (second !== undefined) {
      throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
    }
    if (size !== undefined) return size;
  } else {
    const size = formatQuantity(named);
    if (requested.has(size)) return size;
  }
  throw new Error(
    `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
  );
}

/** The sizes that the pod or its containers request, each in one spelling. */
function requestedSizes({ spec }: Pod): Set<string> {
  const sizes = new Set<string>();
  for (const { resources } of [spec, ...spec.containers, ...(spec.initContainers ?? [])]) {
    for (const name of Object.keys(resources?.requests ?? {})) {
      if (!name.startsWith(resourcePrefix)) continue;
      const size = tryParseQuantity(name.slice(resourcePrefix.length));
      if (size !== undefined) sizes.add(formatQuantity(size));
    }
  }
  return sizes;
}

/** The page size of a mounted hugetlbfs in bytes, from its options; `pagesize=2M` uses powers of 1024. */
export function mountedPageBytes(options: readonly string[]): bigint | undefined {
  const option = options.find((text) => text.startsWith('pagesize='));
  const [, digits, unit = ''] = /^pagesize=(\d+)([KMGT]?)/.exec(option ?? '') ?? [];
  if (digits === undefined) return undefined;
  return BigInt(digits) * 1024n ** BigInt(['', 'K', 'M', 'G', 'T'].indexOf(unit));
}

export function pageBytes(size: string): bigint {
  return quantityValue(parseQuantity(size));
}
