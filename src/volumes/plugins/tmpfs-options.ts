/** How large a volume in memory may grow, and with which options it is mounted. */
import { aggregateContainers, type Pod, parseQuantity, quantityValue } from '../../kube/index.js';

/** What the pod's memory is limited to as a whole: there is a limit only where all of its containers have one. */
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

/** The least of what the node has to give, what the pod may use and what the volume asks for; 0 is no limit. */
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

/** Whether a tmpfs can be kept out of swap: kernels from 6.4 on can, older ones may have it from their distributor. */
export function noswapSupport(kernelRelease: string, inUserNamespace: boolean): NoswapSupport {
  if (inUserNamespace) return 'no';
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(kernelRelease) ?? [];
  const version = Number(major) * 1000 + Number(minor);
  return version >= 6004 ? 'yes' : 'try';
}

export function tmpfsOptions(sizeBytes: bigint, noswap: boolean): string[] {
  return [...(sizeBytes > 0n ? [`size=${sizeBytes}`] : []), ...(noswap ? ['noswap'] : [])];
}
