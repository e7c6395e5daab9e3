/** Where a command in a container is asked for: at the node, or at the API server for its pod. */

/**
 * An API server passes a node's upgrades on without their query, and with it the command. So a terminal through one goes by the
 * subresource of the pod, as that of `kubectl exec` does. `segments` are those of the node: `exec`, namespace, pod, container.
 */
export function podExecPath(segments: readonly string[], asked: URLSearchParams): string {
  const [, namespace = '', pod = '', container = ''] = segments;
  const query = new URLSearchParams({ container });
  for (const [name, value] of asked) query.append(podNames[name] ?? name, value);
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec?${query}`;
}

/** The streams of a command as a node names them, and as the API does. */
const podNames: Readonly<Record<string, string>> = { input: 'stdin', output: 'stdout', error: 'stderr' };
