/** Whether an agent evicts pods at all. */
import type { LoadedConfiguration } from '../config/index.js';

/** Setting any of these opts in to eviction on a node without a cluster. */
const evictionFields = [
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMinimumReclaim',
  'mergeDefaultEvictionSettings',
];

/** Without a cluster nobody starts an evicted pod elsewhere, so the agent evicts only when it is asked to by name. */
export function evicts({
  standalone,
  explicit,
}: Pick<LoadedConfiguration, 'standalone' | 'explicit'>): boolean {
  return !standalone || evictionFields.some((field) => explicit.has(field));
}
