/** Which kinds of resources a name can mean. */

export const hugePagesPrefix = 'hugepages-';

export function isHugePageResource(name: string): boolean {
  return name.startsWith(hugePagesPrefix);
}

/** One that is neither Kubernetes' own nor a quota of such. */
export function isExtendedResource(name: string): boolean {
  if (!name.includes('/') || name.startsWith('requests.')) return false;
  return !/(^|\.)kubernetes\.io\//.test(name);
}
