/** How long ConfigMaps and Secrets may be cached here, as the cluster wishes it of this node. */
import type { Node } from '../../kube/index.js';

/** Undefined where the node does not say, or says what is no number of seconds. */
export function annotatedTtlSeconds(node: Node | undefined): number | undefined {
  const text = node?.metadata.annotations?.['node.alpha.kubernetes.io/ttl'];
  return text === undefined || !/^\d{1,9}$/.test(text) ? undefined : Number(text);
}
