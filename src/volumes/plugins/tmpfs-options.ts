/** The size and mount options of a volume in memory. */
import { aggregateContainers, type Pod, parseQuantity, quantityValue } from '../../kube/index.js';

/** The pod's total memory limit; it exists only if every container has a limit. */
export function podMemoryLimitBytes({ spec }: Pod): bigint | undefined {
  const podLimit = spec.resources?.limits?.memory;
  if (podLimit !== undefined) return quantityValue(parseQuantity(podLimit));
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  const isLimited = ({ resources }: (typeof all)[number]): boolean =>
    resources?.limits?.memory !== undefined && parseQuantity(resources.limits.memory).nanos > 0n;
  if (!all.every(isLimited)) return undefined;
  const total = aggregateContainers(spec, 'limits').get('memory');
  return total === undefined ? undefined : quantityValue(total);
}

/** The minimum of the node's, the pod's and the volume's limit; 0 means no limit. */
export function tmpfsSizeBytes(limits: {
  readonly allocatableBytes: bigint;
  readonly podLimitBytes: bigint | undefined;
  readonly sizeLimitBytes: bigint | undefined;
}): bigint {
  let sizeBytes = limits.allocatableBytes;
  for (const limitBytes of [limits.podLimitBytes ?? 0n, limits.sizeLimitBytes ?? 0n]) {
    if (limitBytes > 0n && limitBytes <= sizeBytes) sizeBytes = limitBytes;
  }
  return sizeBytes;
}

export type NoswapSupport = 'yes' | 'try' | 'no';

/** Whether a tmpfs can be kept out of swap: kernels since 6.4 can; distributors backport it to some older ones. */
export function noswapSupport(kernelRelease: string, inUserNamespace: boolean): NoswapSupport {
  if (inUserNamespace) return 'no';
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(kernelRelease) ?? [];
  const version = Number(major) * 1000 + Number(minor);
  return version >= 6004 ? 'yes' : 'try';
}

export function tmpfsOptions(sizeBytes: bigint, noswap: boolean): string[] {
  return [...(sizeBytes > 0n ? [`size=${sizeBytes}`] : []), ...(noswap ? ['noswap'] : [])];
}
