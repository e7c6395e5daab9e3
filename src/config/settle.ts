/** Resolves settings that depend on each other or on the machine. */
import { CpuSet, formatQuantity, milliQuantityOf, parseQuantity } from '../kube/index.js';
import type { KubeletFlags } from './flag-table.js';
import type { ConfiguredHost } from './rule-context.js';
import type { KubeletConfiguration } from './types.js';

const defaultIdsPerPod = 65_536;

/** Returns the configuration that the kubelet uses. `/configz` shows the configuration before this step. */
export function settleConfiguration(
  config: KubeletConfiguration,
  flags: KubeletFlags,
  host: ConfiguredHost,
): KubeletConfiguration {
  const settled = structuredClone(config);
  if (settled.cgroupsPerQOS && settled.cgroupRoot === '') settled.cgroupRoot = '/';
  if (settled.imageServiceEndpoint === '') settled.imageServiceEndpoint = settled.containerRuntimeEndpoint;
  if (settled.memorySwap.swapBehavior === '') settled.memorySwap.swapBehavior = 'NoSwap';
  if (settled.tlsMinVersion === '') settled.tlsMinVersion = 'VersionTLS12';
  if (settled.singleProcessOOMKill === undefined && host.cgroupVersion !== undefined) {
    settled.singleProcessOOMKill = host.cgroupVersion === 1;
  }
  settled.seccompDefault ||= flags.seccompDefault;
  settled.userNamespaces = { idsPerPod: settled.userNamespaces?.idsPerPod ?? defaultIdsPerPod };
  if (settled.reservedSystemCPUs !== '') {
    delete settled.kubeReserved.cpu;
    settled.systemReserved.cpu = String(CpuSet.parse(settled.reservedSystemCPUs).size);
  }
  for (const reserved of [settled.systemReserved, settled.kubeReserved]) {
    if (reserved.cpu !== undefined) reserved.cpu = wholeMilliCpu(reserved.cpu);
  }
  return settled;
}

/** CPU is handed out in thousandths; a finer amount goes to the nearest. */
function wholeMilliCpu(amount: string): string {
  const nanosPerMilli = 1_000_000n;
  const { nanos } = parseQuantity(amount);
  if (nanos % nanosPerMilli === 0n) return amount;
  return formatQuantity(milliQuantityOf((nanos + nanosPerMilli / 2n) / nanosPerMilli));
}
