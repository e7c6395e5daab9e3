/** Names of extended resources: what device plugins and administrators may add to a node. */
import { qualifiedName } from '../manifests/validation/names.js';

export function isExtendedResourceName(name: string): boolean {
  if (!name.includes('/') || name.includes('kubernetes.io/') || name.startsWith('requests.')) return false;
  // Quotas count it under this name.
  return qualifiedName(`requests.${name}`) === undefined;
}
