/** Classifies resource names. */

export const hugePagesPrefix = 'hugepages-';

export function isHugePageResource(name: string): boolean {
  return name.startsWith(hugePagesPrefix);
}

/** A name that is neither Kubernetes' own nor a quota of one. */
export function isExtendedResource(name: string): boolean {
  if (!name.includes('/') || name.startsWith('requests.')) return false;
  return !/(^|\.)kubernetes\.io\//.test(name);
}
