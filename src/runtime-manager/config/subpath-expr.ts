/** Expands the variables in a volumeMount's subPath. */
import type { VolumeMount } from '../../kube/index.js';
import type { EnvValue } from './environment.js';
import { parseReferences } from './expansion.js';

/** Empty for none. A variable that is unset or empty would change the path, so it is an error. */
export function expandedSubPath(
  { subPath = '', subPathExpr = '' }: Pick<VolumeMount, 'subPath' | 'subPathExpr'>,
  environment: ReadonlyMap<string, EnvValue>,
): string {
  if (subPathExpr === '') return subPath;
  const missing = new Set<string>();
  const texts = parseReferences(subPathExpr).map((segment) => {
    if (typeof segment === 'string') return segment;
    const value = environment.get(segment.name);
    if (typeof value === 'string' && value !== '') return value;
    missing.add(segment.name);
    return '';
  });
  if (missing.size > 0) throw new Error(`missing value for ${[...missing].sort().join(', ')}`);
  return texts.join('');
}
